"""A translator exported for CTranslate2 answers as its run, or is not kept."""

import json
import shutil
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest

from tf_transformer.errors import ExportError
from tf_transformer.export import ctranslate2_model, ctranslate2_trial
from tf_transformer.export.ctranslate2_model import export_ctranslate2, load_ctranslate2
from tf_transformer.export.loading import load_export
from tf_transformer.manifest import is_export
from tf_transformer.tasks.translate import Translator

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def version(translator: Any, reversal_pairs: Pairs, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ctranslate2") / "reversal"
    samples = [source for source, _ in reversal_pairs[:23]]
    return export_ctranslate2(translator, folder, samples=samples, facts={"step": 600})[0]


def test_it_is_what_its_manifest_says(version: Path) -> None:
    names = {path.name for path in version.iterdir()}
    assert names == {"model.bin", "config.json", "shared_vocabulary.json", "tokenizer", "manifest.json"}
    written = json.loads((version / "manifest.json").read_text())
    expected = {"kind": "ctranslate2", "task": "translate", "weights": "float32", "step": 600}
    assert {name: written[name] for name in expected} == expected
    assert written["decoding"]["beam_size"] == 3 and written["max_source_length"] == 256
    found = written["verification"]
    assert (found["sentences"], found["beams"], found["num_different"]) == (28, [1, 3], 0)
    assert found["log_probabilities_a_piece"]["mean_difference"] < 1e-4


def test_it_answers_as_the_run(version: Path, translator: Any, reversal_pairs: Pairs) -> None:
    texts = [source for source, _ in reversal_pairs]
    texts[31:31] = ["", "5 5 5 5 5 5 5", "unknown words"]
    task = load_ctranslate2(version.parent).task
    for beam in (1, 3):
        search = {"beam_size": beam, "length_penalty": 0.0}
        for (ours,), (theirs,) in zip(
            task.n_best(texts, 1, **search), translator.n_best(texts, 1, **search), strict=True
        ):
            assert (ours.text, ours.finished) == (theirs.text, theirs.finished)
            # Padding and start, which no answer has, are left out before probabilities are made.
            assert ours.log_probability == pytest.approx(theirs.log_probability, rel=1e-3, abs=1e-3)
            assert ours.score == pytest.approx(theirs.score, rel=1e-3, abs=1e-3)
    targets = [target for _, target in reversal_pairs[:5]]
    for ours, theirs in zip(
        task.score(texts[:5], targets), translator.score(texts[:5], targets), strict=True
    ):
        assert ours.details is not None and ours.details.pieces == theirs.details.pieces
        np.testing.assert_allclose(
            ours.details.log_probabilities, theirs.details.log_probabilities, rtol=1e-3, atol=1e-4
        )
        assert ours.score == pytest.approx(theirs.score, rel=1e-3, abs=1e-4)
    three = task.n_best(texts[:4])
    assert [len(several) for several in three] == [3] * 4
    assert all(several[0].score >= several[1].score >= several[2].score for several in three)
    assert task.translate([]) == [] and task.score([], []) == []


def test_the_empty_text_is_scored_as_in_the_run(version: Path, translator: Any) -> None:
    task = load_ctranslate2(version).task
    pairs = [("", "1 2"), ("1 2", ""), ("", "")]
    sources, targets = map(list, zip(*pairs, strict=True))
    for ours, theirs in zip(task.score(sources, targets), translator.score(sources, targets), strict=True):
        assert ours.log_probability == pytest.approx(theirs.log_probability, rel=1e-3)


def test_others_read_it_without_this_package(version: Path, translator: Any) -> None:
    engine = ctranslate2.Translator(str(version), intra_threads=1)
    found = engine.translate_batch([["1", "2", "3"]], beam_size=1)
    assert found[0].hypotheses[0] == ["3", "2", "1"]


def test_a_search_that_it_has_not_is_refused(version: Path) -> None:
    task = load_ctranslate2(version).task
    with pytest.raises(ValueError, match=r"CTranslate2 has no such search\. Received: diversity, sample"):
        task.translate(["1"], sample=True, diversity=1.0)


def test_rounded_weights_are_close_and_small(
    version: Path, translator: Any, reversal_pairs: Pairs, tmp_path: Path
) -> None:
    samples = [source for source, _ in reversal_pairs[:9]]
    found, manifest = export_ctranslate2(translator, tmp_path, samples=samples, facts={}, weights="int8")
    assert manifest.weights == "int8"
    said = manifest.verification["log_probabilities_a_piece"]
    assert 0 < said["mean_difference"] < said["tolerance"] == 0.1
    sizes = [(folder / "model.bin").stat().st_size for folder in (found, version)]
    matrices = sum(one.numpy().size for one in translator.model.weights if len(one.shape) == 2)
    assert 0.95 * 3 * matrices < sizes[1] - sizes[0] < 3 * matrices  # three bytes of four, but for the scales
    assert load_ctranslate2(found).task.translate(["1 2 3"]) == ["3 2 1"]


def test_a_model_that_answers_otherwise_is_not_kept(
    translator: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = ctranslate2_model.specification

    def turned(*arguments: Any) -> Any:
        spec = make(*arguments)
        spec.decoder.projection.weight = np.roll(spec.decoder.projection.weight, 1, axis=0)
        return spec

    monkeypatch.setattr(ctranslate2_model, "specification", turned)
    with pytest.raises(ExportError, match=r"scores differently, so it was not kept: '2 1' for '1 2' has"):
        export_ctranslate2(translator, tmp_path / "out", samples=["1 2"], facts={})
    monkeypatch.setattr(ctranslate2_trial, "_demand_close", lambda *_: None)
    with pytest.raises(ExportError, match=r"answers \d of 7 sentences differently with a beam of 1"):
        export_ctranslate2(translator, tmp_path / "out", samples=["1 2", "3 4"], facts={})
    with pytest.raises(ExportError, match=r"--weights int8 changes the model too much.*a piece by \d"):
        export_ctranslate2(translator, tmp_path / "out", samples=["1 2"], facts={}, weights="int8")
    assert list(tmp_path.iterdir()) == []


def test_what_it_cannot_do_is_named_before_any_work(translator: Any, tmp_path: Path) -> None:
    rules = {
        "diversity": (0.5, "has no such search; set it to 0 in the run's recipe. Received: 0.5"),
        "no_repeat": (3, "follows it, and ranks what is left by other probabilities; set it to 0"),
    }
    for name, (value, rule) in rules.items():
        other = Translator(translator.model, translator.preprocessor, translator.options, **{name: value})
        with pytest.raises(ExportError, match=rf"^decoding\.{name}: CTranslate2 {rule}"):
            export_ctranslate2(other, tmp_path / "out", samples=[], facts={})

    class Juggler:
        TASK = "juggle"

    with pytest.raises(ExportError, match=r"^task: CTranslate2 is for translate here\. Received: juggle"):
        export_ctranslate2(Juggler(), tmp_path / "out", samples=[], facts={})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("model.bin", b"short", r"is no whole export: model\.bin has 5 of"),
        ("tokenizer/preprocessor.json", None, "is no whole export: tokenizer/preprocessor.json is not there"),
    ],
)
def test_a_damaged_one_says_so(
    version: Path, tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    folder = shutil.copytree(version, tmp_path / "1")
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    with pytest.raises(ExportError, match=message):
        load_ctranslate2(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps({**manifest, "files": {}}))
    with pytest.raises(ExportError, match="1: cannot be loaded "):
        load_ctranslate2(tmp_path)


def test_kinds_are_not_mixed(version: Path, translator: Any, exported: Any) -> None:
    assert is_export(version) and is_export(version.parent)
    with pytest.raises(ExportError, match=r"1: is a model for ctranslate2; export the run without"):
        load_export(version)
    rule = r"reversal: holds versions for savedmodel; name another folder for ctranslate2"
    with pytest.raises(ExportError, match=rule):
        export_ctranslate2(translator, exported.folder, samples=[], facts={})
