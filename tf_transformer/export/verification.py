"""An export counts only when a process without this package gives the same answers."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_transformer.errors import ExportError
from tf_transformer.export import clean_process
from tf_transformer.tasks.translate import Hypothesis, Translator

SCORE_TOLERANCE = 1e-3
"""Scores of another batch differ by float32 rounding; the texts must be equal."""
ODD_TEXTS = ("", " ", "a", "</s> <pad>", "?!" * 40)
"""Texts that every export is tried with beside its samples."""


@dataclass(frozen=True)
class Report:
    """What the clean process found."""

    custom_ops: list[str]
    summary: dict[str, Any]


def verify(folder: Path, task: Translator, samples: Sequence[str], modules: Sequence[str]) -> Report:
    """Compares a saved model with the task it was made from, in batches of one and of all.

    Args:
        folder: The SavedModel.
        task: The translator in memory.
        samples: Source sentences to compare on.
        modules: Python modules that its ops come from.

    Raises:
        ExportError: When the model does not load or a translation differs; names the sentence and both.
    """
    texts = [*samples, *ODD_TEXTS]
    alone = texts[: len(texts) : max(1, len(texts) // 4)]
    calls = [
        {"signature": "serving_default", "texts": [texts, *([text] for text in alone)]},
        {"signature": "n_best", "texts": [texts]},
    ]
    outcome = run_clean(folder, calls, modules)
    expected = dict(zip(texts, task.n_best(texts), strict=True))
    batches, n_best = outcome["answers"][0], outcome["answers"][1][0]
    for batch, answer in zip(calls[0]["texts"], batches, strict=True):
        for text, found, score in zip(batch, answer["text"], answer["score"], strict=True):
            _compare(text, expected[text], found, score)
    for text, row in zip(texts, n_best["score"], strict=True):
        _compare_scores(text, expected[text], row)
    summary = {"sentences": len(texts), "alone": len(alone), "equal": True}
    return Report(outcome["custom_ops"], summary)


def run_clean(folder: Path, calls: list[dict[str, Any]], modules: Sequence[str]) -> dict[str, Any]:
    """Runs ``clean_process`` on a SavedModel and returns what it reports.

    Raises:
        ExportError: When that process fails; quotes its last line.
    """
    request = {"folder": str(folder), "modules": list(modules), "calls": calls}
    with tempfile.TemporaryDirectory() as scratch:
        outcome = Path(scratch) / "outcome.json"
        done = subprocess.run(
            # -I keeps the current folder and PYTHONPATH, where the package may lie, out of its sight.
            [sys.executable, "-I", clean_process.__file__, str(outcome)],
            input=json.dumps(request),
            text=True,
            encoding="utf-8",
            capture_output=True,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"},
            check=False,
        )
        if done.returncode != 0:
            last = (done.stderr.strip() or "no message").splitlines()[-1]
            raise ExportError(f"the exported model does not run in a clean process: {last}")
        answers: dict[str, Any] = json.loads(outcome.read_text(encoding="utf-8"))
        return answers


def _close(score: float, other: float) -> bool:
    # Equal infinities, the scores of places without a hypothesis, have no difference.
    return score == other or abs(score - other) <= SCORE_TOLERANCE * max(1.0, abs(other))


def _compare(text: str, expected: Sequence[Hypothesis], found: str, score: float) -> None:
    """The best answer must be the run's; of two that tie within rounding, either is."""
    best = expected[0]
    equals = [hypothesis.text == found and _close(score, hypothesis.score) for hypothesis in expected]
    if not any(equals) or not _close(score, best.score):
        raise ExportError(
            f"the exported model answers differently, so it was not kept: {text!r} gives "
            f"{best.text!r} ({best.score:.4f}) in the run and {found!r} ({score:.4f}) in the export"
        )


def _compare_scores(text: str, expected: Sequence[Hypothesis], scores: Sequence[float]) -> None:
    for rank, (hypothesis, score) in enumerate(zip(expected, scores, strict=True), start=1):
        if not _close(score, hypothesis.score):
            raise ExportError(
                f"the exported model scores differently, so it was not kept: {text!r} has "
                f"{hypothesis.score:.4f} at rank {rank} in the run and {score:.4f} in the export"
            )
