"""Each task served: REST, gRPC and the task itself give the same answers, to many clients at once too."""

import base64
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from shapes import SHAPES, pictures
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc
from toy_server import Running, running

from tf_transformer.data.example_preprocessor import ImagePreprocessor, VectorPreprocessor
from tf_transformer.data.image_form import ImageForm
from tf_transformer.export.loading import load_export
from tf_transformer.layers import Encoder, TextEmbedding
from tf_transformer.layers.patches import PatchEmbedding
from tf_transformer.layers.vectors import VectorEmbedding
from tf_transformer.manifest import Manifest, file_sizes, write_manifest
from tf_transformer.models import Classifier, LanguageModel
from tf_transformer.tasks import Generator, TextClassifier
from tf_transformer.tasks.classify_images import ImageClassifier
from tf_transformer.tasks.classify_vectors import VectorClassifier, padded
from tf_transformer.text import ClassificationPreprocessor, Labels, LanguagePreprocessor


def write_export(task: Any, folder: Path) -> Path:
    """Exports a task; no other process has to verify it here."""
    signatures = task.export(folder / "1")
    facts = {"files": file_sizes(folder / "1"), "verification": {}, **task.manifest_facts()}
    write_manifest(folder / "1", Manifest(task=task.TASK, signatures=signatures, **facts))
    return folder


@contextmanager
def served(folder: Path) -> Iterator[tuple[Running, Any]]:
    """A server, and TensorFlow Serving's own stub of it."""
    with (
        running(folder, name="model", load=load_export) as server,
        grpc.insecure_channel(server.grpc_address) as channel,
    ):
        yield server, prediction_service_pb2_grpc.PredictionServiceStub(channel)


def by_rest(server: Running, instances: Sequence[Any], signature: str = "serving_default") -> Any:
    body = {"instances": list(instances), "signature_name": signature}
    status, found = server.predict(body, "/v1/models/model:predict")
    assert status == 200, found
    return found["predictions"]


def by_grpc(stub: Any, inputs: dict[str, Any], signature: str = "serving_default") -> dict[str, Any]:
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "model", signature
    for name, value in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(value))
    response = stub.Predict(request, timeout=60)
    return {name: tf.make_ndarray(proto).tolist() for name, proto in response.outputs.items()}


def together(count: int, ask: Callable[[int], None]) -> None:
    """Lets clients ask at the same time; each raises what it finds wrong."""
    faults: list[BaseException] = []

    def guarded(place: int) -> None:
        try:
            ask(place)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=guarded, args=(place,)) for place in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []


def test_translation(exported: Any, translator: Any, reversal_pairs: list[tuple[str, str]]) -> None:
    texts = [source for source, _ in reversal_pairs[:23]] + ["", "7 7 7 7 7 7 7"]
    expected = translator.n_best(texts)
    best = [hypotheses[0] for hypotheses in expected]
    with served(exported.folder) as (server, stub):
        rows = by_rest(server, texts)
        columns = by_grpc(stub, {"text": texts})
        assert [row["text"] for row in rows] == [found.text for found in best]
        assert [text.decode() for text in columns["text"]] == [found.text for found in best]
        for name in ("score", "log_probability"):
            wanted = pytest.approx([getattr(found, name) for found in best], rel=1e-3, abs=1e-4)
            assert [row[name] for row in rows] == wanted and columns[name] == wanted
        found = by_rest(server, texts[:3], "n_best")
        assert [row["text"] for row in found] == [[h.text for h in hypotheses] for hypotheses in expected[:3]]

        def ask(place: int) -> None:
            for number in range(place, len(texts), 5):
                (row,) = by_rest(server, [texts[number]])
                assert row["text"] == best[number].text
                (text,) = by_grpc(stub, {"text": [texts[number]]})["text"]
                assert text.decode() == best[number].text

        together(16, ask)


def test_classification_of_text(tmp_path: Path) -> None:
    side = ClassificationPreprocessor.train(["abc", "cab"], ["yes", "no"], "characters", 9)
    embedding = TextEmbedding(side.vocabulary_size, 6, seed=3)
    task = TextClassifier(Classifier(2, embedding, Encoder(1, 3, 7, seed=5), seed=7), side, max_length=9)
    texts = ["abc", "", "c", "abcabcabcabc", "b a"]
    expected = task.answers(texts)
    with served(write_export(task, tmp_path / "model")) as (server, stub):
        rows, columns = by_rest(server, texts), by_grpc(stub, {"text": texts})
        together(8, lambda place: compare(by_rest(server, texts[place % 5 :][:1]), expected[place % 5 :][:1]))
    compare(rows, expected)
    assert [label.decode() for label in columns["label"]] == [answer.label for answer in expected]
    np.testing.assert_allclose(columns["probabilities"], [a.probabilities for a in expected], atol=1e-5)
    assert rows[0]["labels"] == ["no", "yes"]


def compare(rows: Any, expected: Any) -> None:
    assert [row["label"] for row in rows] == [answer.label for answer in expected]
    probabilities = [row["probabilities"] for row in rows]
    np.testing.assert_allclose(probabilities, [answer.probabilities for answer in expected], atol=1e-5)


def test_classification_of_pictures(tmp_path: Path) -> None:
    images, _, _ = pictures(5, seed=1)
    side = ImagePreprocessor(ImageForm(12, 12, 1), Labels(SHAPES), [0.2], [0.3])
    embedding = PatchEmbedding(6, patch_size=4, seed=3)
    task = ImageClassifier(
        Classifier(4, embedding, Encoder(1, 3, 7, seed=5), inputs_shape=(12, 12, 1), seed=7), side
    )
    files = [tf.io.encode_png(image).numpy() for image in images]
    expected = task.answers(files)
    with served(write_export(task, tmp_path / "model")) as (server, stub):
        rows = by_rest(server, [{"b64": base64.b64encode(file).decode()} for file in files])
        columns = by_grpc(stub, {"image": files})
        shares = by_rest(server, [{"b64": base64.b64encode(file).decode()} for file in files], "relevance")
        body = {"instances": [{"b64": base64.b64encode(b"no picture").decode()}]}
        status, refused = server.predict(body, "/v1/models/model:predict")
    compare(rows, expected)
    np.testing.assert_allclose(columns["probabilities"], [a.probabilities for a in expected], atol=1e-5)
    assert status == 400 and "\n" not in refused["error"], refused
    np.testing.assert_allclose(shares, task.relevance(files), atol=1e-5)


def test_classification_of_series(tmp_path: Path) -> None:
    side = VectorPreprocessor(Labels(["a", "b", "c"]), [0.0, 0.1], [1.0, 2.0], 11)
    embedding = VectorEmbedding(6, seed=3, mean=side.mean, deviation=side.deviation)
    task = VectorClassifier(
        Classifier(3, embedding, Encoder(1, 3, 7, seed=5), inputs_shape=(None, 2), seed=7), side
    )
    draw = np.random.default_rng(1)
    series = [draw.normal(size=(length, 2)).astype(np.float32) for length in (3, 7, 5)]
    expected = task.answers(series)
    batch = padded(series)
    with served(write_export(task, tmp_path / "model")) as (server, stub):
        lists = {name: array.tolist() for name, array in batch.items()}
        rows = by_rest(
            server, [dict(zip(lists, row, strict=True)) for row in zip(*lists.values(), strict=True)]
        )
        columns = by_grpc(stub, batch)
    compare(rows, expected)
    np.testing.assert_allclose(columns["probabilities"], [a.probabilities for a in expected], atol=1e-5)


def test_generation_with_options_of_each_text(tmp_path: Path) -> None:
    side = LanguagePreprocessor.train(["abc "], has_end=True)
    sizes = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
    task = Generator(LanguageModel(side.vocabulary_size, **sizes, seed=7), side, window=7, max_length=9)
    prompts, seeds = ["ab", "", "ab"], [3, 4, 5]
    expected = [task.generate([text], seed=seed)[0] for text, seed in zip(prompts, seeds, strict=True)]
    options = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
    asked = [{"text": text, "seed": seed, **options} for text, seed in zip(prompts, seeds, strict=True)]
    with served(write_export(task, tmp_path / "model")) as (server, stub):
        assert [row["text"] for row in by_rest(server, prompts)] == task.generate(prompts)
        assert [row["text"] for row in by_rest(server, asked, "sample")] == expected

        def ask(place: int) -> None:
            assert by_rest(server, [asked[place % 3]], "sample")[0]["text"] == expected[place % 3]

        together(9, ask)
        columns = {name: np.array([row[name] for row in asked]) for name in ("seed", "top_k")}
        inputs = {name: array.astype(np.int32) for name, array in columns.items()} | {"text": prompts}
        inputs |= {name: np.ones(3, np.float32) for name in ("temperature", "top_p")}
        assert [text.decode() for text in by_grpc(stub, inputs, "sample")["text"]] == expected
