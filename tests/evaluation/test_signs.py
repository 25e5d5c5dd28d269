"""What is certainly wrong with a batch, or with a model."""

from typing import Any

import numpy as np
import pytest
from keras import ops

from tf_transformer.evaluation.signs import batch_signs, mask_sign
from tf_transformer.models import LanguageModel, Transformer, language_model, transformer

SIZES: dict[str, Any] = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 7, "num_heads": 2, "seed": 3}
PIECES = np.array([[5, 7, 6, 9, 3, 0, 0], [8, 4, 10, 3, 0, 0, 0]], np.int32)
INPUTS = {
    "source_ids": np.array([[4, 5, 3], [6, 3, 0]], np.int32),
    "target_ids": np.array([[2, 5, 7, 6, 9, 0, 0], [2, 8, 4, 10, 0, 0, 0]], np.int32),
}


def models() -> list[Any]:
    return [Transformer(11, **SIZES), LanguageModel(11, **SIZES)]


def told(inputs: Any, labels: Any) -> list[str]:
    return [f"{sign.name}: {sign.line}" for sign in batch_signs(models()[0], inputs, labels)]


def test_a_right_batch_and_a_right_model_have_no_sign() -> None:
    assert told(INPUTS, PIECES) == []
    prompts = np.where(np.arange(7) < 2, 0, PIECES)  # labels of a beginning that do not count
    assert told(INPUTS, prompts) == []
    for model in models():
        assert mask_sign(model, INPUTS, PIECES) is None


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.zeros_like(PIECES), "labels: no label counts: all of them are padding"),
        (INPUTS["target_ids"], "They are the inputs at their own place: there is no shift, and copying"),
        (np.roll(PIECES, -1, axis=1), "They are the inputs two places on: the shift is made twice"),
        (
            np.concatenate([np.zeros((2, 1), np.int32), INPUTS["target_ids"][:, :-1]], axis=1),
            "They are the inputs before theirs: the shift goes the wrong way",
        ),
        (PIECES[:, ::-1].copy(), "They are others than the pieces that the inputs go on with"),
    ],
)  # fmt: skip
def test_labels_that_are_not_the_next_inputs_are_told(labels: Any, words: str) -> None:
    (line,) = told(INPUTS, labels)
    assert words in line


def test_a_missing_mask_is_seen_before_anything_is_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    def everything(length: Any, past: Any = 0) -> Any:
        return ops.ones((1, 1, length, past + length), "bool")

    for module in (transformer, language_model):
        monkeypatch.setattr(module, "causal_mask", everything)
    for model in models():
        sign = mask_sign(model, INPUTS, PIECES)
        assert sign is not None and sign.name == "mask"
        assert sign.line.endswith("it is to predict. The causal mask of the target is missing")


def test_where_no_pieces_are_predicted_there_is_nothing_to_compare() -> None:
    class Counting:
        COUNTS = ("examples",)

        def counts(self, inputs: Any, labels: Any) -> dict[str, int]:
            return {"examples": int((labels >= 0).sum())}

    inputs = {"points": np.ones((3, 2))}
    assert list(batch_signs(Counting(), inputs, np.array([0, 1, -1]))) == []
    assert mask_sign(None, inputs, np.array([0, 1, 1])) is None
    assert [sign.name for sign in batch_signs(Counting(), inputs, np.array([-1, -1]))] == ["labels"]
    short = {"target_ids": np.array([[2, 0]])}
    assert mask_sign(None, short, np.array([[3, 0]])) is None
