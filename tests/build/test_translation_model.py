"""From a recipe of a translation to a model and a translator."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import Problem, problem_of
from tf_transformer.recipe import load_recipe
from tf_transformer.text import Preprocessor

SMALL = (
    "model.num_layers=1",
    "model.hidden_dim=6",
    "model.intermediate_dim=10",
    "model.num_heads=3",
    "text.tokenizer=words",
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "a.tsv").touch()
    (folder / "recipe.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.5}}\ntraining: {steps: 50}\n"
    )
    return folder / "recipe.yaml"


@pytest.fixture(scope="module")
def preprocessor() -> Preprocessor:
    return Preprocessor.train(["a b c d"], ["x y"], tokenizer="words", shared=False)


def read(path: Path, *overrides: str) -> Problem[Any]:
    return problem_of(load_recipe(path, [*SMALL, *overrides]))


def test_weights_are_drawn_from_the_seed(path: Path, preprocessor: Preprocessor) -> None:
    def weights(*overrides: str) -> list[Any]:
        problem = read(path, "text.shared=false", *overrides)
        return [weight.numpy() for weight in problem.model(preprocessor, "float32").weights]

    first, again, other = weights(), weights(), weights("training.seed=2")
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_every_key_of_the_model_section_arrives(path: Path, preprocessor: Preprocessor) -> None:
    problem = read(
        path,
        "text.shared=false",
        "model.activation=swiglu",
        "model.norm=post",
        "model.positions=learned",
        "model.dropout=0.2",
        "model.attention_dropout=0.3",
        "model.activation_dropout=0.4",
        "model.tie_embeddings=none",
        "model.decoder_num_layers=2",
        "model.decoder_hidden_dim=8",
        "model.decoder_intermediate_dim=7",
        "model.decoder_num_heads=4",
        "model.num_key_value_heads=1",
        "model.share_layers=true",
        "model.norm_kind=rms",
        "model.embedding_norm=true",
        "data.max_source_length=11",
        "data.max_target_length=17",
    )
    config = problem.model(preprocessor, "mixed_bfloat16").get_config()
    wanted = {
        "source_vocabulary_size": 8,
        "target_vocabulary_size": 6,
        "num_layers": 1,
        "hidden_dim": 6,
        "intermediate_dim": 10,
        "num_heads": 3,
        "activation": "swiglu",
        "norm": "post",
        "positions": "learned",
        "dropout": 0.2,
        "attention_dropout": 0.3,
        "activation_dropout": 0.4,
        "tie_embeddings": "none",
        "max_length": 17,  # the longer side
        "decoder_num_layers": 2,
        "decoder_hidden_dim": 8,
        "decoder_intermediate_dim": 7,
        "decoder_num_heads": 4,
        "num_key_value_heads": 1,
        "share_layers": True,
        "norm_kind": "rms",
        "embedding_norm": True,
    }
    assert {name: config[name] for name in wanted} == wanted
    assert "bfloat16" in str(config["dtype"])


def test_distances_that_relative_positions_tell_apart(path: Path, preprocessor: Preprocessor) -> None:
    for override, wanted in (("model.max_distance=3", 3), ("model.max_distance=null", 16)):
        problem = read(path, "text.shared=false", "model.positions=relative", override)
        config = problem.model(preprocessor, "float32").get_config()
        assert (config["positions"], config["max_distance"]) == ("relative", wanted)


def test_the_translator_searches_as_the_recipe_says(path: Path, preprocessor: Preprocessor) -> None:
    problem = read(
        path,
        "text.shared=false",
        "decoding.beam=7",
        "decoding.length_penalty=0.6",
        "decoding.length_formula=gnmt",
        "decoding.max_length_factor=1.5",
        "decoding.max_length_margin=3",
        "data.max_source_length=19",
    )
    task = problem.task(problem.model(preprocessor, "float32"), preprocessor)
    options = task.options
    assert (options.beam_size, options.length_penalty, options.length_formula) == (7, 0.6, "gnmt")
    assert (options.max_length_factor, options.max_length_margin) == (1.5, 3)
    assert task.max_source_length == 19
