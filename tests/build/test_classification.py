"""Classifiers of every kind of example get every key of their recipe's encoder."""

from pathlib import Path
from typing import Any

import keras_nlp
import numpy as np
import pytest

from tf_transformer.build import Problem, problem_of
from tf_transformer.checkpoints import CheckpointStore, Index
from tf_transformer.errors import DataError
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder

RNG = np.random.default_rng(1)
BLOCKS = (
    "model.num_layers=3",
    "model.hidden_dim=12",
    "model.intermediate_dim=10",
    "model.num_heads=6",
    "model.num_key_value_heads=2",
    "model.share_layers=true",
    "model.activation=swiglu",
    "model.norm=deep",
    "model.norm_kind=rms",
    "model.dropout=0.2",
    "model.attention_dropout=0.3",
    "model.activation_dropout=0.4",
)


def of_text(folder: Path, *overrides: str) -> Problem[Any]:
    (folder / "data.tsv").write_text("text\tlabel\none two\tup\nthree\tdown\n")
    return written(folder, "classify_text", "data.tsv", "table", "text.tokenizer=words", *overrides)


def of_pictures(folder: Path, *overrides: str) -> Problem[Any]:
    pictures = RNG.integers(0, 255, (2, 8, 8), "uint8")
    np.savez(folder / "data.npz", images=pictures, labels=["up", "down"])
    return written(folder, "classify_images", "data.npz", "arrays", *overrides)


def of_vectors(folder: Path, *overrides: str) -> Problem[Any]:
    np.savez(folder / "data.npz", vectors=RNG.normal(size=(2, 5, 3)), labels=["up", "down"])
    return written(folder, "classify_vectors", "data.npz", "arrays", *overrides)


def written(folder: Path, task: str, file: str, kind: str, *overrides: str) -> Problem[Any]:
    path = folder / "recipe.yaml"
    entry = f"{{{kind}: {file}}}"
    path.write_text(f"task: {task}\ndata: {{train: {entry}, dev: {entry}}}\ntraining: {{steps: 5}}\n")
    return problem_of(load_recipe(path, [*BLOCKS, *overrides]))


def model_of(found: Problem[Any]) -> Any:
    return found.model(found.make_side(found.read()), "float32")


@pytest.mark.parametrize("made", [of_text, of_pictures, of_vectors])
def test_every_key_of_the_encoder_arrives(tmp_path: Path, made: Any) -> None:
    encoder = model_of(made(tmp_path)).encoder
    settings = encoder.settings
    assert settings.num_heads == 6 and settings.num_key_value_heads == 2
    assert settings.intermediate_dim == 10 and settings.activation == "swiglu"
    assert settings.norm == "post" and settings.norm_kind == "rms"
    assert settings.residual_scale == pytest.approx(6**0.25)  # alpha of three layers by themselves
    assert settings.dropout == 0.2
    assert settings.attention_dropout == 0.3 and settings.activation_dropout == 0.4
    assert len({id(block) for block in encoder.blocks}) == 1 and encoder.num_layers == 3


@pytest.mark.parametrize("made", [of_text, of_vectors])
@pytest.mark.parametrize("positions", ["relative", "rotary", "alibi", "learned"])
def test_positions_and_the_first_norm_arrive(tmp_path: Path, made: Any, positions: str) -> None:
    model = model_of(made(tmp_path, f"model.positions={positions}", "model.embedding_norm=true"))
    assert model.encoder.settings.positions == positions
    assert model.embedding.positions == positions and model.embedding.norm_kind == "rms"
    assert model.embedding.dropout == 0.2
    added = any("positions/table" in weight.path for weight in model.weights)
    assert added == (positions == "learned")
    assert any("positions/norm" in weight.path for weight in model.weights)


def test_a_text_encoder_begins_with_a_preset(tmp_path: Path) -> None:
    sizes = {"num_layers": 1, "num_heads": 2, "hidden_dim": 8, "intermediate_dim": 16}
    found = of_text(tmp_path)  # for its pieces
    side = found.make_side(found.read())
    backbone = keras_nlp.models.BertBackbone(side.vocabulary_size, **sizes, max_sequence_length=9)
    for weight in backbone.weights:
        weight.assign(RNG.normal(size=weight.shape))
    backbone.save_to_preset(str(tmp_path / "preset"))
    found = of_text(
        tmp_path,
        *(f"model.{name}={size}" for name, size in sizes.items()),
        *("model.num_key_value_heads=null", "model.norm=post", "model.norm_kind=layer"),
        *("model.activation=gelu", "model.positions=learned", "model.embedding_norm=true"),
        f"model.initialize_encoder_from={tmp_path / 'preset'}",
        "data.max_text_length=9",
    )
    model = found.model(side, "float32")
    lines = list(found.first_weights(model, side))
    assert "0 fresh" in lines[0], lines
    theirs = np.array(backbone.token_embedding.embeddings) / 8**0.5  # ours are multiplied by it again
    np.testing.assert_allclose(model.embedding.tokens.table, theirs, rtol=1e-6)
    query = backbone.get_layer("transformer_layer_0").weights[0].numpy().reshape(8, 8)
    (ours,) = (weight for weight in model.encoder.weights if weight.path.endswith("query_kernel"))
    np.testing.assert_array_equal(ours, query)


def test_long_sequences_are_cut_in_training_too(tmp_path: Path) -> None:
    found = of_vectors(tmp_path, "data.max_length=3")
    values = np.load(tmp_path / "data.npz")["vectors"][:, :3].astype("float32")  # of 5
    examples = found.read()
    side = found.make_side(examples)
    np.testing.assert_allclose(side.mean, values.mean(axis=(0, 1)), atol=1e-6)
    encoded = found.encode(examples, side)
    assert encoded.lengths["vectors"].tolist() == [3, 3]
    np.testing.assert_array_equal(encoded.columns["vectors"].to_tensor(), values)
    assert any("cut to 3 vectors: 2" in line for line in encoded.reports[0].to_lines())


def test_training_data_of_a_run_that_goes_on_has_no_new_labels(tmp_path: Path) -> None:
    found = of_text(tmp_path)
    side = found.make_side(found.read())
    (tmp_path / "data.tsv").write_text("text\tlabel\none two\tup\nthree\tleft\n")
    message = (
        r"data\.tsv, line 3: the label must be one that the run began with: down, up\. Received: 'left'\. "
        "Correct it, or begin anew"
    )
    with pytest.raises(DataError, match=message):
        found.encode(found.read(), side)
    found = of_vectors(tmp_path)
    side = found.make_side(found.read())
    np.savez(tmp_path / "data.npz", vectors=np.ones((2, 5, 3)), labels=["left", "down"])
    with pytest.raises(DataError, match=r"data\.npz, row 1: the label must be one that the run began with"):
        found.encode(found.read(), side)


def test_training_data_of_a_run_that_goes_on_has_its_form(tmp_path: Path) -> None:
    found = of_pictures(tmp_path)
    side = found.make_side(found.read())
    np.savez(tmp_path / "data.npz", images=np.zeros((2, 8, 12), "uint8"), labels=["up", "down"])
    with pytest.raises(DataError, match=r"data\.npz: a picture is 8 x 12 pixels .* not 8 x 8"):
        found.encode(found.read(), side)


@pytest.mark.parametrize("made", [of_text, of_pictures, of_vectors])
def test_other_classes_have_a_fresh_head_on_the_encoder_of_a_run(tmp_path: Path, made: Any) -> None:
    found = made(tmp_path)
    side = found.make_side(found.read())
    model = found.model(side, "float32")
    for weight in model.weights:
        weight.assign(np.full(weight.shape, 0.5))
    run = RunFolder(tmp_path / "run")
    run.create(found.recipe)
    side.save(run.tokenizer)
    store = CheckpointStore(run.checkpoints)
    weights = {weight.path: weight.numpy() for weight in model.weights}
    store.write("step-00000003", weights, state={"step": 3})
    store.write_index(Index(last=3))

    beginning = f"training.initialize_from={run.path}"
    same = made(tmp_path, beginning)
    side = same.make_side(same.read())
    lines = list(same.first_weights(same.model(side, "float32"), side))
    assert len(lines) == 1 and lines[0].startswith(f"begins from {store.folder}/step-00000003, of 3 updates")

    third = {name: "left" if name == "down" else name for name in ("up", "down")}
    other = made(tmp_path, beginning)
    examples = other.read()
    for corpus in examples.train:
        column = corpus.columns["label"] if hasattr(corpus, "columns") else corpus.labels
        column[:] = [third[name] for name in column]
    side = other.make_side(examples)
    model = other.model(side, "float32")
    *_, line = other.first_weights(model, side)
    assert line.startswith("2 weights fresh, since the run's do not fit: classifier/head/kernel")
    whole = {weight.path: bool((weight.numpy() == 0.5).all()) for weight in model.weights}
    assert {path for path, same in whole.items() if not same} == {
        "classifier/head/kernel",
        "classifier/head/bias",
    }
