"""What no tracked file may hold, and the settings that must agree with each other."""

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PARTS = (".ci", ".github", "tests", "tf_transformer", "training")
# A path that begins at the top of somebody's machine, such as a home folder; a URL's path does not count.
MACHINE_PATH = re.compile(
    r"(?<![\w.:~/$}-])/(" + "|".join(["home", "Users", "root", "work", "mnt"]) + r")/\w"
)


def tracked() -> list[Path]:
    """The files under version control; all but ignored folders in an unpacked source distribution."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        paths = [ROOT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [path for part in PARTS for path in (ROOT / part).rglob("*")] + list(ROOT.glob("*"))
        paths = [
            path for path in paths if "__pycache__" not in path.parts and "data" not in path.parts[-2:-1]
        ]
    return [path for path in paths if path.is_file()]


def test_no_file_names_a_place_on_a_machine() -> None:
    found = []
    for path in tracked():
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").split("\n"), start=1
        ):
            if MACHINE_PATH.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:80]}")
    assert found == []


@pytest.mark.parametrize("place", ["home", "root", "work"])
def test_such_a_place_would_be_found(place: str) -> None:
    assert MACHINE_PATH.search(f'open("/{place}/someone/train.tsv")')
    assert not MACHINE_PATH.search(f"https://example.org/{place}/someone")
    assert not MACHINE_PATH.search(f"../{place}/someone")


def test_data_and_runs_are_not_tracked() -> None:
    names = [path.relative_to(ROOT).as_posix() for path in tracked()]
    assert [name for name in names if re.match(r"training/[^/]+/data/|runs/|.*\.pyc$|.*egg-info", name)] == []


def test_the_same_tools_run_before_a_commit_and_in_ci() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    entries = [hook["entry"].replace(" --force-exclude", "") for hook in hooks[0]["hooks"]]
    assert all(hook["language"] == "system" for hook in hooks[0]["hooks"])
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").split("\n")
    assert entries == ["ruff check", "ruff format", "mypy --strict tf_transformer"]
    assert {"ruff check .", "ruff format --check .", "mypy --strict tf_transformer"} <= set(script)


def test_the_workflow_calls_the_script() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
    assert workflow["jobs"]["run"]["steps"][-1] == {"run": ".ci/run"}
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


def test_dependencies_and_python_versions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = {re.split(r"[<>=\[]", line)[0].lower() for line in project["dependencies"]}
    assert declared == {
        *("tensorflow", "tensorflow-text", "keras", "keras-nlp", "tensorboard", "sentencepiece", "sacrebleu"),
        *("pydantic", "pyyaml", "typer", "rich", "matplotlib"),
    }
    assert project["requires-python"] == ">=3.11,<3.14"


def test_the_next_versions_are_tried_every_week() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "next.yml").read_text(encoding="utf-8"))
    assert workflow[True]["schedule"] and "push" not in workflow[True]  # YAML's `on` is a truth value
    assert workflow["jobs"]["run"]["steps"][-1] == {"run": ".ci/next.py"}
    assert (ROOT / ".ci" / "next.py").stat().st_mode & 0o111


def test_what_is_lifted_for_them() -> None:
    spec = importlib.util.spec_from_file_location("next_versions", ROOT / ".ci" / "next.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    before = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    text, bounds = script.lifted(before)
    assert set(bounds) == {"tensorflow", "tensorflow-text", "keras", "tensorflow-serving-api"}
    project, old = tomllib.loads(text)["project"], tomllib.loads(before)["project"]
    gpu = project["optional-dependencies"]["gpu"]
    assert gpu == [line.split(",<")[0] for line in old["optional-dependencies"]["gpu"]]
    assert project["dependencies"] == [line.split(",<")[0] for line in old["dependencies"]]
    assert project["optional-dependencies"]["beam"] == old["optional-dependencies"]["beam"]
    assert project["requires-python"] == old["requires-python"]
    bounds = {"tensorflow": "2.22", "keras": "3.16"}
    assert script.beyond({"tensorflow": "2.21.4", "keras": "3.15.1"}, bounds) == []
    assert script.beyond({"tensorflow": "2.22.0rc1", "keras": "3.9", "numpy": "9"}, bounds) == [
        "tensorflow 2.22.0rc1"
    ]
