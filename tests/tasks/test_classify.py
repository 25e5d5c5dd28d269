"""Text in, label out: order, batches, nothing made up, and the SavedModel of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier
from tf_transformer.tasks import TextClassifier
from tf_transformer.tasks.classification import TOLERANCE
from tf_transformer.text import ClassificationPreprocessor

TEXTS = ["abc", "", "c", "abcabcabcabc", " ", "b a"]


@pytest.fixture(scope="module")
def classifier() -> TextClassifier:
    side = ClassificationPreprocessor.train(["abc", "cab"], ["yes", "no"], "characters", 9)
    embedding = TextEmbedding(side.vocabulary_size, 6, convolutions=[2], seed=3)
    model = Classifier(2, embedding, Encoder(1, 3, 7, seed=5), seed=7)
    return TextClassifier(model, side, max_length=9)


def test_answers_are_in_order_and_nothing_is_made_up(classifier: TextClassifier) -> None:
    answers = classifier.answers(TEXTS)
    assert classifier.labels == ("no", "yes")
    for text, answer in zip(TEXTS, answers, strict=True):
        if not text.strip():
            assert (answer.label, answer.probability, answer.probabilities) == ("", 0.0, (0.0, 0.0))
            continue
        assert answer.label in ("no", "yes") and answer.probability >= 0.5
        assert sum(answer.probabilities) == pytest.approx(1.0)
        alone = classifier.answers([text])[0]
        np.testing.assert_allclose(answer.probabilities, alone.probabilities, atol=1e-5)
    assert classifier.classify(TEXTS) == [answer.label for answer in answers]
    assert classifier.classify([]) == []


def test_a_long_text_loses_its_end_and_is_counted(classifier: TextClassifier) -> None:
    # 7 letters fit beside start and end
    cut, whole = classifier.answers(["abcabcabcabc", "abcabca"])
    np.testing.assert_allclose(cut.probabilities, whole.probabilities, atol=1e-6)
    assert classifier.count_cut(["abcabcabcabc", "abcabca", ""]) == 1
    assert classifier.count_cut([]) == 0


def test_one_string_is_no_list(classifier: TextClassifier) -> None:
    with pytest.raises(TypeError, match="`texts` must be a list of strings"):
        classifier.classify("abc")


def test_the_saved_model(classifier: TextClassifier, tmp_path: Path) -> None:
    assert classifier.export(tmp_path / "model") == ("serving_default",)
    signature = tf.saved_model.load(str(tmp_path / "model")).signatures["serving_default"]
    found = signature(text=tf.constant(TEXTS))
    answers = classifier.answers(TEXTS)
    assert [label.decode() for label in found["label"].numpy()] == [answer.label for answer in answers]
    np.testing.assert_allclose(found["probabilities"], [a.probabilities for a in answers], atol=1e-5)
    assert found["labels"].numpy().tolist() == [[b"no", b"yes"]] * len(TEXTS)
    assert classifier.custom_ops == ()


def test_the_trial_tells_other_answers(classifier: TextClassifier) -> None:
    trial = classifier.trial(["abc"])
    (call,) = trial.calls
    inputs = call.batches[1]
    (text,) = inputs["text"]
    (expected,) = classifier.answers([text])
    same: dict[str, Any] = {"label": [expected.label], "probabilities": [list(expected.probabilities)]}
    call.check(inputs, same)
    shifted = [expected.probabilities[0] + 10 * TOLERANCE, expected.probabilities[1] - 10 * TOLERANCE]
    with pytest.raises(
        ExportError, match="the exported model answers differently, so it was not kept: 'abc'"
    ):
        call.check(inputs, {**same, "probabilities": [shifted]})
    other = "yes" if expected.label == "no" else "no"
    if abs(expected.probabilities[0] - 0.5) > TOLERANCE:
        with pytest.raises(ExportError, match=f"gives '{expected.label}'"):
            call.check(inputs, {**same, "label": [other]})


def test_parts_that_do_not_belong_together(classifier: TextClassifier) -> None:
    side = ClassificationPreprocessor.train(["abc"] * 3, ["a", "b", "c"], "characters", 7)
    with pytest.raises(ValueError, match=r"must have equally many labels: .*Received: 2 and 3"):
        TextClassifier(classifier.model, side)
    larger = ClassificationPreprocessor.train(["abcdef"] * 2, ["a", "b"], "characters", 20)
    with pytest.raises(ValueError, match=r"must have equally many tokens: .*Received: 7 and 10"):
        TextClassifier(classifier.model, larger)
