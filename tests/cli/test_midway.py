"""What may change between two commands on one run: taken, taken and logged, or refused as a whole."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tf_transformer import trainer
from tf_transformer.cli import main
from tf_transformer.text import Preprocessor

Captured = pytest.CaptureFixture[str]
Give = Callable[[bytes], None]


@pytest.fixture
def copy(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run that a test may write to; `train` ends where the updates would begin."""

    def begin_only(training: trainer._Training) -> int:
        training.beginning.write()
        return 0

    monkeypatch.setattr(trainer._Training, "run", begin_only)
    return Path(shutil.copytree(run, tmp_path / "copy"))


def train(run: Path, copy: Path, *words: str) -> int:
    return main(["train", str(run.parent / "recipe.yaml"), "--run", str(copy), *words])


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def events(folder: Path) -> list[tuple[str, str]]:
    path = folder / "events.jsonl"
    rows = map(json.loads, path.read_text().splitlines() if path.exists() else [])
    return [(row["event"], row["detail"]) for row in rows]


def test_free_keys_are_taken(run: Path, copy: Path, capsys: Captured) -> None:
    assert train(run, copy, "training.steps=20", "training.validate_every=3", "decoding.beam=2") == 0
    assert "changed" not in capsys.readouterr().err and events(copy) == []
    recipe = yaml.safe_load((copy / "recipe.yaml").read_text())
    assert (recipe["training"]["steps"], recipe["decoding"]["beam"]) == (20, 2)


def test_what_may_change_midway_is_taken_and_logged(run: Path, copy: Path, capsys: Captured) -> None:
    peak, more = (
        "training.schedule.peak=0.01",
        f"[{{table: {run.parent}/train.tsv}}, {{table: {run.parent}/dev.tsv}}]",
    )
    assert train(run, copy, peak, "model.dropout=0.3", f"data.train={more}") == 0
    assert "changed midway: model.dropout: 0.1 in the run, 0.3 now" in capsys.readouterr().err
    logged = dict(detail.split(": ", 1) for event, detail in events(copy) if event == "recipe changed")
    assert logged["model.dropout"] == "0.1 in the run, 0.3 now"
    assert logged["training.schedule.peak"] == "0.001 in the run, 0.01 now"
    assert logged["data.train.1.weight"] == "(absent) in the run, 1 now"
    assert yaml.safe_load((copy / "recipe.yaml").read_text())["model"]["dropout"] == 0.3


@pytest.mark.parametrize(
    ("override", "both"),
    [
        ("model.num_heads=4", "model.num_heads: 2 in the run, 4 now"),
        ("text.vocabulary_size=30", "text.vocabulary_size: 31 in the run, 30 now"),
        ("training.precision=mixed_float16", "training.precision: float32 in the run, mixed_float16 now"),
    ],
)
def test_what_cannot_change_is_refused_with_both_values_and_nothing_is_written(
    run: Path, copy: Path, capsys: Captured, override: str, both: str
) -> None:
    before = content(copy)
    assert train(run, copy, override, "model.dropout=0.3", "training.steps=20") == 1
    shown = capsys.readouterr().err
    assert f"a run cannot change midway in {both}. To start over" in shown
    assert "the same command with --fresh" in shown
    assert content(copy) == before


def rewrite(state: Path, **values: object) -> None:
    """Changes a checkpoint's state, which then has no checksum of its own, as in the first runs."""
    found = json.loads(state.read_text())
    del found["sha256"]["state.json"]
    state.write_text(json.dumps({**found, **values}))


def test_another_measure_begins_anew_with_what_is_best(run: Path, copy: Path) -> None:
    state = copy / "checkpoints" / "step-00000010" / "state.json"
    rewrite(state, best=30.5, best_step=5, waited=3)
    kept: list[object] = []

    def look(training: trainer._Training) -> int:
        checkpoint = training.beginning.checkpoint
        assert checkpoint is not None
        kept.append(tuple(checkpoint.state[name] for name in ("best", "best_step", "waited")))
        return 0

    trainer._Training.run = look  # type: ignore[method-assign]  # the fixture puts the real one back
    assert train(run, copy, "training.early_stopping={metric: bleu}", "evaluation.beam=3") == 0
    for override in (
        "training.early_stopping={metric: loss}",
        "evaluation.tokenize=char",
        "data.dev.deduplicate=true",
    ):
        assert train(run, copy, override) == 0
    assert kept == [(30.5, 5, 3), *[(None, None, 0)] * 3]


def larger(tokenizer: Path) -> None:
    """Gives a run the tokenizer of another corpus, whole and of one more piece."""
    shutil.rmtree(tokenizer)
    Preprocessor.train(["abcdefghi jk"], ["m"], tokenizer="characters").save(tokenizer)


def appended(tokenizer: Path) -> None:
    """Appends one line to the vocabulary."""
    with (tokenizer / "shared" / "vocabulary.txt").open("a") as file:
        file.write("z\n")


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (larger, ["/tokenizer/shared: the vocabulary has 17 pieces", "weights.npz was trained with 14"]),
        (appended, ["/tokenizer/shared/vocabulary.txt: must have 14 lines", "Received: 15 lines"]),
    ],
)
def test_a_vocabulary_of_another_size_is_refused_at_the_start(
    run: Path, copy: Path, stdin: Give, capsys: Captured, damage: Callable[[Path], None], named: list[str]
) -> None:
    damage(copy / "tokenizer")
    before, out = content(copy), str(copy.parent / "out")
    commands = [
        ["predict", str(copy)],
        ["evaluate", str(copy)],
        ["export", str(copy), out],
        ["inspect", str(copy)],
        ["train", str(run.parent / "recipe.yaml"), "--run", str(copy), "model.dropout=0.3"],
    ]
    for words in commands:
        stdin(b"ab\n")
        assert main(words) == 1, words
        shown = capsys.readouterr()
        assert shown.out == "" and all(text in shown.err for text in named), shown
    assert content(copy) == before and not Path(out).exists()


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("epoch", "2", "state.json: epoch must be of type int. Received: '2'"),
        ("step", -1, "state.json: step must be a whole number, at least 0"),
    ],
)
def test_a_checkpoint_that_says_nonsense_is_told_at_the_start(
    run: Path, copy: Path, capsys: Captured, name: str, value: object, rule: str
) -> None:
    for state in copy.glob("checkpoints/*/state.json"):
        rewrite(state, **{name: value})
    before = content(copy)
    assert train(run, copy, "model.dropout=0.3") == 1
    assert f"damaged checkpoint ({rule}" in capsys.readouterr().err
    assert content(copy) == before
