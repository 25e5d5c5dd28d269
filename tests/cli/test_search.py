"""``predict`` with options of the search, and ``score``, on a run of random weights."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.cli import main

Give = Callable[[bytes], None]
Captured = pytest.CaptureFixture[str]


@pytest.fixture
def ask(run: Path, stdin: Give, capsys: Captured) -> Callable[..., tuple[list[str], str]]:
    def lines(content: bytes, *options: str, verb: str = "predict") -> tuple[list[str], str]:
        stdin(content)
        capsys.readouterr()
        assert main([verb, str(run), *options]) == 0
        shown = capsys.readouterr()
        return shown.out.split("\n")[:-1], shown.err

    return lines


def test_options_reach_the_search(run: Path, ask: Any) -> None:
    from tf_transformer.cli.answering import load_run

    task = load_run(run, "best").task
    words = "--prefix ab --min-length 3 --no-repeat 2 --repetition-penalty 1.5 --ban c --ban <unk> --beam 2"
    expected = task.translate(
        ["abcd", "hi"],
        prefix="ab",
        min_length_margin=3,
        no_repeat=2,
        repetition_penalty=1.5,
        banned=["c", "<unk>"],
        beam_size=2,
    )
    assert ask(b"abcd\nhi\n", *words.split())[0] == expected
    assert all(line.startswith("ab") and "c" not in line for line in expected)
    drawn = ask(b"abcd\n", "--sample", "--seed", "3", "--top-k", "9", "--n-best", "5")[0]
    assert drawn == [one.text for one in task.n_best(["abcd"], 5, sample=True, seed=3, top_k=9)[0]]
    factors = ask(b"abcd\n", "--min-length-factor", "1", "--max-length-factor", "1")[0]
    assert len(factors[0]) <= 4


def test_alternatives_and_details(ask: Any) -> None:
    lines, _ = ask(b"ab\n", "--alternatives", "3", "--prefix", "e")
    assert len(lines) == len(set(lines)) == 3 and all(line.startswith("e") for line in lines)
    (shown,), _ = ask(b"ab\n", "--json", "--details")
    found = json.loads(shown)
    assert "".join(found["pieces"]) == found["text"]  # they are characters
    assert sum(found["log_probabilities"]) == pytest.approx(found["log_probability"], rel=1e-3)
    assert len(found["alignment"]) == len(found["pieces"]) and len(found["attention"][0]) == 3


def test_long_lines(ask: Any, run: Path, stdin: Give, capsys: Captured) -> None:
    content = b"ab\nabcd. efgh. abcdefg.\n"
    _, notes = ask(content, "--on-long", "split")
    assert "1 line over the longest source: split at sentence ends" in notes and "not read" not in notes
    stdin(content)
    assert main(["predict", str(run), "--on-long", "refuse"]) == 1
    assert "stdin:2: has more than 13 pieces, the end counted" in capsys.readouterr().err


def test_an_ensemble_of_one_run_with_itself_is_that_run(
    ask: Any, run: Path, tmp_path: Path, stdin: Give, capsys: Captured
) -> None:
    alone, _ = ask(b"ab\nefg\n", "--scores")
    both, notes = ask(b"ab\nefg\n", "--scores", "--ensemble", str(run))
    assert [line.split("\t")[1] for line in both] == [line.split("\t")[1] for line in alone]
    assert f"{run}: checkpoint step-00000005, in the ensemble" in notes
    assert main(["predict", str(run), "--ensemble", str(tmp_path)]) == 1
    assert "is no run" in capsys.readouterr().err


def test_scores_of_lines_and_of_files(ask: Any, run: Path, tmp_path: Path, capsys: Captured) -> None:
    lines, _ = ask(b"ab\tba\nefg\t\n", verb="score")
    assert len(lines) == 2 and all(float(line) < 0.0 for line in lines)
    (tmp_path / "a").write_text("ab\nefg\n")
    (tmp_path / "b").write_text("ba\n\n")
    files = ["--source", str(tmp_path / "a"), "--target", str(tmp_path / "b")]
    assert ask(b"", *files, verb="score")[0] == lines
    shown = [json.loads(line) for line in ask(b"", *files, "--json", verb="score")[0]]
    assert [one["target"] for one in shown] == ["ba", ""]
    assert f"{sum(shown[0]['log_probabilities']):.3f}" == f"{float(lines[0]):.3f}"
    (tmp_path / "b").write_text("ba\n")
    assert main(["score", str(run), *files]) == 1
    assert "must have equally many lines. Received: 2 and 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--top-k", "3"], 2, "goes with --sample"),
        (["--details"], 2, "goes with --json alone"),
        (["--alternatives", "2", "--n-best", "2"], 2, "goes with none of --n-best and --sample"),
        (["--ban", "ab"], 2, "`banned` must hold single pieces of the vocabulary. Received: 'ab'"),
        (["--stream"], 2, "is for generate, and"),
    ],
)
def test_what_cannot_be_asked_for(
    run: Path, stdin: Give, capsys: Captured, words: list[str], code: int, message: str
) -> None:
    stdin(b"ab\n")
    assert main(["predict", str(run), *words]) == code
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--source", "x"], 2, "--source and --target must be given together"),
        (["--source", "x", "--target", "y", "--input", "z"], 2, "goes without --source and --target"),
        ([], 1, "stdin:2: must be a source, a tab and a target"),
    ],
)
def test_what_cannot_be_scored(
    run: Path, stdin: Give, capsys: Captured, words: list[str], code: int, message: str
) -> None:
    stdin(b"ab\tba\nab\n")
    assert main(["score", str(run), *words]) == code
    assert message in capsys.readouterr().err
