"""``plot``: pictures from the command line, and that a run is left alone."""

import html
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tf_transformer.cli import drawn_positions, main
from tf_transformer.cli.drawn_schedule import rates_of
from tf_transformer.cli.told_apart import run_name, told_apart
from tf_transformer.models import Transformer
from tf_transformer.plots import fonts
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder, default_run_path

LANGUAGE = """\
task: generate
data: {train: {text: text.txt}, dev: {fraction: 0.5}}
training: {steps: 10}
"""


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
    assert main(["plot", "pie"]) == 2
    assert capsys.readouterr().err.startswith("No such command 'pie'")


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


def texts_of(svg: Path) -> list[str]:
    """What is written in a picture."""
    return [html.unescape(text) for text in re.findall(r"<!-- (.*?) -->", svg.read_text(encoding="utf-8"))]


def test_curves_of_runs_beside_each_other(run: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "curves", str(run)]) == 0
    assert (here / "run-curves.png").read_bytes().startswith(b"\x89PNG")
    shutil.copytree(run, here / "other")
    assert main(["plot", "curves", str(run), "other", "--over", "minutes", "--output", "a.svg"]) == 1
    # The run of these tests has records without the time.
    told = capsys.readouterr().err
    assert "`runs` must have numbers for a panel" in told
    (here / "other" / "metrics.jsonl").write_text('{"step": 5, "seconds": 60, "val_bleu": 7.5}\n')
    assert main(["plot", "curves", str(run), "other", "--output", "a.svg"]) == 0
    assert capsys.readouterr() == ("a.svg\n", "")
    written = texts_of(here / "a.svg")
    assert {"BLEU", "loss (nats)", "update", "run: best loss 0.1, BLEU 3", "other: best BLEU 7.5"} <= set(
        written
    )
    (here / "other" / "metrics.jsonl").write_text("")
    assert main(["plot", "curves", "other"]) == 1
    assert capsys.readouterr().err == "other: has no validation yet, so there is nothing to draw\n"


def test_runs_are_told_apart_by_as_little_as_possible() -> None:
    folders = [Path("/a/digits/1"), Path("/a/digits/2"), Path("/a/digits/../digits/2")]
    assert list(told_apart(folders)) == ["digits/1", "digits/2"]
    assert list(told_apart([Path("/a/x/run"), Path("/b/y/run")])) == ["x/run", "y/run"]
    assert list(told_apart([Path("/a/x"), Path("/b/y")])) == ["x", "y"]
    assert (run_name(Path("/a/runs/x")), run_name(Path("/a/digits/1"))) == ("x", "digits-1")


def test_attention_of_a_translation(run: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["plot", "attention", str(run), "ab", "--target", "ba", "--output", "a.svg"]
    assert main(given) == 0
    printed, told = capsys.readouterr()
    assert printed == "a.svg\n" and "checkpoint step-00000005" in told and told.endswith("answer: ba\n")
    written = texts_of(here / "a.svg")
    assert {"run: cross-attention, layer 1", "average", "head 1", "head 2", "</s>"} <= set(written)
    assert main([*given, "--kind", "encoder", "--head", "2", "--quiet"]) == 0
    assert capsys.readouterr() == ("a.svg\n", "")
    written = texts_of(here / "a.svg")
    assert "run: self-attention of the encoder, layer 1" in written
    assert "head 2" in written and "average" not in written
    for option, message in {
        "--head": "Invalid value for --head: must be from 1 to 2 in this model. Received: 3",
        "--layer": "Invalid value for --layer: must be from 1 to 1 in this model. Received: 3",
    }.items():
        assert main([*given, option, "3"]) == 2
        assert message in capsys.readouterr().err


def test_letters_without_a_font_are_told(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fonts, "_families", {})
    monkeypatch.setattr(fonts, "_known_fonts", lambda: [(fonts.DEFAULT, set(range(128)))])
    monkeypatch.setattr(fonts, "_new_fonts", lambda: [])
    shutil.copytree(run, here / "中")
    assert main(["plot", "curves", "中", "--output", "a.svg"]) == 0
    told = capsys.readouterr().err
    assert told.startswith("no font of this machine has 中, so code points such as U+4E2D are drawn")
    assert "U+4E2D: best loss 0.1, BLEU 3" in texts_of(here / "a.svg")


def test_schedules_by_updates_by_epochs_and_by_minutes(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = run.parent / "recipe.yaml"
    assert main(["plot", "schedule", str(recipe), "--output", "a.svg"]) == 0
    assert capsys.readouterr() == ("a.svg\n", "")
    assert {"learning rate", "highest: 0.001 at update 5", "last: 0.000707 at update 10"} <= set(
        texts_of(here / "a.svg")
    )
    linear = "training.schedule={name: linear, warmup_steps: 3}"
    limits = ["training.steps=null", "training.epochs=7", "training.batch_tokens=10"]
    numbers, rates = rates_of(load_recipe(recipe, [linear, *limits]), None, lambda line: None)
    # 4 pairs of 6, 4, 3 and 2 target pieces in updates of 10: two updates an epoch.
    assert numbers.tolist() == list(range(1, 15))
    np.testing.assert_allclose(rates[[0, 2, 8, 13]], [0.001 / 3, 0.001, 0.001 * 5 / 11, 0.0], atol=1e-9)
    said: list[str] = []
    minutes = ["training.steps=null", "training.minutes=3", "training.schedule.warmup_steps=400"]
    numbers, rates = rates_of(load_recipe(recipe, minutes), None, said.append)
    assert numbers[-1] == 4000 and {399, 400, 401} <= set(numbers.tolist())
    assert rates[-1] == pytest.approx(0.001 * 0.1**0.5)
    assert said == ["the recipe says how long in minutes alone: 4,000 updates are drawn (--updates)"]


def test_lengths_of_the_training_data(run: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "lengths", str(run.parent / "recipe.yaml"), "--output", "a.svg"]) == 0
    assert capsys.readouterr().out == "a.svg\n"
    # ab cd, efg, hi and a, each with its end; the targets without.
    assert "source: half up to 4, 95 % up to 6, longest 6" in texts_of(here / "a.svg")


def test_positions_that_follow_from_a_recipe(
    run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = str(run.parent / "recipe.yaml")
    for override, title in {
        "sinusoidal": "sinusoidal positions",
        "rotary": "rotary positions: a vector of ones, turned",
        "index": "index positions",
        "alibi": "alibi positions: attention where all scores are equal",
    }.items():
        options = ["--length", "7", "--output", "a.svg", "--quiet"]
        assert main(["plot", "positions", recipe, f"model.positions={override}", *options]) == 0
        assert [text for text in texts_of(here / "a.svg") if text.endswith(title)], override
    assert main(["plot", "positions", str(run), "--length", "7"]) == 0
    assert capsys.readouterr().out.endswith("run-positions.png\n")
    for kind, message in {
        "learned": "learned positions are learnt: name a run",
        "relative": "relative positions are learnt: name a run",
        "none": "model.positions is none: there is nothing to draw",
    }.items():
        assert main(["plot", "positions", recipe, f"model.positions={kind}"]) == 2
        assert f"Invalid value for RECIPE_OR_RUN: {message}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("kind", "more", "rows"), [("learned", {"max_length": 11}, 11), ("relative", {"max_distance": 3}, 7)]
)
def test_positions_that_were_learnt(
    kind: str, more: dict[str, int], rows: int, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 7, "num_heads": 3}
    model = Transformer(5, **sizes, positions=kind, **more)
    monkeypatch.setattr(
        drawn_positions, "load_run", lambda path: SimpleNamespace(task=SimpleNamespace(model=model))
    )
    recipe = load_recipe(run.parent / "recipe.yaml", [f"model.positions={kind}"])
    figure = drawn_positions.positions_of(recipe, run, 100, "x")
    heat = figure.axes[0].images[0]
    table = model.source_positions.table if kind == "learned" else model.encoder.weights[-1]
    assert heat.get_array().shape[0] == rows
    if kind == "learned":
        np.testing.assert_array_equal(heat.get_array(), np.asarray(table))
    else:
        assert tuple(heat.get_extent())[2:] == (3.5, -3.5) and figure.axes[0].get_ylabel() == "distance"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["attention", "RUN", "ab", "--layer", "0"], "Invalid value for '--layer': must be from 1 to 1000"),
        (["attention", "nowhere", "ab"], "nowhere: there is no such run folder"),
        (
            ["attention", "LANGUAGE", "ab", "--kind", "cross"],
            "--kind: must be decoder, as this is a language model",
        ),
        (["attention", "LANGUAGE", "ab", "--target", "ab"], "Invalid value for --target: is for translators"),
        (["curves", "nowhere"], "nowhere: there is no such run folder"),
        (["curves"], "Missing argument 'RUN...'"),
        (
            ["positions", "RUN", "model.norm=pre"],
            "overrides are for a recipe, and this is the folder of a run",
        ),
        (["schedule", "nowhere.yaml"], "nowhere.yaml: there is no such recipe"),
    ],
)
def test_other_things_are_refused(
    arguments: list[str], message: str, run: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    language = RunFolder(run.parent / "language")
    (run.parent / "text.txt").write_text("a text\n")
    (run.parent / "language.yaml").write_text(LANGUAGE)
    if not language.exists():
        language.create(load_recipe(run.parent / "language.yaml"))
    names = {"RUN": str(run), "LANGUAGE": str(language.path)}
    assert main(["plot", *(names.get(word, word) for word in arguments)]) in (1, 2)
    printed, told = capsys.readouterr()
    assert printed == "" and message in told and told.count("\n") == 1
    assert list(here.iterdir()) == []
