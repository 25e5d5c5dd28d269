"""Pictures are written whole, in the format that their names say, and hold what they were given."""

from pathlib import Path

import pytest

from tf_transformer.plots.files import picture_fault, save
from tf_transformer.plots.rate_range import rate_range_figure

RATES, LOSSES, SMOOTHED = [1e-4, 1e-3, 1e-2], [9.0, 7.5, 8.0], [9.0, 8.2, 8.1]


def draw(file: Path) -> None:
    save(rate_range_figure(RATES, LOSSES, SMOOTHED, suggested=1.25e-3, title="$quick$start"), file)


def test_a_rate_range_as_png(tmp_path: Path) -> None:
    draw(tmp_path / "range.png")
    content = (tmp_path / "range.png").read_bytes()
    assert content.startswith(b"\x89PNG") and len(content) > 5000
    assert [file.name for file in tmp_path.iterdir()] == ["range.png"]


def test_a_rate_range_as_svg_names_its_axes_and_the_rate(tmp_path: Path) -> None:
    draw(tmp_path / "range.SVG")
    content = (tmp_path / "range.SVG").read_text(encoding="utf-8")
    # Matplotlib draws letters as shapes, and leaves the text in comments.
    for text in ("learning rate", "loss (nats)", "suggested: 0.0013", "$quick$start"):
        assert f"<!-- {text} -->" in content


def test_other_kinds_of_file_are_refused(tmp_path: Path) -> None:
    assert picture_fault(Path("a.PNG")) is None
    with pytest.raises(ValueError, match=r"range\.pdf: a picture's name ends with \.png or \.svg"):
        draw(tmp_path / "range.pdf")
