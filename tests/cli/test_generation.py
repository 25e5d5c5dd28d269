"""A language model on the command line: ``predict`` with all options, and every other verb."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tf_transformer.cli import main
from tf_transformer.cli.texts import escaped, unescaped

Give = Callable[[bytes], None]
Captured = pytest.CaptureFixture[str]

RECIPE = """\
task: generate
data: {train: {text: train.txt}, dev: {fraction: 0.2}, test: {text: test.txt}, window: 9}
model: {num_layers: 1, hidden_dim: 8, intermediate_dim: 16, num_heads: 2}
training: {steps: 10, precision: float32, schedule: {warmup_steps: 5}, validate_every: 5}
decoding: {max_length: 12}
"""


@pytest.fixture(scope="module")
def texts_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trained run of ten updates."""
    from trainings import start

    folder = tmp_path_factory.mktemp("texts")
    (folder / "train.txt").write_text("ab\nba\\\n" * 30)
    (folder / "test.txt").write_text("abba\nz\n")
    (folder / "recipe.yaml").write_text(RECIPE)
    assert start(folder / "recipe.yaml", folder / "run") == 0
    return folder / "run"


@pytest.fixture(scope="module")
def task(texts_run: Path) -> Any:
    from tf_transformer.cli import answering

    return answering.load_run(texts_run, "best").task


def predict(run: Path, give: Give, capsys: Captured, content: bytes, *options: str) -> tuple[str, str]:
    give(content)
    capsys.readouterr()
    assert main(["predict", str(run), *options]) == 0
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_one_line_in_one_line_out(texts_run: Path, task: Any, stdin: Give, capsys: Captured) -> None:
    out, notes = predict(texts_run, stdin, capsys, b"ab\n\na\\nb\\\\\nz\n")
    expected = task.generate(["ab", "", "a\nb\\", "z"])
    assert [unescaped(line) for line in out.split("\n")[:-1]] == expected
    assert any("\n" in text for text in expected) and len(out.split("\n")) == 5
    assert "1 piece of the lines are unknown to the model" in notes
    assert predict(texts_run, stdin, capsys, b"ab\n\na\\nb\\\\\nz\n")[0] == out


def test_every_option_reaches_the_sampling(texts_run: Path, task: Any, stdin: Give, capsys: Captured) -> None:
    options = {
        "max_length": 7, "temperature": 0.9, "top_k": 4, "top_p": 0.95, "repetition_penalty": 1.1,
        "no_repeat": 3, "seed": 5,
    }  # fmt: skip
    given = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    out, _ = predict(texts_run, stdin, capsys, b"ab\n", *given, "--ban", "a", "--ban", "\\")
    assert out == escaped(task.generate(["ab"], **options, banned=("a", "\\"))[0]) + "\n"


def test_several_answers_scores_and_json(texts_run: Path, task: Any, stdin: Give, capsys: Captured) -> None:
    out, _ = predict(texts_run, stdin, capsys, b"ab\n", "--n-best", "3", "--scores")
    expected = task.samples(["ab"], 3)[0]
    assert out.split("\n")[:-1] == [f"{found.score:.4f}\t{escaped(found.text)}" for found in expected]
    out, _ = predict(texts_run, stdin, capsys, b"a\\nb\n", "--json")
    found = task.samples(["a\nb"])[0][0]
    known = {name: value for name, value in vars(found).items() if name != "details"}
    assert json.loads(out) == {"source": "a\nb", **known}


def test_a_stream_is_the_same_text(texts_run: Path, task: Any, stdin: Give, capsys: Captured) -> None:
    out, _ = predict(texts_run, stdin, capsys, b"ab\nb\n", "--stream")
    assert out == "".join(text + "\n" for text in task.generate(["ab", "b"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--beam", "3"], "is for translate, and .* is a language model"),
        (["--stream", "--json"], "goes with none of --output, --json, --scores and --n-best"),
        (
            ["--ban", "xy"],
            "`banned` must hold single pieces of the vocabulary. Received: 'xy', which is 2 pieces",
        ),
        (["--temperature", "nan"], "must be from 0 to 100. Received: nan"),
        (["--top-p", "0"], "must be from 1e-06 to 1. Received: 0.0"),
    ],
)
def test_refused_options(
    texts_run: Path, stdin: Give, capsys: Captured, options: list[str], message: str
) -> None:
    stdin(b"ab\n")
    capsys.readouterr()
    assert main(["predict", str(texts_run), *options]) == 2
    assert re.search(message, capsys.readouterr().err)


def test_evaluate(texts_run: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["evaluate", str(texts_run)]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "test: 1 text" and lines[1].startswith("  a character ")
    assert "each of 7 pieces, 7 characters, counts once, in windows of 9 that begin every 4" in lines[3]
    assert "1 piece (14.29%) are not in the vocabulary" in lines[4]
    assert main(["evaluate", str(texts_run), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    results = json.loads((texts_run / "results.json").read_text())
    assert shown["metrics"]["test_nats_per_character"] == results["metrics"]["test_nats_per_character"]
    assert (
        shown["signatures"]["test_nats_per_character"] == "window:9|stride:4|pieces:7|characters:7|unknown:1"
    )
    (tmp_path / "other.txt").write_bytes(b"abba\r\nz\r\n")
    assert main(["evaluate", str(texts_run), "--source", str(tmp_path / "other.txt"), "--json"]) == 0
    other = json.loads(capsys.readouterr().out)["metrics"]
    assert other["nats_per_character"] == pytest.approx(results["metrics"]["test_nats_per_character"])
    assert main(["evaluate", str(texts_run), "--target", "x"]) == 2
    assert "is for translate" in capsys.readouterr().err


def test_an_export_goes_on_as_the_run_does(
    texts_run: Path, tmp_path: Path, stdin: Give, capsys: Captured
) -> None:
    assert main(["export", str(texts_run), str(tmp_path / "exported"), "--quiet"]) == 0
    lines = b"ab\n\na\\nb\n"
    expected, _ = predict(texts_run, stdin, capsys, lines)
    assert predict(tmp_path / "exported", stdin, capsys, lines)[0] == expected
    for arguments, message in (
        (["predict", "--seed", "3"], "is for runs"),
        (["predict", "--n-best", "3"], "is for runs"),
        (["evaluate"], "an export of a language model has no figures: name its run"),
    ):
        assert main([arguments[0], str(tmp_path / "exported"), *arguments[1:]]) == 2
        assert message in capsys.readouterr().err


def test_inspect_shows_windows(texts_run: Path, capsys: Captured) -> None:
    assert main(["inspect", str(texts_run), "--rows", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 text, 1 update an epoch, 1 shape of batches" in shown
    assert "first batch: target_ids [" in shown and "  labels        " in shown
    assert "language_model/stack/block_0/self_attention/attention/query_kernel" in shown


@given(st.text(st.sampled_from("ab\\n\n")))
def test_a_text_with_lines_on_one_line_and_back(text: str) -> None:
    assert "\n" not in escaped(text) and unescaped(escaped(text)) == text


def test_a_backslash_before_something_else_is_itself() -> None:
    assert unescaped(r"a\b\\n\n") == "a\\b\\n\n"
