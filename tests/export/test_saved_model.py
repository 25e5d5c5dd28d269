"""Versions, their content, and that a failed export leaves nothing behind."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from tf_transformer.cli import main
from tf_transformer.errors import ExportError
from tf_transformer.export import saved_model
from tf_transformer.export.saved_model import export_saved_model
from tf_transformer.export.verification import Report
from tf_transformer.manifest import is_export, newest_version, next_version


def test_an_export_is_a_model_and_a_manifest(exported: Any) -> None:
    assert exported.version == exported.folder / "1"
    assert [path.name for path in exported.folder.iterdir()] == ["1"]
    names = {path.name for path in exported.version.iterdir()}
    assert {"saved_model.pb", "variables", "manifest.json"} <= names
    written = json.loads((exported.version / "manifest.json").read_text())
    assert written == exported.manifest.model_dump(mode="json")
    expected = {
        "format": 1,
        "task": "translate",
        "signatures": [
            "attention",
            "explore",
            "ids",
            "inspect",
            "n_best",
            "prefix",
            "sample",
            "score",
            "search",
            "serving_default",
        ],
        "source_vocabulary_size": 14,
        "target_vocabulary_size": 14,
        "custom_ops": [],
        "python_modules": [],
        "checkpoint": "step-00000600",
        "step": 600,
        "versions": {"tensorflow": "2"},
        # Seven at a time of 23 samples and five odd texts are tried alone.
        "verification": {"sentences": 28, "alone": 4, "equal": True},
    }
    assert {name: written[name] for name in expected} == expected


def test_the_loader_of_tensorflow_1_runs_it(exported: Any, translator: Any) -> None:
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        saved = v1.saved_model.loader.load(session, ["serve"], str(exported.version))
        signature = saved.signature_def["serving_default"]
        found = session.run(signature.outputs["text"].name, {signature.inputs["text"].name: ["1 2 3", ""]})
    assert [text.decode() for text in found] == translator.translate(["1 2 3", ""])


def test_signatures_are_called_by_keyword_text(exported: Any) -> None:
    signatures = tf.saved_model.load(str(exported.version)).signatures
    outputs = {"serving_default": {"text", "score", "log_probability"}, "n_best": {"text", "score"}}
    for name, expected in outputs.items():
        (spec,) = signatures[name].structured_input_signature[1].values()
        assert (spec.name, spec.dtype, spec.shape.as_list()) == ("text", tf.string, [None])
        assert set(signatures[name].structured_outputs) == expected
    # The weights are there once, and the optimizer is not.
    shapes = [shape for _, shape in tf.train.list_variables(str(exported.version / "variables/variables"))]
    assert [14, 64] in shapes and shapes.count([14, 64]) == 1


class Task:
    """Writes a file where a model would be."""

    TASK = "juggle"

    def __init__(self, *, custom_ops: tuple[str, ...] = (), error: Exception | None = None) -> None:
        self.error = error
        self.custom_ops = custom_ops

    def manifest_facts(self) -> dict[str, Any]:
        return {"labels": ("up", "down"), "lowercase": True}

    def trial(self, samples: list[str]) -> list[str]:
        return ["tried with", *samples]

    def export(self, folder: Path) -> tuple[str, ...]:
        folder.mkdir()
        (folder / "saved_model.pb").touch()
        if self.error is not None:
            raise self.error
        return ("serving_default",)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the verification was asked; it is content."""
    calls: list[Any] = []

    def content(folder: Path, trial: Any, modules: Any) -> Report:
        calls.append((folder.name, trial, list(modules)))
        return Report(["Odd"] if modules else [], {"equal": True})

    monkeypatch.setattr(saved_model, "verify", content)
    monkeypatch.setattr(saved_model, "write_warm_up", lambda *_: None)
    return calls


def export(folder: Path, **options: Any) -> tuple[Path, Any]:
    task: Any = Task(**options)
    return export_saved_model(task, folder, samples=["a"], facts={"step": 3})


def test_versions_count_up_and_none_is_replaced(tmp_path: Path, asked: list[Any]) -> None:
    folder = tmp_path / "deep" / "out"
    assert export(folder)[0] == folder / "1"
    assert export(folder)[0] == folder / "2"
    (folder / "11").mkdir()
    (folder / "7").write_text("a file")
    for name in ("9" * 30, "\u0663", "12.old", "-5"):
        (folder / name).mkdir()
    assert newest_version(folder).name == "2" and is_export(folder)
    (folder / "notes").mkdir()
    (folder / ".30.writing").mkdir()
    assert next_version(folder) == 12
    assert export(folder)[0].name == "12" and newest_version(folder).name == "12"
    assert newest_version(folder / "2") == folder / "2"
    assert asked == [(f".{version}.writing", ["tried with", "a"], []) for version in (1, 2, 12)]


def test_modules_are_named_where_the_tokenizer_needs_them(tmp_path: Path, asked: list[Any]) -> None:
    manifest = export(tmp_path, custom_ops=("Odd",))[1]
    assert asked[0][2] == ["tensorflow_text"]
    assert (manifest.custom_ops, manifest.python_modules) == (("Odd",), ("tensorflow_text",))


def test_the_manifest_says_what_the_task_and_the_run_know(tmp_path: Path, asked: list[Any]) -> None:
    manifest = export(tmp_path)[1]
    assert (manifest.task, manifest.labels, manifest.lowercase) == ("juggle", ("up", "down"), True)
    assert (manifest.step, manifest.signatures) == (3, ("serving_default",))


def different(*_: Any) -> Report:
    raise ExportError("answers differently")


@pytest.mark.parametrize("there", [False, True], ids=["new folder", "old folder"])
def test_an_export_that_answers_differently_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    folder = tmp_path / "out"
    if there:
        (folder / "4").mkdir(parents=True)
    monkeypatch.setattr(saved_model, "verify", different)
    with pytest.raises(ExportError, match="answers differently"):
        export(folder)
    assert [path.name for path in tmp_path.rglob("*")] == (["out", "4"] if there else [])


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        tf.errors.ResourceExhaustedError(None, None, "No space left on device"),
        tf.errors.PermissionDeniedError(None, None, "No space left on device"),
    ],
    ids=["system", "TensorFlow's", "not allowed"],
)
def test_a_folder_that_cannot_be_written_is_an_error_and_clean(
    tmp_path: Path, asked: list[Any], error: Exception
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    with pytest.raises(ExportError, match=r"out: cannot write the export \(.*No space left on device\)"):
        export(folder, error=error)
    assert list(folder.iterdir()) == [] and asked == []


def test_a_file_in_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(ExportError, match="out is a file"):
        export(tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("checkpoints", "this run holds no checkpoint; train it first"),
        ("checkpoints/step-00000600/weights.npz", "damaged checkpoint"),
        ("tokenizer", "preprocessor.json"),
        ("recipe.yaml", "is no run"),
    ],
)
def test_a_run_that_is_not_whole_is_not_exported(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str, message: str
) -> None:
    run = shutil.copytree(trained_run, tmp_path / "run")
    path = run / damage
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert main(["export", str(run), str(tmp_path / "out"), "--checkpoint", "last"]) == 1
    shown = capsys.readouterr()
    assert message in shown.err and shown.out == ""
    assert not (tmp_path / "out").exists()


def test_a_run_is_no_place_for_an_export(trained_run: Path, translator: Any) -> None:
    with pytest.raises(ExportError, match="is the folder of a run; name another one"):
        export_saved_model(translator, trained_run, samples=[], facts={})
    assert not (trained_run / "1").exists()


def test_a_version_is_no_place_for_another(tmp_path: Path, asked: list[Any]) -> None:
    version = export(tmp_path)[0]
    with pytest.raises(ExportError, match="1: is an exported version; name the folder that"):
        export(version)
    assert not (version / "1").exists()
