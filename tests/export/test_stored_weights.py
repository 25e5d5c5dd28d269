"""Weights in fewer bytes: what is stored, what a graph makes of it, and how close that must be."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.export.saved_model import export_saved_model
from tf_transformer.export.stored_weights import StoredWeight, StoredWeights, closeness, rounded
from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.models import Classifier, LanguageModel, Transformer
from tf_transformer.tasks import Generator, TextClassifier
from tf_transformer.tasks.translate import Translator
from tf_transformer.text import ClassificationPreprocessor, LanguagePreprocessor, Normalizer, Preprocessor


def test_each_output_channel_has_a_scale() -> None:
    kernel = np.array([[1.27, -5.08, 0.0], [0.635, 0.06, 0.0]], np.float32)
    values, scales = rounded(kernel, axis=1)
    np.testing.assert_allclose(scales, [[0.01, 0.04, 1.0]], rtol=1e-6)
    # 0.635 / 0.01 is 63.5, which rounds to even or to the nearer float; 0.06 / 0.04 is 1.5.
    assert values.dtype == np.int8 and values[:, 1:].tolist() == [[-127, 0], [2, 0]]
    assert values[0, 0] == 127 and values[1, 0] in (63, 64)
    rows, scales = rounded(kernel, axis=0)
    assert scales.shape == (2, 1) and rows[0].tolist() == [32, -127, 0]


@pytest.mark.parametrize(
    ("kind", "name", "dtype", "error"),
    [
        ("int8", "block/kernel", tf.int8, 1.0 / 127 / 2),
        ("int8", "embedding/table", tf.int8, 1.0 / 127 / 2),
        ("float16", "block/kernel", tf.float16, 2.0**-12),
    ],
)
def test_matrices_are_rounded_and_vectors_are_not(kind: Any, name: str, dtype: Any, error: float) -> None:
    matrix = np.random.default_rng(1).uniform(-1, 1, (7, 5)).astype(np.float32)
    stored = StoredWeight(name, matrix, kind)
    assert stored.value.dtype == dtype and stored.restored().dtype == tf.float32
    assert np.max(np.abs(stored.restored() - matrix)) <= error
    if kind == "int8":
        assert stored.scale.shape == ([7, 1] if name.endswith("table") else [1, 5])
    vector = StoredWeight("block/bias", matrix[0], kind)
    assert vector.value.dtype == tf.float32 and (vector.restored().numpy() == matrix[0]).all()


WORDS = " ".join("abcdefghijklmnop")
TEXTS = ["a b c", "", "p o", "d"]


def small() -> Translator:
    words = Preprocessor.train([WORDS], [WORDS], tokenizer="words")
    sizes = {"num_layers": 1, "hidden_dim": 16, "intermediate_dim": 24, "num_heads": 2}
    model = Transformer(words.target_vocabulary_size, seed=4, **sizes)
    return Translator(model, words, beam_size=2, max_length_margin=3)


def test_a_saved_model_holds_them_and_answers_by_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two of them share a graph of the search, and two have others.
    names = ("ids", "inspect", "score", "serving_default")
    monkeypatch.setattr(Translator, "SIGNATURES", names)
    task = small()
    before = [variable.numpy() for variable in task.model.weights]
    stored = StoredWeights(task.model, "int8")
    fresh = Translator(task.model, task.preprocessor, task.options)
    fresh.weights = stored
    assert fresh.export(tmp_path) == names
    # Writing has left the model as it was.
    for variable, array in zip(task.model.weights, before, strict=True):
        assert (variable.numpy() == array).all()
    kinds = {(tuple(shape), np.dtype(dtype)) for shape, dtype in _variables(tmp_path)}
    matrices = {variable.shape for variable in task.model.weights if len(variable.shape) == 2}
    assert {(tuple(shape), np.dtype(np.int8)) for shape in matrices} <= kinds
    assert not {(tuple(shape), np.dtype(np.float32)) for shape in matrices} & kinds

    stored.round_model()
    signatures = tf.saved_model.load(str(tmp_path)).signatures
    found = signatures["serving_default"](text=tf.constant(TEXTS))
    expected = [one for (one,) in task.n_best(TEXTS, 1)]
    by_ids = signatures["ids"](source_ids=task.encode(TEXTS).to_tensor())
    np.testing.assert_allclose(by_ids["score"], found["score"], rtol=1e-5)
    scored = signatures["score"](text=tf.constant(TEXTS), target=found["text"])
    read = {"target": found["text"], "target_ids": tf.fill([4], ""), "layer": tf.zeros([4], tf.int32)}
    inspected = signatures["inspect"](text=tf.constant(TEXTS), **read)
    by_task = [one.log_probability for one in task.score(TEXTS, [one.text for one in expected])]
    for answer in (scored, inspected):
        np.testing.assert_allclose(answer["log_probability"], by_task, rtol=1e-4, atol=1e-5)
    assert [text.decode() for text in found["text"].numpy()] == [one.text for one in expected]
    np.testing.assert_allclose(
        found["log_probability"], [one.log_probability for one in expected], rtol=1e-4, atol=1e-5
    )
    assert answered_by_tensorflow_1(tmp_path) == [one.text for one in expected]
    unrounded = small().n_best(TEXTS, 1)
    assert abs(unrounded[0][0].log_probability - expected[0].log_probability) > 1e-4  # it shows


def classifier() -> TextClassifier:
    side = ClassificationPreprocessor.train(["abc", "cab"], ["yes", "no"], "characters", 9)
    embedding = TextEmbedding(side.vocabulary_size, 6, seed=3)
    return TextClassifier(Classifier(2, embedding, Encoder(1, 3, 7, seed=5), seed=7), side)


def test_an_export_of_rounded_weights_says_how_close_it_is(tmp_path: Path) -> None:
    task = classifier()
    options: dict[str, Any] = {"samples": ["abc", "b a"], "facts": {}, "weights": "int8"}
    version, manifest = export_saved_model(
        task, tmp_path / "out", fresh=lambda: TextClassifier(task.model, task.preprocessor), **options
    )
    moved = manifest.verification["rounding"]
    assert manifest.weights == "int8" and manifest.verification["equal"] is True
    assert 0.0 < moved["mean"] <= moved["greatest"] < 0.1 == moved["tolerance"]
    types = {np.dtype(dtype) for _, dtype in _variables(version)}
    assert np.dtype(np.int8) in types
    whole = np.array([one.probabilities for one in classifier().answers(["abc", "b a"])])
    rounded_ones = np.array([one.probabilities for one in task.answers(["abc", "b a"])])
    assert np.abs(rounded_ones - whole).max() == pytest.approx(moved["greatest"], abs=1e-6)
    with pytest.raises(ValueError, match=r"`fresh` must be given for other weights .* Received: int8"):
        export_saved_model(task, tmp_path / "other", **options)
    assert not (tmp_path / "other").exists()


def test_a_generator_goes_on_by_stored_weights(tmp_path: Path) -> None:
    side = LanguagePreprocessor.train(["abc\n "], normalizer=Normalizer(keep="all"))
    sizes = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
    model = LanguageModel(side.vocabulary_size, **sizes, seed=7)
    task, fresh = (Generator(model, side, window=7, max_length=9) for _ in range(2))
    fresh.weights = StoredWeights(model, "float16")
    fresh.export(tmp_path)
    fresh.weights.round_model()
    found = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](text=tf.constant(["ab", ""]))
    assert [text.decode() for text in found["text"].numpy()] == task.generate(["ab", ""])
    assert np.dtype(np.float16) in {np.dtype(dtype) for _, dtype in _variables(tmp_path)}


def answered_by_tensorflow_1(folder: Path) -> list[str]:
    """What a session answers, as TensorFlow Serving has one."""
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        saved = v1.saved_model.loader.load(session, ["serve"], str(folder))
        signature = saved.signature_def["serving_default"]
        found = session.run(signature.outputs["text"].name, {signature.inputs["text"].name: TEXTS})
    return [text.decode() for text in found]


def _variables(folder: Path) -> Any:
    reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))
    types = reader.get_variable_to_dtype_map()
    return [
        (shape, types[name].as_numpy_dtype)
        for name, shape in reader.get_variable_to_shape_map().items()
        if types[name] != tf.string
    ]


class Probed:
    """A task whose numbers are known."""

    def __init__(self, *looks: Any) -> None:
        self.looks = iter(looks)

    def probe(self, samples: Any) -> Any:
        return lambda: np.array(next(self.looks))


def test_how_far_it_moves_is_said_or_refused() -> None:
    changed: list[int] = []
    task: Any = Probed([-1.0, -2.0], [-1.25, -2.05])
    with pytest.raises(ExportError, match=r"--weights int8 .* by 0\.1500 in the mean, and at most 0\.1 is"):
        closeness(task, [], lambda: changed.append(1), "int8")
    assert changed == [1]
    task = Probed([-1.0, -2.0], [-1.005, -2.001])
    found = closeness(task, [], lambda: None, "float16")["rounding"]
    assert found["mean"] == pytest.approx(0.003) and found["greatest"] == pytest.approx(0.005)
    with pytest.raises(ExportError, match="by nan in the mean"):
        closeness(Probed([1.0], [np.nan]), [], lambda: None, "int8")  # type: ignore[arg-type]
