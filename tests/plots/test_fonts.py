"""No letter is an empty box: it is drawn by a font that has it, or as its code point, and that is told."""

import warnings
from io import BytesIO
from typing import Any

import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from tf_transformer.plots import fonts
from tf_transformer.plots.fonts import DEFAULT, add_legend, lettering, missing_note, put


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has drawn nothing yet."""
    monkeypatch.setattr(fonts, "_families", {})
    monkeypatch.setattr(fonts, "_untold", {})


def only(
    monkeypatch: pytest.MonkeyPatch, known: dict[str, str], fresh: dict[str, str] | None = None
) -> list[str]:
    """Makes the machine have these fonts, with these characters; returns what was looked through."""
    looked: list[str] = []

    def serve(fonts_of: dict[str, str], what: str) -> Any:
        def take() -> Any:
            for name, letters in fonts_of.items():
                looked.append(f"{what} {name}")
                yield name, set(map(ord, letters))

        return take

    monkeypatch.setattr(fonts, "_known_fonts", serve(known, "known"))
    monkeypatch.setattr(fonts, "_new_fonts", serve(fresh or {}, "new"))
    return looked


def test_what_the_own_font_has_is_drawn_as_it_is() -> None:
    texts = ["Grüße", "да", "$x^2$", "▁the", "שלום"]
    found = lettering(texts)
    assert found.texts == texts
    assert found.style == {"fontfamily": [DEFAULT], "parse_math": False}
    assert missing_note() is None


def test_the_first_font_that_has_a_letter_is_taken_and_no_further_one_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked = only(monkeypatch, {DEFAULT: "abc", "Han": "中文", "More": "文字"}, {"New": "字"})
    assert lettering(["a中", "文"]) == (["a中", "文"], {"fontfamily": [DEFAULT, "Han"], "parse_math": False})
    assert looked == [f"known {DEFAULT}", "known Han"]
    assert lettering(["abc"]).style["fontfamily"] == [DEFAULT] and len(looked) == 2 + 1
    assert lettering(["中"]).texts == ["中"] and len(looked) == 3  # remembered


def test_a_font_that_was_installed_since_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, {DEFAULT: "abc"}, {"New": "字"})
    assert lettering(["a字"]).style["fontfamily"] == [DEFAULT, "New"]
    assert missing_note() is None


def test_a_letter_without_a_font_is_its_code_point_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    only(monkeypatch, {DEFAULT: "abcU+0123456789ABCDEF "})
    assert lettering(["a中文b", "中"]).texts == ["aU+4E2D U+6587b", "U+4E2D"]
    note = missing_note()
    assert note is not None and note.startswith(
        "no font of this machine has 中文, so code points such as U+4E2D"
    )
    assert "fonts-noto-cjk" in note
    assert lettering(["文"]).texts == ["U+6587"] and missing_note() is None


def test_what_cannot_be_seen_is_written_out() -> None:
    # A space of no width, a change of direction, a control character and half a pair: no matter of fonts.
    assert lettering(["a\u200bb", "\u202e", "\x07", "\ud800"]).texts == [
        "aU+200Bb",
        "U+202E",
        "U+0007",
        "U+D800",
    ]
    assert missing_note() is None


def test_drawing_warns_of_no_missing_glyph(monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = [entry for entry in font_manager.fontManager.ttflist if entry.name == DEFAULT]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", bundled)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: [])
    figure = Figure()
    axes = figure.add_subplot()
    axes.plot([1, 2], label="为什么 $a$")
    put(axes.set_title, "中文", fontsize=9)
    add_legend(axes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(BytesIO(), format="png")
    assert axes.get_title() == "U+4E2D U+6587" and axes.title.get_fontsize() == 9
    assert axes.get_legend().get_texts()[0].get_text() == "U+4E3A U+4EC0 U+4E48 $a$"


def test_fonts_that_draw_boxes_or_formulas_are_not_asked() -> None:
    names = [name for name, _ in fonts._known_fonts()]
    assert names[0] == DEFAULT
    assert not [name for name in names if name.startswith(("Last Resort", "STIX", "cm"))]
