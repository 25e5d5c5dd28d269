"""The README does what it says: its commands, its map, and the script that uses the library."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The one code block of a language that contains a text."""
    found = [
        code for code in re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL) if containing in code
    ]
    assert len(found) == 1, found
    return found[0]


def test_it_opens_with_the_two_commands() -> None:
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert commands[:2] == [
        "pip install . && tf-transformer train training/quickstart/recipe.yaml",
        "pip install '.[test]' && pytest",
    ]
    assert README.startswith(f"# tf_transformer\n\n```sh\n{commands[0]}\n```\n\n```sh\n{commands[1]}\n```\n")


def test_ci_runs_the_second_command_as_it_stands() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    reader = re.search(r"command=\$\(python -c '(.*?)'\)", script)
    assert reader and 'eval "$command"' in script
    done = subprocess.run(
        [sys.executable, "-c", reader[1]], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "pip install '.[test]' && pytest\n"


def test_the_map_names_every_part_of_the_package() -> None:
    rows = "".join(re.findall(r"^\| \d \|.*$", README, re.MULTILINE))
    named = {name.removesuffix("/").removesuffix(".py") for name in re.findall(r"`([\w./]+)`", rows)}
    units = {path.name.removesuffix(".py") for path in (ROOT / "tf_transformer").iterdir()}
    hidden = {"__init__", "__main__", "__pycache__", "py.typed"}
    assert named == units - hidden


def test_links_lead_somewhere() -> None:
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert [link for link in links if not link.startswith("http") and not (ROOT / link).exists()] == []


def test_the_recipes_of_the_readme_are_valid() -> None:
    yaml = pytest.importorskip("yaml")
    from tf_transformer.recipe import recipe_class

    found = [yaml.safe_load(code) for code in re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)]
    assert [values["task"] for values in found] == [*["translate"] * 3, "generate", "classify_text"]
    for values in found:
        recipe = recipe_class(values["task"]).model_validate(values, context={"check_files": False})
        assert recipe.data.dev_fraction in (0.05, 0.1)


SCRIPT_RAN = """
losses = model.history.history["loss"]
assert losses[-1] < losses[0], losses
"""
# Loads what the script saved in another process, then runs the script on two devices.
ON_TWO_DEVICES = """
import json
import keras
import tensorflow as tf
import tf_transformer.models
from tf_transformer.tasks import Translator
from tf_transformer.text import Preprocessor

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
translator = Translator(keras.saving.load_model("m.keras"), Preprocessor.load("preprocessor"), beam_size=4)
with open("before.json") as file:
    before = json.load(file)
assert translator.translate([source for source, _ in before]) == [target for _, target in before]

strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
assert strategy.num_replicas_in_sync == 2
with strategy.scope():
    exec(compile(open("script.py", encoding="utf-8").read(), "script.py", "exec"), globals())
"""


def small_script() -> str:
    """The script of the README with smaller numbers in it."""
    script = block("python", "model.compile")
    assert 30 <= len(script.strip().split("\n")) <= 50
    sizes = {
        "vocabulary_size=800": "vocabulary_size=330",
        "epochs=12,": "epochs=3,",
        "num_layers=2,": "num_layers=1,",
        "hidden_dim=128,": "hidden_dim=16,",
        "warmup_steps=200": "warmup_steps=5",
    }
    for size, smaller in sizes.items():
        assert size in script
        script = script.replace(size, smaller)
    return script


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the script lies, beside three batches; the last is one pair: fewer than there are replicas."""
    lines = (ROOT / "training/quickstart/train.tsv").read_text(encoding="utf-8").split("\n")
    (tmp_path / "training/quickstart").mkdir(parents=True)
    (tmp_path / "training/quickstart/train.tsv").write_text("\n".join(lines[:130]) + "\n", encoding="utf-8")
    (tmp_path / "script.py").write_text(small_script() + SCRIPT_RAN, encoding="utf-8")
    return tmp_path


def test_the_script_runs_its_model_reloads_and_two_devices_run_it_too(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    exec(compile((folder / "script.py").read_text(encoding="utf-8"), "script.py", "exec"), names)
    assert capsys.readouterr().out.strip().split("\n")[-1].startswith("[")
    sources = names["english"][:5]
    targets = names["translator"].translate(sources)
    (folder / "before.json").write_text(json.dumps(list(zip(sources, targets, strict=True))))
    done = subprocess.run(
        [sys.executable, "-c", ON_TWO_DEVICES],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip().split("\n")[-1].startswith("[")
