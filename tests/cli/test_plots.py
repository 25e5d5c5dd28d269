"""``plot``: pictures from the command line, and that a run is left alone."""

from pathlib import Path

import pytest

from tf_transformer.cli import main
from tf_transformer.run_folder import default_run_path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_range_of_rates_is_tried_and_drawn(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = run.parent / "recipe.yaml"
    before = sorted(path for path in run.rglob("*"))
    options = ["--lowest", "0.001", "--highest", "3e4", "--updates", "40"]
    assert main(["plot", "lr-range", str(recipe), *options, "model.dropout=0"]) == 0
    printed, told = capsys.readouterr()
    assert 0.001 <= float(printed) <= 3e4
    (picture,) = here.iterdir()
    assert picture.name == f"{default_run_path(recipe, ['model.dropout=0']).name}-lr-range.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "the loss ran away" in told and picture.name in told
    assert sorted(path for path in run.rglob("*")) == before
    assert main(["plot", "lr-range", str(recipe), *options[:-1], "2", "--quiet", "--output", "a.svg"]) == 0
    printed, told = capsys.readouterr()
    assert "<svg" in (here / "a.svg").read_text()
    assert told == "" and printed.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--output", "a.pdf"], "Invalid value for --output: a.pdf: a picture's name ends with .png or .svg"),
        (["--output", "no/a.png"], "Invalid value for --output: no/a.png: there is no folder no"),
        (
            ["--lowest", "0.1", "--highest", "0.1"],
            "Invalid value for --lowest: must be less than --highest, which is 0.1. Received: 0.1",
        ),
        (["--updates", "1"], "Invalid value for '--updates': must be from 2 to 1000000. Received: 1"),
        (["--lowest", "0"], "Invalid value for '--lowest': must be from 1e-12 to 1000000.0. Received: 0.0"),
        (["model.norm=none"], "command line: model.norm: must be one of pre, post, deep; received"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_once(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["plot", "lr-range", str(run.parent / "recipe.yaml"), *arguments]) == 2
    printed, told = capsys.readouterr()
    assert printed == "" and told.startswith(message) and told.count("\n") == 1
    assert list(here.iterdir()) == []


def test_a_kind_of_picture_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot"]) == 2
    assert "lr-range" in capsys.readouterr().err
    assert main(["plot", "curve"]) == 2
    assert capsys.readouterr().err.startswith("No such command 'curve'")


def test_pictures_of_classifiers_are_for_classifiers(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plot", "confusion", str(run)]) == 2
    message = "Invalid value for RUN: is drawn for classifiers, and this is a translator"
    assert capsys.readouterr().err.startswith(message)
    assert main(["plot", "rollout", str(run), "a.png"]) == 2
    assert "is drawn for classifiers of pictures, and this is a translator" in capsys.readouterr().err
    assert main(["plot", "confusion", "nowhere"]) == 1
    assert "nowhere" in capsys.readouterr().err
    assert list(here.iterdir()) == []
