"""Marian's models as runs: the same ids, the same logits; and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import foreign_models
import numpy as np
import pytest
import sentencepiece

from tf_transformer.build.run import LoadedRun
from tf_transformer.errors import DataError, RunError
from tf_transformer.importing.imported import write_run
from tf_transformer.importing.marian import interleaved, read_marian
from tf_transformer.presets import END_ID, PAD_ID, START_ID, UNKNOWN_ID


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("marian") / "model"


@pytest.fixture(scope="module")
def weights(folder: Path) -> dict[str, np.ndarray]:
    return foreign_models.write_marian(folder)


@pytest.fixture(scope="module")
def run(folder: Path, weights: dict[str, np.ndarray]) -> LoadedRun:
    return write_run(read_marian(folder), folder.parent / "run")


def numbers_of(folder: Path) -> dict[str, int]:
    return json.loads((folder / "vocab.json").read_text())


def ours_of(folder: Path, run: LoadedRun) -> np.ndarray:
    """Our id of each of their rows."""
    tokens, numbers = run.task.preprocessor.source_tokens, numbers_of(folder)
    special = {"<pad>": PAD_ID, "<unk>": UNKNOWN_ID, "</s>": END_ID}
    return np.array([special.get(token, tokens.index(token)) for token in sorted(numbers, key=numbers.get)])


def test_logits_are_those_of_the_formula(
    folder: Path, weights: dict[str, np.ndarray], run: LoadedRun
) -> None:
    ours, pad = ours_of(folder, run), numbers_of(folder)["<pad>"]
    source, target = [7, 3, 9, 11, 2, 0], [pad, 8, 4, 4, 12]
    target_ids = ours[target]
    target_ids[0] = START_ID
    inputs = {"source_ids": np.pad(ours[source], (0, 3))[None], "target_ids": target_ids[None]}
    logits = np.asarray(run.task.model(inputs))[0]
    expected = foreign_models.marian_logits(weights, source, target)
    np.testing.assert_allclose(logits[:, ours], expected, atol=1e-4)
    # What only we have takes nothing of the others' share.
    share = np.exp(logits[:, ours]).sum(-1) / np.exp(logits).sum(-1)
    np.testing.assert_allclose(share, 1.0, atol=1e-6)


def test_text_has_their_ids(folder: Path, run: LoadedRun) -> None:
    ours, numbers = ours_of(folder, run), numbers_of(folder)
    for side in ("source", "target"):
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        encode = getattr(run.task.preprocessor, f"encode_{side}")
        for text in (*foreign_models.TEXTS, "face a xyz"):
            pieces = model.encode(text, out_type=str)
            known = [int(ours[numbers[piece]]) if piece in numbers else None for piece in pieces]
            found = encode([text]).to_list()[0]
            found = found[:-1] if side == "source" else found
            lacking = len(run.task.preprocessor.source_tokens) - 1  # behind all of theirs
            wanted = [
                (lacking if piece in run.task.preprocessor.source_tokens else UNKNOWN_ID)
                if one is None
                else one
                for piece, one in zip(pieces, known, strict=True)
            ]
            assert found == wanted, (side, text)


def test_a_piece_that_is_not_in_their_vocabulary_reads_as_unknown(run: LoadedRun) -> None:
    table = np.asarray(run.task.model.source_embedding.table)
    np.testing.assert_array_equal(table[-1], table[UNKNOWN_ID])


def test_the_run_says_what_it_is_and_answers(folder: Path, run: LoadedRun) -> None:
    assert (run.checkpoint, run.step) == ("step-00000000", 0)
    recipe = run.recipe
    assert (recipe.model.activation, recipe.model.norm, recipe.model.decoder_num_layers) == (
        "swish",
        "post",
        2,
    )
    assert (recipe.decoding.beam, recipe.decoding.length_formula) == (2, "mean")
    assert recipe.data.max_source_length == 29
    answers = run.task.n_best(["a cab", ""], 1, beam_size=1)
    assert answers[1][0].text == ""
    scored = run.task.score(["a cab"], [answers[0][0].text])
    assert np.isfinite(scored[0].log_probability)
    assert run.problem.samples(run.folder)  # for an export, which has no text of its own


def test_a_run_is_never_written_over(folder: Path, run: LoadedRun) -> None:
    with pytest.raises(RunError, match=r"run: is a run already; name another folder"):
        write_run(read_marian(folder), run.folder.path)


def test_order_by_hand() -> None:
    # Of sines 0 1 2 and cosines 3 4 5: sine, cosine, sine, …
    assert interleaved(6).tolist() == [0, 3, 1, 4, 2, 5]
    assert interleaved(5).tolist() == [0, 3, 1, 4, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale_embedding": False}, r"config.json: scale_embedding must be true. Received: false"),
        ({"normalize_before": True}, r"config.json: normalize_before must be false. Received: true"),
        ({"model_type": "bart"}, r'config.json: model_type must be "marian". Received: "bart"'),
        ({"activation_function": "tanh"}, r"activation_function must be one of swish, .*Received: tanh"),
        ({"decoder_vocab_size": 5}, r"config.json: decoder_vocab_size must be vocab_size, 2.*Received: 5"),
        ({"vocab_size": 9}, r"vocab.json: must number 9 pieces from 0, as vocab_size says. Received: 2"),
        ({"d_model": "x"}, r"config.json: d_model must be a whole number. Received: x"),
        ({"encoder_layers": 2}, r"encoder/block_1/.* must have the shape .*Received: none"),
        ({"encoder_layers": 0}, r"model.num_layers: must be"),
    ],
)
def test_what_is_not_here_is_named(
    folder: Path, weights: Any, tmp_path: Path, changes: Any, message: str
) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({**config, **changes}))
    with pytest.raises(Exception, match=message) as error:
        write_run(read_marian(copy), tmp_path / "run")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "run").exists()


def test_pickled_weights_are_refused_with_the_way_out(folder: Path, weights: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "model.safetensors").rename(copy / "pytorch_model.bin")
    with pytest.raises(DataError, match=r"pytorch_model.bin: is a pickle.*safe_serialization=True"):
        read_marian(copy)
    (copy / "pytorch_model.bin").unlink()
    with pytest.raises(DataError, match=r"copy: must hold model.safetensors. Received: no such file"):
        read_marian(copy)
    (copy / "model.safetensors").write_bytes(b"no tensors at all")
    with pytest.raises(DataError, match=r"model.safetensors: must be a file of safetensors"):
        read_marian(copy)


def test_models_of_several_languages_are_refused(folder: Path, weights: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(folder, tmp_path / "copy")
    numbers = numbers_of(copy)
    first = next(token for token, number in numbers.items() if number == 2)
    (copy / "vocab.json").write_text(
        json.dumps({">>fra<<" if t == first else t: n for t, n in numbers.items()})
    )
    with pytest.raises(DataError, match=r"no model of several. Received: >>fra<<"):
        read_marian(copy)
