"""An export counts only when a process without this package gives the same answers."""

import base64
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
from tf_transformer.tasks.task import Trial


@dataclass(frozen=True)
class Report:
    """What the clean process found."""

    custom_ops: list[str]
    summary: dict[str, Any]


def verify(folder: Path, trial: Trial, modules: Sequence[str]) -> Report:
    """Tries a saved model in a process that knows nothing of this package.

    Args:
        folder: The SavedModel.
        trial: What is called, and what it must give.
        modules: Python modules that its ops come from.

    Raises:
        ExportError: When the model does not load or an answer differs; names the example and both answers.
    """
    calls = [{"signature": call.signature, "batches": list(call.batches)} for call in trial.calls]
    outcome = run_clean(folder, calls, modules)
    for call, answers in zip(trial.calls, outcome["answers"], strict=True):
        for inputs, answer in zip(call.batches, answers, strict=True):
            call.check(inputs, answer)
    return Report(outcome["custom_ops"], {**trial.summary, "equal": True})


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
            input=json.dumps(request, default=_encoded),
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


def _encoded(value: Any) -> dict[str, str]:
    """Bytes as JSON has them, in the form of TensorFlow Serving."""
    return {"b64": base64.b64encode(value).decode("ascii")}
