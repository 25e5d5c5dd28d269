"""A training that begins from a run with another vocabulary: what it is told, keeps and answers."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from trainings import events, start

from tf_transformer.build import load_run
from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import RecipeError


@pytest.fixture
def keys(trained_run: Path, reversal: Path, tmp_path: Path) -> list[str]:
    """A single update, at next to no rate, of that run with three more words in its data."""
    more = tmp_path / "more.tsv"
    more.write_text("source\ttarget\n1 ten\tten 1\neleven ten\tten eleven\n2 twelve 3\t3 twelve 2\n")
    return [
        f"training.initialize_from={trained_run}",
        f"data.train=[{{table: {reversal.parent / 'train.tsv'}}}, {{table: {more}}}]",
        "training.schedule={name: constant, peak: 1.0e-9, warmup_steps: 1}",
        "training.steps=1",
    ]


def tables(run: Path, name: str) -> np.ndarray[Any, Any]:
    weights = CheckpointStore(run / "checkpoints").read(name).weights
    return next(array for path, array in weights.items() if path.endswith("embedding/table"))


def test_a_run_with_more_pieces_answers_as_before(
    trained_run: Path,
    translator: Any,
    reversal: Path,
    keys: list[str],
    reversal_pairs: list[tuple[str, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, best = tmp_path / "run", CheckpointStore(trained_run / "checkpoints").resolve("best")
    keys.append("text={update: merge, vocabulary_size: 17}")
    assert start(reversal, run, *keys, quiet=False) == 0
    told = capsys.readouterr().err
    # Twelve is there twice in all, as is eleven; ten four times.
    line = "14 pieces kept, 3 new, 0 lost: ten (<unk>), eleven (<unk>), twelve (<unk>)"
    assert f"vocabulary: {line}" in told
    assert "pieces a row of more: source" in told
    assert any(line in event["detail"] for event in events(run) if event["event"] == "vocabulary updated")
    old, new = tables(trained_run, best), tables(run, "step-00000001")
    assert old.shape[0] == 14 and new.shape[0] == 17
    np.testing.assert_allclose(new[:14], old, atol=1e-6)  # one update, at next to no rate

    loaded = load_run(run)
    assert loaded.task.side.source_tokenizer.tokens[14:] == ["ten", "eleven", "twelve"]
    sources = [source for source, _ in reversal_pairs[:40]]
    assert loaded.task.translate(sources) == translator.translate(sources)
    assert start(reversal, run, *keys) == 0  # is complete: nothing is made anew


def test_too_few_pieces_are_refused_before_anything_is_written(
    reversal: Path, keys: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RecipeError, match=r"text\.vocabulary_size: must be more than 14, the pieces of "):
        start(reversal, tmp_path / "run", *keys, "text={update: merge, vocabulary_size: 14}")
    assert not (tmp_path / "run" / "recipe.yaml").exists()
