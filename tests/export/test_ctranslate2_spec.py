"""A model written for CTranslate2 says what the model says: each way to build one, by random weights."""

from pathlib import Path
from typing import Any

import ctranslate2
import keras
import numpy as np
import pytest

from tf_transformer.errors import ExportError
from tf_transformer.export.ctranslate2_spec import specification
from tf_transformer.models import Transformer
from tf_transformer.presets import SPECIAL_TOKENS

SOURCE = [*SPECIAL_TOKENS, *(f"s{number}" for number in range(15))]
TARGET = [*SPECIAL_TOKENS, *(f"t{number}" for number in range(19))]
SHARED = {"vocabulary_size": len(TARGET)}
SEPARATE = {"source_vocabulary_size": len(SOURCE), "target_vocabulary_size": len(TARGET)}
MODELS: dict[str, dict[str, Any]] = {
    "as in the paper": SHARED,
    "pre-norm, gated, rotary, grouped, RMS": {
        **SHARED,
        "norm": "pre",
        "norm_kind": "rms",
        "activation": "swiglu",
        "positions": "rotary",
        "num_key_value_heads": 2,
    },
    "deep, own sizes of the decoder, untied, learned positions": {
        **SEPARATE,
        "norm": "deep",
        "activation": "gelu",
        "positions": "learned",
        "max_length": 29,
        "tie_embeddings": "none",
        "decoder_num_layers": 1,
        "decoder_hidden_dim": 24,
        "decoder_intermediate_dim": 11,
        "decoder_num_heads": 2,
    },
    "relative, multi-query, shared layers": {
        **SEPARATE,
        "norm": "pre",
        "activation": "gelu_tanh",
        "positions": "relative",
        "max_distance": 3,
        "num_key_value_heads": 1,
        "share_layers": True,
    },
    "index, a norm of embeddings": {**SHARED, "positions": "index", "embedding_norm": True},
    "timescale, swish, a bias of logits": {
        **SHARED,
        "positions": "timescale",
        "activation": "swish",
        "output_bias": True,
    },
    "no positions, tied output": {**SHARED, "positions": "none", "tie_embeddings": "output"},
}


def random_model(**sizes: Any) -> Transformer:
    usual = {"num_layers": 2, "hidden_dim": 16, "intermediate_dim": 20, "num_heads": 4, "seed": 3}
    model = Transformer(**{**usual, **sizes})
    draw = np.random.default_rng(7)
    for variable in model.weights:  # biases and norms, too, are none of their first values
        variable.assign(variable.numpy() + draw.normal(0, 0.3, variable.shape).astype("float32"))
    return model


def engine_of(model: Transformer, folder: Path, source: list[str]) -> ctranslate2.Translator:
    spec = specification(model, source, TARGET, (32, 32))
    spec.validate()
    spec.optimize()
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder), intra_threads=1)


@pytest.mark.parametrize("sizes", MODELS.values(), ids=MODELS)
def test_probabilities_and_greedy_answers_are_those_of_the_model(
    sizes: dict[str, Any], tmp_path: Path
) -> None:
    model, draw = random_model(**sizes), np.random.default_rng(2)
    names = SOURCE if "source_vocabulary_size" in sizes else TARGET
    sources = [draw.integers(4, 19, length).tolist() for length in (5, 1, 9)]
    targets = [draw.integers(4, 23, length).tolist() for length in (4, 11, 2)]
    source_ids, target_ids = np.zeros((3, 10), "int32"), np.zeros((3, 12), "int32")
    for row, (source, target) in enumerate(zip(sources, targets, strict=True)):
        source_ids[row, : len(source) + 1] = [*source, 3]
        target_ids[row, : len(target) + 1] = [2, *target]
    engine = engine_of(model, tmp_path, names)
    words = [[names[one] for one in source] for source in sources]

    logits = model({"source_ids": source_ids, "target_ids": target_ids})
    logs = keras.ops.convert_to_numpy(keras.ops.log_softmax(logits))
    found = engine.score_batch(words, [[TARGET[one] for one in target] for target in targets])
    for row, target in enumerate(targets):
        expected = [logs[row, place, one] for place, one in enumerate([*target, 3])]
        np.testing.assert_allclose(found[row].log_probs, expected, atol=2e-5)

    # Step by step through its cache; the same prefix, so that the model need not be stepped here.
    how = {"max_decoding_length": 7, "min_decoding_length": 0, "return_end_token": True}
    greedy = engine.translate_batch(words, beam_size=1, **how)
    said = [[TARGET.index(piece) for piece in one.hypotheses[0]] for one in greedy]
    for row, answer in enumerate(said):
        target_ids[row] = 0
        target_ids[row, : len(answer)] = [2, *answer[:-1]]
    best = np.argmax(model({"source_ids": source_ids, "target_ids": target_ids}), axis=-1)
    assert said == [best[row, : len(answer)].tolist() for row, answer in enumerate(said)]


def test_what_is_there_once_is_written_once(tmp_path: Path) -> None:
    once, twice = random_model(**SHARED, share_layers=True), random_model(**SHARED)
    for number, model in enumerate((once, twice)):
        (tmp_path / str(number)).mkdir()
        engine_of(model, tmp_path / str(number), TARGET)
    sizes = [(tmp_path / str(number) / "model.bin").stat().st_size for number in range(2)]
    layers = sum(one.numpy().size for one in twice.weights if "block_1/" in one.path)
    assert abs(sizes[1] - sizes[0] - 4 * layers) < 0.1 * sizes[0]
    vocabularies = {path.name for path in (tmp_path / "0").iterdir()}
    assert vocabularies == {"model.bin", "config.json", "shared_vocabulary.json"}


def test_what_it_has_no_form_for_is_named() -> None:
    with pytest.raises(ExportError, match=r"^model\.positions: CTranslate2 has no alibi in encoders; export"):
        specification(random_model(**SHARED, positions="alibi"), TARGET, TARGET, (9, 9))
