"""The page of a translator: pieces, what else was likely, going on from there, and the attention picture."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from toy_page import Translation, loaded

from tf_transformer.export.loading import load_export

pytestmark = pytest.mark.slow  # needs a browser: Debian's chromium, or `playwright install chromium`

EXPORTED = {
    "prefix": b"",
    "min_length": -1,
    "max_length": -1,
    "length_penalty": -1.0,
    "repetition_penalty": -1.0,
    "prefix_ids": b"",
}


@pytest.fixture
def model() -> Translation:
    return Translation()


@pytest.fixture
def page(open_page: Callable[..., Any], model: Translation) -> Any:
    return open_page(loaded(model.signatures()))


def ask(page: Any, text: str = "a dog") -> None:
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Answer").click()
    page.wait_for_selector(".map")


def readout(page: Any) -> str:
    found: str = page.locator("#readout").inner_text()
    return found


def pieces(page: Any, place: str) -> list[str]:
    found = page.locator(f"#{place} .piece").all_inner_texts()
    return [re.sub(r"\s+", " ", text).strip() for text in found]


def test_the_beam_the_pieces_and_what_else_was_likely(page: Any, model: Translation) -> None:
    ask(page)
    cells = page.locator("#answer td").all_inner_texts()
    assert cells == ["ein hund", "-0.2500", "ein", "-1.5000"]
    assert model.explored[-1] == EXPORTED and model.layers[-1] == -2
    assert pieces(page, "source") == ["a", "dog", "(end)"]
    assert pieces(page, "target") == ["ein 50.0 %", "hund 30.0 %", "(end) 100.0 %"]
    # Where it was least sure is shown first.
    assert page.get_by_role("tab", selected=True).inner_text().startswith("hund")
    page.get_by_role("heading", name="In place of “hund”").wait_for()
    assert pieces(page, "choices") == ["ein 50.0 %", "katze 15.0 %", "(end) 5.0 %"]
    page.get_by_role("radio").nth(1).check()
    page.get_by_role("tab", name="hund").wait_for(state="detached")
    assert pieces(page, "target") == ["ein 50.0 %", "(end) 100.0 %"]


def test_another_piece_is_gone_on_from(page: Any, model: Translation) -> None:
    ask(page)
    page.get_by_role("button", name="katze").click()
    page.get_by_text("Begins with 2 given pieces.").wait_for()
    page.get_by_role("tab", name="katze").wait_for()
    assert model.explored[-1] == EXPORTED | {"prefix_ids": b"4 6"}
    # The place without an answer, whose score JSON does not have, is left out.
    assert page.locator("#answer td").all_inner_texts() == ["ein katze", "-2.0000"]
    assert page.locator("#target .given").count() == 2
    page.get_by_role("button", name="Without them").click()
    page.get_by_role("tab", name="hund").wait_for()
    assert not page.locator("#forced").is_visible() and model.explored[-1] == EXPORTED


def test_an_answer_may_be_ended_early(page: Any, model: Translation) -> None:
    ask(page)
    before = len(model.explored)
    page.get_by_role("tab", name="hund").click()
    page.get_by_role("button", name="(end)").click()
    page.get_by_text("Ends behind 1 given piece.").wait_for()
    page.wait_for_function("document.querySelectorAll('#target .piece').length === 2")
    assert page.locator("#answer td").all_inner_texts() == ["ein", "-4.0000"]
    assert pieces(page, "target") == ["ein 50.0 %", "(end) 100.0 %"] and len(model.explored) == before


def test_the_picture_follows_the_mouse(page: Any) -> None:
    ask(page)
    # Of two heads one looks at the next place and one everywhere, so their mean is 1/6 or 4/6.
    assert readout(page) == "“ein” of the answer looks at “dog” of the text: 66.7 %"
    box = page.locator(".map svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] * 2.5 / 3, box["y"] + box["height"] * 0.5 / 3)
    assert readout(page) == "“ein” of the answer looks at “(end)” of the text: 16.7 %"
    page.mouse.move(box["x"] + box["width"] * 2.5 / 3, box["y"] + box["height"] * 1.5 / 3)
    assert readout(page) == "“hund” of the answer looks at “(end)” of the text: 66.7 %"
    assert page.locator(".map .lit").all_inner_texts() == ["(end)", "hund"]
    strengths = page.locator(".map path").evaluate_all(
        "all => all.filter(one => one.getAttribute('d')).map(one => one.getAttribute('fill-opacity'))"
    )
    assert strengths == ["0.25", "1"]


def test_the_picture_by_keyboard_and_as_a_table(page: Any) -> None:
    ask(page)
    page.get_by_label("Head").focus()
    page.keyboard.press("Tab")
    for key in ("ArrowDown", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert readout(page).startswith("“hund” of the answer looks at “(end)” of the text")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowUp")
    assert readout(page).startswith("“ein” of the answer looks at “a” of the text")
    page.get_by_text("The same as a table").click()
    table = page.get_by_role("table", name="Attention in per cent")
    table.wait_for()
    assert table.locator("th").all_inner_texts() == ["", "a", "dog", "(end)", "ein", "hund", "(end)"]
    assert table.locator("tr").nth(1).locator("td").all_inner_texts() == ["16.7 %", "66.7 %", "16.7 %"]


def test_any_layer_and_head(page: Any, model: Translation) -> None:
    ask(page)
    layers = page.get_by_label("Layer").locator("option").all_inner_texts()
    # The last but one of the decoder's two is what is shown at first.
    assert layers == ["all (mean)", "1", "2"] and page.get_by_label("Layer").input_value() == "1"
    page.get_by_label("Head").select_option("1")
    assert readout(page).endswith("“dog” of the text: 100.0 %")
    page.get_by_label("Layer").select_option("2")
    page.get_by_text("“ein” of the answer looks at “(end)” of the text: 100.0 %").wait_for()
    assert model.layers[-1] == 2 and page.get_by_label("Head").input_value() == "1"
    page.locator("#kind").select_option("encoder")
    assert page.get_by_label("Layer").locator("option").count() == 4
    assert readout(page) == "“a” of the text looks at “(end)” of the text: 100.0 %"
    page.locator("#kind").select_option("decoder")
    assert readout(page) == "“ein” of the answer looks at “hund” of the answer: 100.0 %"
    page.get_by_label("Layer").select_option("0")
    page.get_by_text("“ein” of the answer looks at “(start)” of the answer: 100.0 %").wait_for()


def test_options_of_the_search_and_of_drawing(page: Any, model: Translation) -> None:
    page.get_by_text("Options").click()
    page.get_by_label("Begins with").fill("ein")
    page.get_by_label("Fewest pieces").fill("2")
    page.get_by_label("Length penalty").fill("0.5")
    ask(page)
    given = {"prefix": b"ein", "min_length": 2, "length_penalty": 0.5}
    assert model.explored[-1] == EXPORTED | given
    page.get_by_label("Answers are").select_option("sample")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Answer").click()
    page.get_by_role("cell", name="-3.0000").wait_for()
    page.wait_for_selector(".map")
    assert pieces(page, "target") == ["hund 30.0 %", "(end) 100.0 %"]


def test_pieces_are_gone_through_by_arrows(page: Any) -> None:
    ask(page)
    page.get_by_role("tab", name="hund").focus()
    page.keyboard.press("ArrowLeft")
    page.get_by_role("heading", name="In place of “ein”").wait_for()
    page.keyboard.press("End")
    page.get_by_role("heading", name="In place of “(end)”").wait_for()
    page.keyboard.press("Tab")  # one stop for all pieces
    assert page.evaluate("document.activeElement.closest('#choices') !== null")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_text("Begins with 3 given pieces.").wait_for()


def test_nothing_to_translate(page: Any) -> None:
    page.get_by_role("button", name="Answer").click()
    page.get_by_text("There is no text to translate.").wait_for()


@pytest.mark.parametrize("width", [360, 1400])
def test_nothing_stands_out_of_the_page(open_page: Any, width: int) -> None:
    page = open_page(loaded(Translation().signatures()), viewport={"width": width, "height": 800})
    ask(page, "word" * 200)
    page.get_by_text("The same as a table").click()
    page.get_by_text("Options").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_real_model_reverses_and_looks_so(open_page: Any, exported: Any) -> None:
    page = open_page(load_export, exported.folder)
    ask(page, "1 2 3")
    assert page.locator("#answer tr.best td").first.inner_text() == "3 2 1"
    assert [text.split()[0] for text in pieces(page, "target")] == ["3", "2", "1", "(end)"]
    assert readout(page).startswith("“3” of the answer looks at “3” of the text")
    page.get_by_role("tab", name="3 ").focus()
    other = page.locator("#choices .piece").filter(has_not_text="(end)").first
    forced = other.inner_text().split()[0]
    other.click()
    page.get_by_text("Begins with 1 given piece.").wait_for()
    page.wait_for_function(
        "name => document.querySelector('#target .given').innerText.startsWith(name)", arg=forced
    )
    assert page.locator("#answer tr.best td").first.inner_text().startswith(forced)
