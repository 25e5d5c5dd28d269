"""An exported folder translates without model code, or says why it cannot."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tf_transformer.errors import ExportError
from tf_transformer.export.loading import ExportedModel, load_export
from tf_transformer.manifest import write_manifest
from tf_transformer.tasks.exported import ExportedTranslator
from tf_transformer.text import Normalizer

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def loaded(exported: Any) -> ExportedModel:
    return load_export(exported.folder)


@pytest.fixture(scope="module")
def translates(loaded: ExportedModel) -> ExportedTranslator:
    return ExportedTranslator(loaded.rows, Normalizer())


def test_it_answers_as_the_run_in_the_order_of_the_texts(
    translates: ExportedTranslator, translator: Any, reversal_pairs: Pairs
) -> None:
    texts = [source for source, _ in reversal_pairs]  # more than one batch, of many lengths
    texts[31:31] = ["", "5 5 5 5 5 5 5"]
    assert translates.translate(texts) == translator.translate(texts)
    for (ours,), (theirs,) in zip(translates.best(texts), translator.n_best(texts, 1), strict=True):
        assert ours.log_probability == pytest.approx(theirs.log_probability, rel=1e-3, abs=1e-4)
        assert ours.score == pytest.approx(theirs.score, rel=1e-3, abs=1e-4)
    assert translates.translate([]) == []


def test_an_exported_model_takes_no_search_options(translates: ExportedTranslator) -> None:
    with pytest.raises(ValueError, match=r"searches as it was exported\. Received: beam_size"):
        translates.translate(["1 2"], beam_size=2)


def test_n_best_is_the_beam_it_was_exported_with(translates: ExportedTranslator, translator: Any) -> None:
    texts = ["1 2 3", "", "4 5"]
    for ours, theirs in zip(translates.n_best(texts), translator.n_best(texts), strict=True):
        assert [h.text for h in ours] == [h.text for h in theirs]
        assert [h.score for h in ours] == pytest.approx([h.score for h in theirs], rel=1e-3, abs=1e-4)
        assert all(h.log_probability is None and h.finished is None for h in ours)


def test_prefixes_and_scores_are_those_of_the_run(translates: ExportedTranslator, translator: Any) -> None:
    texts, targets = ["1 2 3", "4 5", ""], ["3 2 1", "7", "1"]
    assert [one[0].text for one in translates.best(texts, "9 8")] == translator.translate(texts, prefix="9 8")
    expected = translator.score(texts, targets)
    for ours, theirs in zip(translates.score(texts, targets), expected, strict=True):
        assert ours.text == theirs.text and ours.details is not None
        assert ours.log_probability == pytest.approx(theirs.log_probability, rel=1e-3, abs=1e-4)
        assert ours.details.pieces == theirs.details.pieces
        logs = list(theirs.details.log_probabilities)
        assert list(ours.details.log_probabilities) == pytest.approx(logs, rel=1e-3, abs=1e-4)


def test_the_newest_version_is_loaded_unless_one_is_named(exported: Any, loaded: ExportedModel) -> None:
    assert loaded.folder == exported.version
    assert loaded.manifest == exported.manifest


def test_what_is_no_export_says_so(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match=r"nowhere: no exported model \(a folder with a numbered version"):
        load_export(tmp_path / "nowhere")
    (tmp_path / "3").mkdir()
    with pytest.raises(ExportError, match="no exported model"):
        load_export(tmp_path)


def without_sizes(exported: Any, folder: Path) -> None:
    """Writes a manifest that does not say how long the other files are, as those of the first exports."""
    write_manifest(folder, exported.manifest.model_copy(update={"files": {}}))


def damaged(exported: Any, tmp_path: Path, name: str, content: bytes | None, sizes: bool = False) -> Path:
    folder = shutil.copytree(exported.version, tmp_path / "1")
    if not sizes:
        without_sizes(exported, folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("manifest.json", None, "manifest.json: no manifest, so this is not a finished export"),
        ("manifest.json", b'{"task": "tr', "manifest.json: not a manifest of this package: invalid JSON: "),
        ("manifest.json", b"{}", "manifest.json: not a manifest of this package: task: Field required"),
        ("saved_model.pb", b"\x00garbage", "1: cannot be loaded "),
        ("variables/variables.index", None, "1: cannot be loaded "),
    ],
)
def test_a_damaged_export_says_what_is_wrong(
    exported: Any, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        load_export(damaged(exported, tmp_path, name, content))


def test_a_newer_format_or_a_missing_module_is_named(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = damaged(exported, tmp_path, "manifest.json", b"{}") / "1"
    manifest = json.loads((exported.version / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "format": 9}))
    with pytest.raises(ExportError, match="written in format 9 by a newer version"):
        load_export(folder)
    (folder / "manifest.json").write_text(json.dumps({**manifest, "python_modules": ["tensorflow_text"]}))
    monkeypatch.setitem(sys.modules, "tensorflow_text", None)
    with pytest.raises(ExportError, match=r"cannot be loaded \(import of tensorflow_text halted"):
        load_export(folder)


@pytest.mark.parametrize(
    "name", ["saved_model.pb", "variables/variables.index", "variables/variables.data-00000-of-00001"]
)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_that_is_cut_is_one_line(exported: Any, tmp_path: Path, name: str, share: float) -> None:
    content = (exported.version / name).read_bytes()
    folder = damaged(exported, tmp_path, name, content[: int(share * len(content))])
    with pytest.raises(ExportError, match=rf"{tmp_path}.*: (cannot be loaded|has no signature)") as caught:
        load_export(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("variables/variables.index", None, "variables/variables.index is not there"),
        ("fingerprint.pb", b"7 bytes", r"fingerprint.pb has 7 of \d+ bytes"),
    ],
)
def test_a_version_that_was_copied_in_part_is_told(
    exported: Any, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    folder = damaged(exported, tmp_path, name, content, sizes=True)
    with pytest.raises(ExportError, match=f"{tmp_path}/1: is no whole export: {message}"):
        load_export(folder)


def test_a_model_of_somebody_else_is_told(exported: Any, tmp_path: Path) -> None:
    import tensorflow as tf

    class Other(tf.Module):  # type: ignore[misc]
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)], autograph=False)
        def __call__(self, text: Any) -> Any:
            return {"words": text}

    other = Other()
    signatures = {"serving_default": other.__call__}
    tf.saved_model.save(other, str(tmp_path / "1"), signatures=signatures)
    without_sizes(exported, tmp_path / "1")
    with pytest.raises(ExportError, match="has no signature attention, which its manifest names"):
        load_export(tmp_path)
    tf.saved_model.save(
        other, str(tmp_path / "2"), signatures=dict.fromkeys(exported.manifest.signatures, other.__call__)
    )
    without_sizes(exported, tmp_path / "2")
    with pytest.raises(ExportError, match=r"2: serving_default cannot be run \('text'\)"):
        ExportedTranslator(load_export(tmp_path).rows, Normalizer()).translate(["a"])
