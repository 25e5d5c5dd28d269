"""``results.json``: the figures with all that makes them comparable."""

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tf_transformer import results
from tf_transformer.recipe import load_recipe, recipe_digest, with_files
from tf_transformer.results import commit, final_results, machine
from tf_transformer.run_folder import RunFolder


def test_results_say_what_was_run_on_what(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"source\ttarget\na\tb\n")
    (tmp_path / "recipe.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.5}}\n"
        "training: {steps: 7, seed: 13, precision: float32}\n"
    )
    recipe = with_files(load_recipe(tmp_path / "recipe.yaml"), tmp_path)
    run = RunFolder(tmp_path / "run")
    (run.tokenizer / "shared").mkdir(parents=True)
    (run.tokenizer / "shared" / "pieces.txt").write_bytes(b"a\n")
    facts = {"step": 7, "ended_by": "steps"}
    found = final_results(run, recipe, {"test_bleu": 31.5}, {"test_bleu": "tok:13a"}, facts)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["metrics"] == {"test_bleu": 31.5}
    assert found["signatures"] == {"test_bleu": "tok:13a"}
    assert (found["step"], found["ended_by"], found["seed"]) == (7, "steps", 13)
    assert found["precision"] == "float32"
    assert found["recipe_sha256"] == recipe_digest(recipe)
    digest = hashlib.sha256(b"source\ttarget\na\tb\n").hexdigest()
    assert found["data_sha256"] == {"a.tsv": digest}
    assert found["tokenizer_sha256"] == {"shared/pieces.txt": hashlib.sha256(b"a\n").hexdigest()}
    assert {"tf_transformer", "tensorflow", "keras", "python"} <= set(found["versions"])


def test_the_commit_is_that_of_the_checkout_and_none_without_git(monkeypatch: pytest.MonkeyPatch) -> None:
    found = commit()
    if found is not None:  # an installed package, or a source archive, has none
        assert len(found) == 40 and int(found, 16)

    def no_git(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(subprocess, "run", no_git)
    assert commit() is None


def test_a_checkout_that_does_not_hold_this_package_is_not_its_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "results.py").touch()  # as in a virtual environment inside somebody's repository
    monkeypatch.setattr(results, "__file__", str(tmp_path / "results.py"))
    assert commit() is None


def test_the_machine_is_named() -> None:
    found = machine()
    assert found["cores"] >= 1 and found["processor"] and found["system"]
    assert isinstance(found["gpus"], list)
