"""``compare``: two models on the same lines, and what a person is told of it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tf_transformer.cli import main
from tf_transformer.cli.compared import Compared, compared, plain, shown
from tf_transformer.manifest import Manifest, write_manifest

Give = Callable[[bytes], None]
Captured = pytest.CaptureFixture[str]


def text(said: str, score: float) -> dict[str, object]:
    return {"source": "?", "text": said, "score": score}


def label(said: str, **probabilities: float) -> dict[str, object]:
    most = max(probabilities.values())
    return {"text": "?", "label": said, "probability": most, "probabilities": probabilities}


def test_texts() -> None:
    old = [text("a", -1.0), text("b", -2.0), text("c", -3.0)]
    new = [text("a", -1.5), text("x", -9.0), text("c", -3.25)]
    found = compared(["1", "2", "3"], old, new)
    assert (found.differ, found.farthest, found.place) == ((1,), 0.5, 0)
    assert list(shown(found, 10)) == [
        "1 of 3 answers differ (33.33 %)",
        "scores of equal answers are 0.5 apart at most, on line 1",
        "",
        "line 2: 2",
        "  old    -2.0000  b",
        "  new    -9.0000  x",
    ]
    assert list(shown(found, 0))[-1] == "\nand 1 more; --lines N shows more of them, --json all"
    assert plain(found, ("a", "b")) == {
        "old": "a",
        "new": "b",
        "answers": 3,
        "different": 1,
        "farthest": 0.5,
        "lines": [{"line": 2, "input": "2", "old": old[1], "new": new[1]}],
    }


def test_labels() -> None:
    old = [label("up", up=0.75, down=0.25), label("down", up=0.25, down=0.75)]
    new = [label("up", up=0.625, down=0.375), label("up", up=0.75, down=0.25)]
    found = compared(["1", "2"], old, new)
    assert (found.differ, found.farthest, found.place) == ((1,), 0.5, 1)
    assert list(shown(found, 1))[1:5] == [
        "probabilities are 0.5 apart at most, on line 2",
        "",
        "line 2: 2",
        "  old     0.7500  down",
    ]


def test_nothing_at_all() -> None:
    found = compared([], [], [])
    assert found == Compared([], [], [], (), None, 0) and found.share == 0.0
    assert list(shown(found, 3)) == ["0 of 0 answers differ (0.00 %)"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "in.txt").write_bytes(b"abcd\n\nhi\nefg cab\n")
    (tmp_path / "right.txt").write_bytes(b"dcba\n\nih\nbac gfe\n")
    return ["--input", str(tmp_path / "in.txt"), "--reference", str(tmp_path / "right.txt")]


def test_a_run_and_its_export(run: Path, fast: Path, files: list[str], capsys: Captured) -> None:
    assert main(["compare", str(run), str(fast), *files[:2]]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert " of 4 answers differ (" in lines[0]
    assert main(["compare", str(run), str(run), *files, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["answers"], found["different"], found["farthest"], found["lines"]) == (4, 0, 0.0, [])
    assert found["bleu"]["old"] == found["bleu"]["new"] and found["bleu"]["p_value"] == pytest.approx(1.0)


def test_more_than_are_allowed_is_1(
    run: Path, files: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    from tf_transformer.cli import compared as module

    answers = iter([[text("a", -1.0)] * 4, [text("a", -1.0)] * 3 + [text("b", -1.0)]] * 2)
    monkeypatch.setattr(module, "answers_of", lambda *_: next(answers))
    assert main(["compare", str(run), str(run), *files[:2], "--most", "24.9"]) == 1
    assert capsys.readouterr().out.startswith("1 of 4 answers differ (25.00 %)\n")
    assert main(["compare", str(run), str(run), *files[:2], "--most", "25"]) == 0


def test_what_cannot_be_compared_is_refused(
    run: Path, files: list[str], tmp_path: Path, capsys: Captured
) -> None:
    other = tmp_path / "1"
    other.mkdir()
    (other / "saved_model.pb").touch()
    write_manifest(other, Manifest(task="classify_text", signatures=(), verification={}))
    assert main(["compare", str(run), str(other), *files[:2]]) == 2
    rule = f"must be of one task: {run} is a translator, {other} is a classifier"
    assert rule in capsys.readouterr().err
    (tmp_path / "right.txt").write_bytes(b"one\n")
    assert main(["compare", str(run), str(run), *files]) == 1
    assert "must have as many lines as" in capsys.readouterr().err
    write_manifest(other, Manifest(task="generate", signatures=(), verification={}))
    assert main(["compare", str(other), str(other), *files]) == 2
    assert "--reference: is not for language models" in capsys.readouterr().err
