"""``predict``, ``evaluate`` and ``score`` on a model for CTranslate2, against the run of random weights."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.cli import answering, exports, main
from tf_transformer.export import ctranslate2_trial

Give = Callable[[bytes], None]
Captured = pytest.CaptureFixture[str]
CONTENT = b"abcd\n\nhi\nefg cab\na\nbad\nhi fee\nx\ndeaf hid a cab\ng\n"


@pytest.fixture(scope="module", autouse=True)
def lenient() -> Iterator[None]:
    """Random weights end nothing and tie often: beams are compared on a run that was trained, elsewhere."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctranslate2_trial, "_demand_same", lambda *_: None)
        yield


@pytest.fixture
def ask(stdin: Give, capsys: Captured) -> Callable[..., tuple[list[str], str]]:
    def lines(model: Path, content: bytes, *options: str, verb: str = "predict") -> tuple[list[str], str]:
        stdin(content)
        capsys.readouterr()
        assert main([verb, str(model), *options]) == 0
        shown = capsys.readouterr()
        return shown.out.split("\n")[:-1], shown.err

    return lines


def test_the_export_says_what_was_verified(run: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["export", str(run), str(tmp_path / "out"), "--format", "ctranslate2"]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{tmp_path / 'out' / '1'}\n"
    assert "answers verified; needs ctranslate2\nby beams of 1 and 3 without a length pen" in shown.err


def test_it_answers_as_the_run(run: Path, fast: Path, ask: Any) -> None:
    lines, notes = ask(fast, CONTENT, "--beam", "1")
    assert lines == ask(run, CONTENT, "--beam", "1")[0]
    assert f"{fast / '1'}: exported checkpoint step-00000005\n" in notes
    limits = ["--beam", "1", "--max-length", "3"]
    lines, notes = ask(fast, CONTENT, *limits)
    wanted, said = ask(run, CONTENT, *limits)
    assert lines == wanted and notes.split("\n")[1:] == said.split("\n")[1:]  # how many were cut, too
    rules = ["--beam", "1", "--ban", "a", "--ban", "<unk>", "--repetition-penalty", "1.5", "--no-repeat", "2"]
    for options in (rules, ["--beam", "1", "--min-length", "4", "--max-length-factor", "2"]):
        assert ask(fast, CONTENT, *options)[0] == ask(run, CONTENT, *options)[0]
    several, _ = ask(fast, b"abcd\n", "--n-best", "2", "--scores")
    assert len(several) == 2
    (whole,), _ = ask(fast, b"abcd\n", "--json", "--beam", "1")
    (wanted,), _ = ask(run, b"abcd\n", "--json", "--beam", "1")
    whole, wanted = json.loads(whole), json.loads(wanted)
    assert whole.keys() == wanted.keys() and whole["text"] == wanted["text"]
    for name in ("score", "log_probability"):  # random weights find padding as likely as anything else
        assert whole[name] == pytest.approx(wanted[name], rel=0.2)
    cut = ask(fast, b"abcd efgh abcd efgh\n")[1]
    assert "the end of 1 line was not read" in cut


def test_given_translations_are_scored(run: Path, fast: Path, ask: Any) -> None:
    content = b"abcd\tdcba\nhi\t\n\tih\n"
    found, wanted = (ask(model, content, verb="score")[0] for model in (fast, run))
    assert [float(line) for line in found] == pytest.approx([float(line) for line in wanted], rel=1e-3)
    (shown,), _ = ask(fast, b"abcd\tdcba\n", "--json", verb="score")
    assert json.loads(shown)["pieces"] == list("dcba")


def test_it_is_evaluated_on_given_files(run: Path, fast: Path, tmp_path: Path, capsys: Captured) -> None:
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_bytes(b"abcd\nhi\n")
    target.write_bytes(b"dcba\nih\n")
    assert main(["evaluate", str(fast), "--source", str(source), "--target", str(target), "--json"]) == 0
    assert "bleu" in json.loads(capsys.readouterr().out)["metrics"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sample"], "Invalid value for --sample: is for runs, and"),
        (["--prefix", "a"], "Invalid value for --prefix: is for runs, and"),
        (["--on-long", "split"], "is a model for CTranslate2"),
        (["--checkpoint", "last"], "Invalid value for --checkpoint: is for runs, and"),
    ],
)
def test_what_it_does_not_follow_is_refused(
    fast: Path, options: list[str], message: str, capsys: Captured
) -> None:
    assert main(["predict", str(fast), *options]) == 2
    assert message in capsys.readouterr().err


def test_where_ctranslate2_is_missing_it_is_named(
    run: Path, fast: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    for module in (exports, answering):
        monkeypatch.setattr(module, "find_spec", lambda name: None)
    assert main(["export", str(run), str(tmp_path), "--format", "ctranslate2"]) == 1
    install = "pip install 'tf-transformer[ctranslate2]'\n"
    assert capsys.readouterr().err == f"--format ctranslate2 needs ctranslate2: {install}"
    assert main(["predict", str(fast), "--input", sys.executable]) == 1
    assert capsys.readouterr().err == f"{fast / '1'}: needs ctranslate2: {install}"


def test_it_is_not_served_and_not_mixed(run: Path, fast: Path, capsys: Captured) -> None:
    assert main(["serve", str(fast)]) == 1
    assert "is a model for ctranslate2" in capsys.readouterr().err
    assert main(["export", str(run), str(fast)]) == 2
    assert "holds versions for ctranslate2; name another folder for savedmodel" in capsys.readouterr().err
