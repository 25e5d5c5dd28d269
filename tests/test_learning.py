"""A task that cannot be learnt by copying is learnt, by free decoding."""

import json
from pathlib import Path

import pytest

from tf_transformer.tasks import Translator

TEXTS = ["1 2 3", "7 8 9 0 5", "4 4", "", "2 9 9 2"]


def test_reversal_is_learnt_by_free_decoding(trained_run: Path) -> None:
    metrics = json.loads((trained_run / "results.json").read_text())["metrics"]
    assert metrics["test_exact_match"] > 99.0


def test_unlike_sources_have_unlike_answers_that_end(translator: Translator) -> None:
    best = [hypotheses[0] for hypotheses in translator.n_best(TEXTS)]
    assert [hypothesis.text for hypothesis in best] == [" ".join(text.split()[::-1]) for text in TEXTS]
    assert all(hypothesis.finished for hypothesis in best)
    assert (
        translator.model.settings.tie_embeddings == "all"
    )  # the end is told from the rest by one shared table


def test_an_answer_does_not_depend_on_its_neighbours(translator: Translator) -> None:
    together = translator.n_best(TEXTS)
    for text, found in zip(TEXTS, together, strict=True):
        alone = translator.n_best([text])[0]
        assert [hypothesis.text for hypothesis in found] == [hypothesis.text for hypothesis in alone]
        for ours, theirs in zip(found, alone, strict=True):
            assert ours.score == pytest.approx(theirs.score, abs=1e-4)
