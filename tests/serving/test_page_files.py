"""The files of the page, read as they are: colours that can be told apart, and parts that are all there."""

import re
from pathlib import Path

import pytest

from tf_transformer import serving

FOLDER = Path(serving.__file__).parent / "page"
STYLE = (FOLDER / "page.css").read_text(encoding="utf-8")
COLOURS = dict(re.findall(r"--([a-z-]+): light-dark\((#[0-9a-f]{6}, #[0-9a-f]{6})\)", STYLE))


def luminance(colour: str) -> float:
    """Relative luminance, by the Web Content Accessibility Guidelines 2.2."""
    shares = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#ffffff", "#000000") == 21 and contrast("#777777", "#ffffff") == pytest.approx(
        4.48, abs=0.01
    )


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        ("text", "ground"),
        ("quiet", "ground"),
        ("fault", "ground"),
        ("on-accent", "accent"),
        ("text", "bar"),
        ("accent", "ground"),
    ],
)
def test_text_stands_out_in_both_themes(text: str, ground: str, theme: int) -> None:
    colours = [COLOURS[name].split(", ")[theme] for name in (text, ground)]
    assert contrast(*colours) >= 4.5


def test_every_part_is_there_and_used() -> None:
    used = {"page.js"}
    for file in FOLDER.glob("*.js"):
        found = re.findall(r'from "\./([a-z_]+\.js)"', file.read_text(encoding="utf-8"))
        assert len(found) == len(re.findall(r"^import ", file.read_text(encoding="utf-8"), re.MULTILINE))
        used.update(found)
    assert used == {file.name for file in FOLDER.glob("*.js")}


def test_every_element_that_is_asked_for_is_there() -> None:
    there = set(re.findall(r'\bid="([a-z-]+)"', (FOLDER / "index.html").read_text(encoding="utf-8")))
    asked = set()
    for file in FOLDER.glob("*.js"):
        asked.update(re.findall(r'find\("([a-z-]+)"\)', file.read_text(encoding="utf-8")))
    assert asked <= there


def test_nothing_is_read_as_html() -> None:
    for file in FOLDER.glob("*.js"):
        content = file.read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", content)
    page = (FOLDER / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"\sstyle=|\son[a-z]+=|<style|<script(?! type=\"module\" src=)", page)
