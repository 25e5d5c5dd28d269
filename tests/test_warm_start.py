"""Presets of keras_nlp, made here with random weights: what is taken, what is not, and equal outputs."""

import json
import shutil
from pathlib import Path
from typing import Any

import keras_nlp
import numpy as np
import pytest
import trainings

from tf_transformer.checkpoints import CheckpointStore
from tf_transformer.errors import DataError
from tf_transformer.layers import Encoder, PositionalEncoding, TokenEmbedding
from tf_transformer.warm_start import initialize_encoder

RNG = np.random.default_rng(3)
IDS = np.where(np.arange(7) < [[7], [4]], RNG.integers(1, 29, (2, 7)), 0).astype("int32")
SIZES = {"vocabulary_size": 29, "num_layers": 2, "num_heads": 3, "hidden_dim": 12, "intermediate_dim": 17}


def saved(kind: str, folder: Path) -> Any:
    """A backbone whose every weight is random, biases and norms too, and its folder."""
    backbone = getattr(keras_nlp.models, kind)(**SIZES, max_sequence_length=11)
    for weight in backbone.weights:
        weight.assign(RNG.normal(size=weight.shape) * 0.5)
    backbone.save_to_preset(str(folder))
    return backbone


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path]:
    folder = tmp_path_factory.mktemp("bert") / "preset"
    return saved("BertBackbone", folder), folder


def parts(**settings: Any) -> tuple[Encoder, TokenEmbedding, PositionalEncoding]:
    """An encoder of BERT's architecture, and what stands before it."""
    given = {"num_layers": 2, "num_heads": 3, "intermediate_dim": 17, "activation": "gelu_tanh", **settings}
    encoder = Encoder(**given, epsilon=1e-12, name="encoder")
    embedding = TokenEmbedding(29, 12, name="embedding")
    positions = PositionalEncoding(
        "learned", max_length=11, norm_kind="layer", epsilon=1e-12, name="source_positions"
    )
    for part in (encoder, embedding, positions):
        part.build((None, None, 12))
    return encoder, embedding, positions


def states(encoder: Encoder, embedding: TokenEmbedding, positions: PositionalEncoding) -> np.ndarray:
    return np.asarray(encoder(positions(embedding(IDS)), attention_mask=IDS != 0))


def test_a_bert_answers_as_it_did(bert: tuple[Any, Path]) -> None:
    backbone, folder = bert
    encoder, embedding, positions = parts()
    found = initialize_encoder(encoder, folder, embedding=embedding, positions=positions)
    inputs = {"token_ids": IDS, "padding_mask": IDS != 0, "segment_ids": np.zeros_like(IDS)}
    expected = np.asarray(backbone(inputs)["sequence_output"])
    real = IDS != 0
    np.testing.assert_allclose(states(encoder, embedding, positions)[real], expected[real], atol=1e-4)
    assert found.fresh == [] and found.differences == []
    # Two blocks of 16 weights, two tables and a norm; left are the pooler and the other segments.
    assert len(found.taken) == len(set(found.taken)) == 2 * 16 + 2 + 2
    assert {path.split("/")[0] for path in found.left} == {"pooled_dense", "segment_embedding"}
    assert found.to_lines() == [
        "36 weights taken from the preset, 0 fresh",
        "2 weights of the preset left, there is no such weight here: pooled_dense/kernel, pooled_dense/bias",
        "1 weight of the preset left, of segments, only the first has a place, in learned positions: "
        "segment_embedding/embeddings",
    ]


@pytest.mark.parametrize("kind", ["DistilBertBackbone", "RobertaBackbone"])
def test_its_kin_too(kind: str, tmp_path: Path) -> None:
    backbone = saved(kind, tmp_path / "preset")
    made = parts(activation="gelu")
    found = initialize_encoder(made[0], tmp_path / "preset", embedding=made[1], positions=made[2])
    expected = np.asarray(backbone({"token_ids": IDS, "padding_mask": IDS != 0}))
    np.testing.assert_allclose(states(*made)[IDS != 0], expected[IDS != 0], atol=1e-4)
    assert found.fresh == [] and found.differences == [] and found.left == {}


@pytest.mark.parametrize(
    ("settings", "left", "reason", "differences"),
    [
        ({"num_layers": 1}, 16, "the encoder has 1 block", []),
        ({"num_heads": 4}, 2 * 8, "another shape or number of heads", []),
        ({"num_key_value_heads": 1}, 2 * 4, "another shape or number of heads", []),
        ({"intermediate_dim": 13}, 2 * 3, "another shape or number of heads", []),
        (
            {"activation": "swiglu"},
            2 * 4,
            "there is no such weight here",
            ["activation swiglu here, gelu_tanh there"],
        ),
        ({"norm_kind": "rms"}, 2 * 2, "there is no such weight here", ["norm_kind rms here, layer there"]),
        ({"norm": "pre"}, 0, "", ["norm pre here, post there"]),
        ({"positions": "rotary"}, 0, "", ["positions rotary here"]),
        ({"num_layers": 3}, 0, "", []),
    ],
    ids=str,
)
def test_what_does_not_fit_is_left_and_said(
    bert: tuple[Any, Path], settings: dict[str, Any], left: int, reason: str, differences: list[str]
) -> None:
    encoder, *_ = parts(**settings)
    before = {weight.path: weight.numpy() for weight in encoder.weights}
    found = initialize_encoder(encoder, bert[1])
    of_blocks = {path: why for path, why in found.left.items() if path.startswith("transformer_layer")}
    assert len(of_blocks) == left and set(of_blocks.values()) == ({reason} if left else set())
    assert found.differences == differences
    for weight in encoder.trainable_weights:
        changed = bool(np.any(weight.numpy() != before[weight.path]))
        assert changed == (weight.path in found.taken) == (weight.path not in found.fresh), weight.path


def test_rows_of_a_table_are_matched_by_piece(bert: tuple[Any, Path], tmp_path: Path) -> None:
    backbone, folder = bert
    copy = shutil.copytree(folder, tmp_path / "preset")
    names = ["[PAD]", *(f"p{row}" for row in range(1, 26)), "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = copy / "assets" / "tokenizer" / "vocabulary.txt"
    vocabulary.parent.mkdir(parents=True)
    vocabulary.write_text("\n".join(names) + "\n", encoding="utf-8")
    embedding = TokenEmbedding(7, 12)
    embedding.build()
    before = embedding.table.numpy()
    pieces = ["<pad>", "<unk>", "<s>", "</s>", "p7", "nowhere", "p3"]
    encoder, _, positions = parts()
    found = initialize_encoder(encoder, copy, embedding=embedding, positions=positions, pieces=pieces)
    theirs = np.asarray(backbone.token_embedding.embeddings)[[0, 26, 27, 28, 7, 0, 3]] / np.sqrt(12)
    theirs[5] = before[5]
    np.testing.assert_allclose(embedding.table.numpy(), theirs, rtol=1e-6)
    assert found.differences == ["1 piece of 7 not in its vocabulary, and so fresh"]
    # Without pieces a table of another size says nothing about which row is which.
    embedding.table.assign(before)
    found = initialize_encoder(encoder, copy, embedding=embedding)
    assert found.left["token_embedding/embeddings"] == "another shape, and no pieces to match rows by"
    np.testing.assert_array_equal(embedding.table.numpy(), before)


def test_longer_positions_stay_fresh_at_the_end(bert: tuple[Any, Path]) -> None:
    backbone, folder = bert
    encoder, _, _ = parts()
    positions = PositionalEncoding("learned", max_length=13)
    positions.build((None, None, 12))
    before = positions.table.numpy()
    found = initialize_encoder(encoder, folder, positions=positions)
    rows = np.asarray(backbone.position_embedding.position_embeddings)
    segment = np.asarray(backbone.segment_embedding.embeddings)[0]
    np.testing.assert_allclose(
        positions.table.numpy(), np.concatenate([rows + segment, before[11:]]), rtol=1e-6
    )
    assert found.differences == ["positions from 11 on are fresh"]
    assert found.left["embeddings_layer_norm/gamma"] == "there is no such weight here"


def test_what_is_no_preset_is_refused(bert: tuple[Any, Path], tmp_path: Path) -> None:
    encoder, *_ = parts()

    def refused(message: str) -> None:
        with pytest.raises(DataError, match=message):
            initialize_encoder(encoder, tmp_path)

    refused(r"config\.json: must be the configuration of a keras_nlp preset: FileNotFoundError")
    config = tmp_path / "config.json"
    config.write_text("[]")
    refused(r"config\.json: must be the configuration of a keras_nlp preset: TypeError")
    for name in ("Lambda", "system", "Backbone.from_preset", "Task"):
        config.write_text(json.dumps({"class_name": name, "module": "os", "config": {}}))
        refused(rf"config\.json: must name a backbone of keras_nlp\. Received: '{name}'")
    shutil.copy(bert[1] / "config.json", config)
    refused(r"must hold the weights of the preset, model\.weights\.h5\. Received: none")
    (tmp_path / "model.weights.h5").write_bytes(b"nothing")
    refused(r"model\.weights\.h5: does not fit BertBackbone as config\.json says: ")
    shutil.copy(bert[1] / "model.weights.h5", tmp_path)
    settings = json.loads(config.read_text())
    settings["config"]["hidden_dim"] = 9
    config.write_text(json.dumps(settings))
    refused(r"model\.weights\.h5: does not fit BertBackbone as config\.json says: ")


def test_a_training_begins_with_a_preset_and_does_not_take_it_again(
    reversal: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"num_layers": 2, "num_heads": 2, "hidden_dim": 16, "intermediate_dim": 32}
    backbone = keras_nlp.models.RobertaBackbone(vocabulary_size=5, **sizes, max_sequence_length=7)
    for weight in backbone.weights:
        weight.assign(RNG.normal(size=weight.shape) * 0.3)
    backbone.save_to_preset(str(tmp_path / "preset"))
    settings = (
        *(f"model.{name}={size}" for name, size in sizes.items()),
        "model.norm=post",
        "model.activation=gelu",
        f"model.initialize_encoder_from={tmp_path / 'preset'}",
        "training.precision=float32",
        "training.schedule={name: constant, peak: 0.001}",
        "training.validate_every=9",
        "decoding.beam=1",
    )
    run = tmp_path / "run"
    assert trainings.start(reversal, run, *settings, "training.steps=1", quiet=False) == 0
    told = capsys.readouterr().err
    assert "32 weights taken from the preset, 1 fresh" in told
    assert "1 weight of the preset left, another shape, and no pieces to match rows by" in told
    assert "3 weights of the preset left, there is no such weight here" in told
    weights = CheckpointStore(run / "checkpoints").read("step-00000001").weights
    theirs = backbone.get_layer("transformer_layer_1").weights[0].numpy().reshape(16, 16)
    ours = weights["transformer/encoder/block_1/self_attention/attention/query_kernel"]
    # One update of Adam moves a weight by the rate at most.
    assert 0 < np.abs(ours - theirs).max() < 0.0011
    assert trainings.start(reversal, run, *settings, "training.steps=2", quiet=False) == 0
    assert "taken from the preset" not in capsys.readouterr().err
