"""The README does what it says: its commands, its map, and the script that uses the library."""

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

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


def test_the_recipe_of_the_readme_is_valid() -> None:
    yaml = pytest.importorskip("yaml")
    from tf_transformer.recipe.schema import Recipe

    recipe = Recipe.model_validate(yaml.safe_load(block("yaml", "task:")), context={"check_files": False})
    assert recipe.data.dev_fraction == 0.05


DEVICES = """
import contextlib
import json
import tensorflow as tf

scope = contextlib.nullcontext()
if {replicas} > 1:
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * {replicas})
    strategy = tf.distribute.MirroredStrategy(["CPU:%d" % number for number in range({replicas})])
    assert strategy.num_replicas_in_sync == {replicas}
    scope = strategy.scope()
with scope:
    exec(compile(open("script.py", encoding="utf-8").read(), "script.py", "exec"), globals())
losses = model.history.history["loss"]
assert losses[-1] < losses[0], losses
with open("before.json", "w") as file:
    json.dump(translator.translate(english[:5]), file)
"""
RELOADED = """
import json
import keras
import tf_transformer.models
from tf_transformer.tasks import Translator
from tf_transformer.text import Preprocessor

translator = Translator(keras.saving.load_model("m.keras"), Preprocessor.load("preprocessor"), beam_size=4)
with open("training/quickstart/train.tsv", encoding="utf-8") as lines:
    english = [line.split("\\t")[0] for line in lines][1:6]
assert translator.translate(english) == json.load(open("before.json"))
"""


def run(code: str, folder: Path) -> str:
    (folder / "main.py").write_text(textwrap.dedent(code), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "main.py"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("replicas", [1, 2])
def test_the_script_runs_and_its_model_reloads_in_a_new_process(replicas: int, tmp_path: Path) -> None:
    script = block("python", "model.compile")
    assert 30 <= len(script.strip().split("\n")) <= 50
    lines = (ROOT / "training/quickstart/train.tsv").read_text(encoding="utf-8").split("\n")
    (tmp_path / "training/quickstart").mkdir(parents=True)
    # 3 batches, the last one with a single pair: fewer than the replicas.
    (tmp_path / "training/quickstart/train.tsv").write_text("\n".join(lines[:130]) + "\n", encoding="utf-8")
    for size, smaller in {"epochs=12,": "epochs=3,", "num_layers=2,": "num_layers=1,"}.items():
        assert size in script
        script = script.replace(size, smaller)
    (tmp_path / "script.py").write_text(script, encoding="utf-8")
    printed = run(DEVICES.format(replicas=replicas), tmp_path)
    assert printed.strip().split("\n")[-1].startswith("[")
    if replicas == 1:
        run(RELOADED, tmp_path)
