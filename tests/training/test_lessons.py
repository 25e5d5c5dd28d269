"""The lessons run, show what their code gives, and keep to one form; their page says what there is."""

import base64
import importlib.util
import io
import re
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "training" / "lessons"
LESSONS = sorted(FOLDER.glob("*.ipynb"))
PAGE = (FOLDER / "README.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"[-+]?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
MOST_BYTES = 60_000
"""Of a picture, so that diffs stay small."""


def runner() -> ModuleType:
    """training/lessons/run.py, which is in no package."""
    spec = importlib.util.spec_from_file_location("run_lessons", FOLDER / "run.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RUNNER = runner()


def sources(path: Path) -> list[str]:
    return ["".join(cell["source"]) for cell in RUNNER.code_cells(RUNNER.read(path))]


def trains(path: Path) -> bool:
    """Whether a lesson trains a model: it takes its time, and its figures are those of the machine."""
    return any("small_translator" in code or ".fit(" in code for code in sources(path))


def lessons() -> list[Any]:
    """All lessons; those that train are slow, and a step of their own in .ci/run."""
    return [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if trains(path) else ()) for path in LESSONS
    ]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lessons and their data elsewhere, where those that train may keep a model."""
    folder = tmp_path_factory.mktemp("clone") / "training"
    for name in ("lessons", "quickstart"):
        shutil.copytree(ROOT / "training" / name, folder / name, ignore=shutil.ignore_patterns("data"))
    return folder / "lessons"


def texts(outputs: list[dict[str, Any]]) -> tuple[str, np.ndarray]:
    """What is printed, without white space and with # for numbers; and the numbers."""
    text = "".join(line for output in outputs for line in output.get("text", []))
    numbers = [float(number) for number in NUMBER.findall(text)]
    return "".join(NUMBER.sub("#", text).split()), np.array(numbers)


def pictures(outputs: list[dict[str, Any]]) -> list[np.ndarray]:
    """What is drawn, as pixels from 0 to 1."""
    encoded = [output["data"]["image/png"] for output in outputs if "data" in output]
    return [plt.imread(io.BytesIO(base64.b64decode(png))) for png in encoded]


@pytest.mark.parametrize("path", lessons())
def test_a_lesson_shows_what_its_code_gives(path: Path, clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(clone)
    monkeypatch.syspath_prepend(clone)
    notebook = RUNNER.read(clone / path.name)
    outputs = RUNNER.run(notebook, path.name)
    for cell, found in zip(RUNNER.code_cells(notebook), outputs, strict=True):
        shown = cell["outputs"]
        assert [output["output_type"] for output in shown] == [output["output_type"] for output in found]
        drawn = list(zip(pictures(shown), pictures(found), strict=True))
        assert all(before.shape == after.shape for before, after in drawn)
        if trains(path):
            continue
        assert texts(found)[0] == texts(shown)[0]
        np.testing.assert_allclose(texts(found)[1], texts(shown)[1], rtol=0.01, atol=0.01)
        assert all(np.abs(before - after).mean() < 0.02 for before, after in drawn)
    printed = "".join(line for found in outputs for output in found for line in output.get("text", []))
    if path.stem.startswith("11"):
        assert "→ Les robes" in printed
    if share := re.search(r"([\d.]+)% are read right", printed):
        assert float(share[1]) > 90


@pytest.mark.parametrize("path", LESSONS, ids=[path.stem for path in LESSONS])
def test_the_form_of_a_lesson(path: Path) -> None:
    notebook = RUNNER.read(path)
    cells, code = notebook["cells"], RUNNER.code_cells(notebook)
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    assert len(cells) <= 12 and len({cell["id"] for cell in cells}) == len(cells)
    first, last = ("".join(cells[index]["source"]) for index in (0, -1))
    assert first.startswith(f"# {int(path.name[:2])}. ") and "**To try.**" in last
    assert re.search(r"\b(19|20)\d\d\b", first), "the source of the idea"
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    drawn = [output["data"]["image/png"] for cell in code for output in cell["outputs"] if "data" in output]
    assert drawn and max(len(base64.b64decode(png)) for png in drawn) < MOST_BYTES
    assert re.search("^from (tf_transformer|small_translator)", "\n".join(sources(path)), re.MULTILINE)


def made_up(*sources: str) -> dict[str, Any]:
    return {"cells": [{"cell_type": "code", "source": [source]} for source in sources]}


def test_cells_share_names_and_what_jupyter_alone_would_show_is_refused() -> None:
    draw = "import matplotlib.pyplot as plt\nplt.plot([size, 2])\nprint(size)\nprint('drawn')"
    outputs = RUNNER.run(made_up("size = 1", draw, "size + 1;"), "made up")
    assert [[output["output_type"] for output in found] for found in outputs] == [
        [],
        ["stream", "display_data"],
        [],
    ]
    assert outputs[1][0]["text"] == ["1\n", "drawn\n"]
    assert plt.get_fignums() == []
    with pytest.raises(
        ValueError, match=r"^made up, cell 1: a cell must not end with a value.*Received: 1 \+ 1$"
    ):
        RUNNER.run(made_up("1 + 1"), "made up")


def test_the_page_lists_the_lessons_in_their_order() -> None:
    listed = re.findall(r"^\d+\. \[(.+?)\]\((\w+\.ipynb)\)", PAGE, re.MULTILINE)
    titles = ["".join(RUNNER.read(path)["cells"][0]["source"]).split("\n")[0] for path in LESSONS]
    assert [name for _, name in listed] == [path.name for path in LESSONS]
    assert [title for title, _ in listed] == [re.sub(r"^# \d+\. ", "", title) for title in titles]


def test_every_slip_of_the_page_has_its_test() -> None:
    links = re.findall(r"\[(test_\w+)\]\(([^)]+)\)", PAGE)
    for name, file in links:
        assert f"def {name}(" in (FOLDER / file).read_text(encoding="utf-8"), name
    slips = Path(__file__).with_name("test_slips.py").read_text(encoding="utf-8")
    tests = re.findall(r"^def (test_\w+)", slips, re.MULTILINE)
    linked = [name for name, file in links if file.endswith("test_slips.py")]
    assert sorted(linked) == sorted(tests)


def test_other_links_of_the_page_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", PAGE)
    assert [link for link in links if not link.startswith("http") and not (FOLDER / link).exists()] == []
