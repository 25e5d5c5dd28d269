"""What counts as the same answer, and what stops an export."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.errors import ExportError
from tf_transformer.export import verification
from tf_transformer.export.verification import run_clean, verify
from tf_transformer.tasks import Hypothesis
from tf_transformer.tasks.translation_trial import ODD_TEXTS, translation_trial


class Task:
    """Knows two answers to everything."""

    def n_best(self, texts: list[str]) -> list[list[Hypothesis]]:
        return [
            [Hypothesis(f"{text}!", -1.0, -2.0, True), Hypothesis(f"{text}?", -1.5, -3.0, True)]
            for text in texts
        ]


Answer = tuple[list[str], list[float]]


def answering(monkeypatch: pytest.MonkeyPatch, **odd: Answer) -> list[Any]:
    """A clean process that answers as the task does, but for the texts in ``odd``."""
    seen: list[Any] = []

    def hypotheses(text: str) -> Answer:
        return odd.get(text, ([f"{text}!", f"{text}?"], [-1.0, -1.5]))

    def clean(folder: Path, calls: list[dict[str, Any]], modules: Any) -> dict[str, Any]:
        seen.append((folder, calls, modules))
        best, all_of_them = calls
        rows = [[hypotheses(text) for text in batch["text"]] for batch in best["batches"]]
        first = [{"text": [t[0] for t, _ in row], "score": [s[0] for _, s in row]} for row in rows]
        (given,) = all_of_them["batches"]
        second = [{"text": [], "score": [hypotheses(text)[1] for text in given["text"]]}]
        return {"answers": [first, second], "custom_ops": ["Odd"]}

    monkeypatch.setattr(verification, "run_clean", clean)
    return seen


def check(*samples: str) -> verification.Report:
    return verify(Path("somewhere"), translation_trial(Task(), samples), ["module"])


def test_equal_answers_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = answering(monkeypatch)
    report = check("one", "two", "three")
    assert report.custom_ops == ["Odd"]
    ((folder, calls, modules),) = seen
    assert (folder, modules) == (Path("somewhere"), ["module"])
    texts = ["one", "two", "three", *ODD_TEXTS]
    together, *alone = calls[0]["batches"]
    assert together == {"text": texts} and "" in texts
    assert alone == [{"text": [text]} for text in texts[::2]]
    assert report.summary == {"sentences": 8, "alone": 4, "equal": True}


def test_another_answer_is_named_with_both(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, two=(["wrong", "two?"], [-1.0, -1.5]))
    rule = r"answers differently, so it was not kept: 'two' gives 'two!' \(-1\.0000\) in the run and 'wrong'"
    with pytest.raises(ExportError, match=rule):
        check("one", "two")


def test_a_worse_answer_of_the_same_beam_is_another_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, two=(["two?", "two!"], [-1.5, -1.0]))
    with pytest.raises(ExportError, match="'two' gives 'two!'"):
        check("two")


def test_scores_may_differ_by_rounding_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    answering(monkeypatch, two=(["two!", "two?"], [-1.0005, -1.4995]))
    check("two")
    answering(monkeypatch, two=(["two!", "two?"], [-1.1, -1.5]))
    with pytest.raises(ExportError, match="answers differently"):
        check("two")
    answering(monkeypatch, two=(["two!", "two?"], [-1.0, -1.6]))
    rule = r"scores differently, .*: 'two' has -1\.5000 at rank 2 in the run and -1\.6000 in the export"
    with pytest.raises(ExportError, match=rule):
        check("two")


def test_either_of_two_equal_answers_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def tied(self: Task, texts: list[str]) -> list[list[Hypothesis]]:
        return [[Hypothesis(f"{text}{end}", -1.0, -2.0, True) for end in "!?"] for text in texts]

    monkeypatch.setattr(Task, "n_best", tied)
    answers = {text: ([f"{text}?", f"{text}!"], [-1.0, -1.0]) for text in ("two", *ODD_TEXTS)}
    answering(monkeypatch, **answers)
    check("two")


def test_places_without_a_hypothesis_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    def lone(self: Task, texts: list[str]) -> list[list[Hypothesis]]:
        nothing = Hypothesis("", -math.inf, -math.inf, False)
        return [[Hypothesis(f"{text}!", -1.0, -2.0, True), nothing] for text in texts]

    monkeypatch.setattr(Task, "n_best", lone)
    answers = {text: ([f"{text}!", ""], [-1.0, -math.inf]) for text in ("two", *ODD_TEXTS)}
    answering(monkeypatch, **answers)
    check("two")


CALLS = [{"signature": "n_best", "batches": [{"text": ["日本"], "image": [b"\xff"]}]}]


def test_a_clean_process_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Any] = []

    def failed(command: list[str], **options: Any) -> Any:
        started.append((command, json.loads(options["input"])))
        return subprocess.CompletedProcess(command, 1, "", "Traceback\nNotFoundError: Op type Odd\n\n")

    monkeypatch.setattr(subprocess, "run", failed)
    rule = "does not run in a clean process: NotFoundError: Op type Odd$"
    with pytest.raises(ExportError, match=rule):
        run_clean(Path("here"), CALLS, ["tensorflow_text"])
    ((command, request),) = started
    assert command[1] == "-I"  # neither the current folder nor PYTHONPATH shows it the package
    assert request == {
        "folder": "here",
        "modules": ["tensorflow_text"],
        # Bytes, of an image say, are written as TensorFlow Serving takes them.
        "calls": [{"signature": "n_best", "batches": [{"text": ["日本"], "image": [{"b64": "/w=="}]}]}],
    }
