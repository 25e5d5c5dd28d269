"""The list of tags in the README is that of the code, with units."""

import re
from pathlib import Path

from tf_transformer.callbacks.board.tags import TAGS, described, tag_of

README = (Path(__file__).parents[3] / "README.md").read_text(encoding="utf-8")


def test_the_readme_lists_every_tag_with_its_unit() -> None:
    section = README.split("### Watch it learn")[1].split("\n### ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*?) \| .* \|$", section, re.MULTILINE)
    listed = {name: unit for names, unit in rows for name in re.findall(r"`([^`]+)`", names)}
    assert listed == {tag.name: tag.unit or tag.kind for tag in TAGS}


def test_a_tag_is_described_by_the_first_that_fits() -> None:
    assert tag_of("quality/bleu").unit == "0 to 100"
    assert tag_of("quality/news_bleu").name == "quality/SET_FIGURE"
    assert tag_of("update_gradient/encoder").name == "update_gradient/PART"
    assert tag_of("loss") is None and described("loss") == ""
    assert described("speed/target_tokens_per_second") == "real tokens, examples or vectors (a second)"
    assert described("recipe") == "the resolved recipe"
