"""A task that cannot be learnt by copying is learnt, by free decoding."""

import json
from pathlib import Path

from tf_transformer.build import load_run


def test_reversal_is_learnt_by_free_decoding(trained_run: Path) -> None:
    metrics = json.loads((trained_run / "results.json").read_text())["metrics"]
    assert metrics["test_exact_match"] > 99.0


def test_unlike_sources_have_unlike_answers(trained_run: Path) -> None:
    answers = load_run(trained_run).task.translate(["1 2 3", "7 8 9 0", "4 4"])
    assert answers == ["3 2 1", "0 9 8 7", "4 4"]
