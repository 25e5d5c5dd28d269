"""OpenNMT-tf's checkpoints as runs: the same logits; and what is refused."""

from pathlib import Path

import foreign_models
import numpy as np
import pytest

from tf_transformer.cli import main
from tf_transformer.errors import DataError
from tf_transformer.importing.imported import write_run
from tf_transformer.importing.opennmt_tf import read_opennmt_tf
from tf_transformer.importing.opennmt_tf_settings import Settings, read_settings
from tf_transformer.presets import START_ID, UNKNOWN_ID

HEADS = foreign_models.HEADS


def settings_of(folder: Path, heads: int | None = HEADS) -> Settings:
    return read_settings(folder / "data.yml", (folder / "sp.model", folder / "sp.model"), heads)


@pytest.mark.parametrize("pre_norm", [True, False])
def test_logits_are_those_of_the_formula(tmp_path: Path, pre_norm: bool) -> None:
    weights = foreign_models.write_opennmt(tmp_path / "theirs", pre_norm=pre_norm)
    found = read_opennmt_tf(tmp_path / "theirs" / "ckpt-7", settings_of(tmp_path / "theirs"))
    run = write_run(found, tmp_path / "run")
    size = len(weights["decoder/output_layer/bias"])
    # <blank>, <s>, </s>, the pieces, the unknown one
    ours = np.array([0, START_ID, 3, *range(4, size), UNKNOWN_ID])
    source, target = [5, 9, size - 1, 7], [1, 6, 6, 4, 10]
    inputs = {"source_ids": np.pad(ours[source], (0, 2))[None], "target_ids": ours[target][None]}
    logits = np.asarray(run.task.model(inputs))[0]
    np.testing.assert_allclose(
        logits[:, ours], foreign_models.opennmt_logits(weights, source, target), atol=1e-4
    )
    lines = (tmp_path / "theirs" / "vocab.txt").read_text().split("\n")[3:-1]
    assert run.task.preprocessor.source_tokens == ["<pad>", "<unk>", "<s>", "</s>", *lines]
    # Sources have no end token, and those without a word are that token alone.
    assert run.task.encode([""]).to_list() == [[3]]
    assert 3 not in run.task.encode(["a cab"]).to_list()[0]
    assert run.task.translate(["", "a cab"], beam_size=1, max_length_margin=3)[0] == ""
    assert (run.recipe.decoding.beam, run.recipe.text.source_end) == (2, False)


def test_relative_positions_are_taken_and_two_kinds_refused(tmp_path: Path) -> None:
    weights = foreign_models.write_opennmt(tmp_path / "relative", positions="relative")
    found = read_opennmt_tf(tmp_path / "relative" / "ckpt-7", settings_of(tmp_path / "relative", None))
    assert (found.model["positions"], found.model["max_distance"], found.model["num_heads"]) == (
        "relative",
        2,
        3,
    )
    theirs = weights["decoder/layers/0/self_attention/layer/relative_position_values"]
    path = "decoder/block_0/self_attention/attention/positions/value_table"
    np.testing.assert_array_equal(found.weights[path], theirs)
    foreign_models.write_opennmt(tmp_path / "both", positions="both")
    with pytest.raises(DataError, match=r"position_encoder_class must be .*Received: positions of two kinds"):
        read_opennmt_tf(tmp_path / "both" / "ckpt-7", settings_of(tmp_path / "both"))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    foreign_models.write_opennmt(tmp_path)
    checkpoint = tmp_path / "ckpt-7"
    with pytest.raises(
        DataError, match=r"does not say its number of heads, say it by --heads. Received: width 12"
    ):
        read_opennmt_tf(checkpoint, settings_of(tmp_path, None))
    with pytest.raises(DataError, match=r"--heads must divide the width, 12. Received: 5"):
        read_opennmt_tf(checkpoint, settings_of(tmp_path, 5))
    with pytest.raises(DataError, match=r"must be a checkpoint of OpenNMT-tf.*Received: no such files"):
        read_opennmt_tf(tmp_path / "ckpt-8", settings_of(tmp_path))
    config = tmp_path / "data.yml"
    with pytest.raises(DataError, match=r"data.yml: data.source_tokenization must name an sp_model_path"):
        read_settings(config)
    vocabulary = tmp_path / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text() + "more\n")
    with pytest.raises(
        DataError, match=r"vocab.txt: must have \d+ lines, one less than the rows of .*Received"
    ):
        read_opennmt_tf(checkpoint, settings_of(tmp_path))
    vocabulary.write_text("<pad>\n")
    with pytest.raises(DataError, match=r"vocab.txt: must begin with the lines <blank>, <s>, </s>. Received"):
        read_opennmt_tf(checkpoint, settings_of(tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("source_sequence_controls: {start: true}", r"data.source_sequence_controls.start must be false"),
        ("target_sequence_controls: {end: false}", r"data.target_sequence_controls.end must be true"),
        ("target_vocabulary: other.txt", r"data.target_vocabulary must name a file that is there"),
        (
            "source_tokenization: {params: {sp_model_path: sp.model, mode: aggressive}}",
            r"source_tokenization must have the mode none and no other params. .*'aggressive'",
        ),
    ],
)
def test_what_the_yaml_file_asks_for_and_is_not_here(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "vocab.txt").touch()
    given = ["source_vocabulary: vocab.txt", "target_vocabulary: vocab.txt", line]
    (tmp_path / "data.yml").write_text("data:\n" + "".join(f"  {one}\n" for one in given))
    models = (None if "tokenization" in line else tmp_path, tmp_path)
    with pytest.raises(DataError, match=message):
        read_settings(tmp_path / "data.yml", models)


def test_the_verb(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign_models.write_opennmt(tmp_path / "theirs")
    theirs, run = tmp_path / "theirs", tmp_path / "run"
    words = ["import", "opennmt-tf", str(theirs / "ckpt-7"), str(run), "--config", str(theirs / "data.yml")]
    words += ["--sentencepiece", str(theirs / "sp.model"), "--heads", str(HEADS)]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert out == f"{run}\n"
    assert "1 layers, width 12, 3 heads" in err and f"next: tf-transformer predict {run}" in err
    assert main(words) == 1
    assert "is a run already" in capsys.readouterr().err
