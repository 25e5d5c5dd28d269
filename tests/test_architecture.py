"""The floors of the package: who may import whom, and what each part runs without."""

import ast
import configparser
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "tf_transformer"

# A file imports from lower floors and from its own unit (a module or folder of the package); on the floors of
# SOCIABLE also from its neighbours, without a circle.
FLOORS = [
    {
        "errors",
        "arguments",
        "presets",
        "recipe",
        "files",
        "processes",
        "run_folder",
        "checkpoint_index",
        "manifest",
        "cluster",
        "word_changes",
    },
    {"ops"},
    {
        "layers",
        "losses",
        "metrics",
        "optimizers",
        "schedules",
        "text",
        "decoding",
        "scores",
        "plots",
        "checkpoints",
        "moving_average",
        "adapters",
        "precision",
        "memory",
        "replicas",
        "results",
    },
    {"models", "data", "warm_start", "devices"},
    {"tasks"},
    {"evaluation", "training_step", "export", "serving"},
    {"build", "callbacks"},
    {
        *("trainer", "beginning", "batch_size", "fitting", "closing", "farewell", "rate_range"),
        *("diagnosis", "importing"),
    },
    {"cli", "__main__"},
]
SOCIABLE = {0, 7, 8}
FLOOR_OF = {unit: number for number, units in enumerate(FLOORS) for unit in units}
LIGHT = FLOORS[0]
CORE = {"ops", "layers", "models", "losses", "metrics", "schedules"}
ALLOWED_OUTSIDE = {unit: {"pydantic", "pydantic_core", "yaml"} for unit in LIGHT} | {
    unit: {"keras", "numpy"} for unit in CORE
}
# These import the modules that an export's manifest names, for the custom ops in its graph.
READS_NAMES = {"export/clean_process.py", "export/loading.py"}


def imports(tree: ast.AST, package: str) -> Iterator[tuple[int, str]]:
    """Every import of a module, wherever it stands, as (line, absolute dotted name).

    An import by `importlib` whose name cannot be read off the source is given as "?".
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and called_name(node.func) in ("import_module", "__import__"):
            yield node.lineno, beginning(node.args[0]) if node.args else "?"


def called_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def beginning(expression: ast.expr) -> str:
    """The text that a string expression surely begins with, or "?"."""
    if isinstance(expression, ast.JoinedStr):
        expression = expression.values[0]
    text = expression.value if isinstance(expression, ast.Constant) else ""
    return text if isinstance(text, str) and text and not text.startswith(".") else "?"


def unit_of(path: str) -> str:
    """The unit of a file given by its path inside the package: the folder, or the module's name."""
    return path.split("/")[0].removesuffix(".py")


def faults(path: str, source: str) -> list[str]:
    """What a file of the package imports and may not, one line each."""
    unit = unit_of(path)
    if unit not in FLOOR_OF:
        return [f"{path}: {unit} is on no floor"]
    tree = ast.parse(source)
    package = ".".join(["tf_transformer", *path.split("/")[:-1]])
    named = [(line, name) for line, name in imports(tree, package) if path not in READS_NAMES or name != "?"]
    found = [f"{path}:{line}: {fault}" for line, name in named if (fault := fault_of(unit, name))]
    inner = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "src"]
    return found + [f"{path}:{node.lineno}: keras.src is not public" for node in inner if unit in CORE]


def fault_of(unit: str, imported: str) -> str | None:
    """Why `unit` may not import the dotted name, or None."""
    first, *rest = imported.split(".")
    if imported == "?":
        return "unreadable import"
    if first == "tf_transformer":
        return inner_fault(unit, rest[0] if rest else "")
    if unit in ALLOWED_OUTSIDE and first not in ALLOWED_OUTSIDE[unit] | sys.stdlib_module_names:
        return f"{unit} imports {first}"
    if rest[:1] == ["src"]:
        return f"{unit} imports {first}.src"
    return None


def inner_fault(unit: str, target: str) -> str | None:
    if target in (unit, "__version__"):
        return None
    if target not in FLOOR_OF:
        return f"{unit} imports from the package itself"
    mine, other = FLOOR_OF[unit], FLOOR_OF[target]
    if other < mine or (other == mine and mine in SOCIABLE):
        return None
    return f"{unit} ({mine}) imports {target} ({other})"


def files() -> dict[str, str]:
    """All Python files below the package but its own `__init__.py`, by path inside the package."""
    paths = {path.relative_to(PACKAGE).as_posix(): path for path in PACKAGE.rglob("*.py")}
    del paths["__init__.py"]
    return {name: path.read_text(encoding="utf-8") for name, path in sorted(paths.items())}


def test_no_file_imports_upwards() -> None:
    assert [fault for path, source in files().items() for fault in faults(path, source)] == []


def test_the_listing_is_recursive() -> None:
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {"ops/masks.py", "recipe/schema.py", "errors.py"} <= set(files())
    assert all((folder / "__init__.py").is_file() for folder in folders)


@pytest.mark.parametrize(
    ("path", "source", "fault"),
    [
        ("ops/a.py", "from tf_transformer.layers import Encoder", "ops (1) imports layers (2)"),
        ("ops/deep/er/a.py", "import tf_transformer.models.x as x", "ops (1) imports models (3)"),
        ("layers/a.py", "if x:\n  from tf_transformer import tasks", "layers (2) imports tasks (4)"),
        ("text/a.py", "from ..decoding import beam", "text (2) imports decoding (2)"),
        ("losses.py", "from .metrics import Perplexity", "losses (2) imports metrics (2)"),
        ("data/a.py", "importlib.import_module('tf_transformer.cli')", "data (3) imports cli (8)"),
        ("tasks/a.py", "__import__(f'tf_transformer.trainer.{y}')", "tasks (4) imports trainer (7)"),
        ("export/a.py", "import_module(name)", "unreadable import"),
        ("export/a.py", "import_module('.b', __package__)", "unreadable import"),
        ("models/a.py", "import tensorflow as tf", "models imports tensorflow"),
        ("ops/a.py", "def f():\n    import tensorflow.math", "ops imports tensorflow"),
        ("ops/a.py", "from keras.src import ops", "ops imports keras.src"),
        ("ops/a.py", "import keras\nkeras.src.ops", "keras.src is not public"),
        ("recipe/a.py", "import keras", "recipe imports keras"),
        ("run_folder.py", "if True:\n    import numpy", "run_folder imports numpy"),
        ("text/a.py", "from tf_transformer import load", "text imports from the package itself"),
        ("helpers/a.py", "", "helpers is on no floor"),
    ],
)  # fmt: skip
def test_a_planted_fault_is_found(path: str, source: str, fault: str) -> None:
    assert [found for found in faults(path, source) if found.endswith(fault)], faults(path, source)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("models/a.py", "import keras\nfrom tf_transformer.layers import Encoder\nfrom .b import c"),
        ("text/a.py", "import tensorflow as tf\nfrom . import storage\nfrom ..errors import TextError"),
        (
            "run_folder.py",
            "from tf_transformer import __version__\nfrom .files import write_json",
        ),
        ("cli.py", "def train():\n    from tf_transformer import trainer"),
    ],
)
def test_a_right_import_is_not(path: str, source: str) -> None:
    assert faults(path, source) == []


def test_the_ground_floor_has_no_circle() -> None:
    edges = {unit: set() for unit in FLOORS[0]}
    for path, source in files().items():
        if (unit := unit_of(path)) in edges:
            names = [name.split(".") for _, name in imports(ast.parse(source), "tf_transformer")]
            edges[unit] |= {name[1] for name in names if name[0] == "tf_transformer" and name[1] != unit}
    done: set[str] = set()
    while free := {unit for unit in edges.keys() - done if edges[unit] <= done | {"__version__"}}:
        done |= free
    assert done == set(edges)


def run(code: str, **environment: str) -> str:
    """Runs Python code in a new process and returns what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["train", "--help"], ["check", "training/quickstart/recipe.yaml"], ["schema"]],
    ids=" ".join,
)
def test_the_command_line_answers_without_tensorflow(arguments: list[str]) -> None:
    printed = run(f"""
        import contextlib, io, sys
        sys.argv = ["tf-transformer", *{arguments!r}]
        from tf_transformer.cli import main
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                code = main()
        except SystemExit as end:
            code = end.code
        assert not code, code
        heavy = {{"tensorflow", "tensorflow_text", "keras", "keras_nlp", "numpy", "matplotlib", "sacrebleu"}}
        print(sorted(heavy & set(sys.modules)))
        """)
    assert printed.strip() == "[]"


def test_importing_the_package_is_light() -> None:
    printed = run("""
        import sys
        before = set(sys.modules)
        import tf_transformer
        assert tf_transformer.ProjectError is tf_transformer.errors.ProjectError
        print(sorted({name.split(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
        """)
    assert printed.strip() == "['tf_transformer']"


def test_the_model_core_runs_on_another_backend_with_tensorflow_blocked() -> None:
    printed = run(
        """
        import sys

        class Blocked:
            def find_spec(self, name, path=None, target=None):
                if name.split(".")[0] in ("tensorflow", "tensorflow_text", "keras_nlp", "keras_hub"):
                    raise ModuleNotFoundError(f"blocked: {name}", name=name)

        sys.meta_path.insert(0, Blocked())
        import jax, keras, numpy as np
        from tf_transformer.losses import MaskedCrossEntropy
        from tf_transformer.metrics import MaskedAccuracy, Perplexity
        from tf_transformer.models import Transformer
        from tf_transformer.schedules import WarmupInverseSqrt

        model = Transformer(
            vocabulary_size=13, num_layers=1, hidden_dim=14, num_heads=2, intermediate_dim=17, dropout=0.1
        )
        inputs = {
            "source_ids": np.array([[4, 5, 6, 7, 3], [8, 3, 0, 0, 0]], "int32"),
            "target_ids": np.array([[2, 9, 10], [2, 11, 0]], "int32"),
        }
        labels = np.array([[9, 10, 3], [11, 3, 0]], "int32")
        logits = model(inputs, training=True)
        assert logits.shape == (2, 3, 13), logits.shape
        loss = float(MaskedCrossEntropy(label_smoothing=0.1)(labels, logits))
        for metric in (MaskedAccuracy(), Perplexity()):
            metric.update_state(labels, logits)
            float(metric.result())
        assert 0 < loss < 20 and float(WarmupInverseSqrt(peak=1e-3, warmup_steps=5)(0)) > 0
        sizes = {"num_layers": 1, "hidden_dim": 12, "num_heads": 2, "intermediate_dim": 17}
        for variant in (
            {"positions": "relative", "max_distance": 2, "num_key_value_heads": 1},
            {"positions": "rotary", "norm_kind": "rms", "norm": "pre", "share_layers": True},
            {"positions": "alibi", "decoder_hidden_dim": 8, "embedding_norm": True},
        ):
            model = Transformer(13, **sizes, **variant)

            @jax.jit  # compiled as a whole, which takes less time than each operation by itself
            def both(inputs):
                whole, cache = model(inputs), model.start_cache(model.encode(inputs["source_ids"]))
                for place in range(2):
                    logits, cache = model.step(inputs["target_ids"][:, place : place + 1], cache)
                return whole[:, 1], logits[:, 0]

            np.testing.assert_allclose(*both(inputs), atol=1e-4)
        print(keras.backend.backend(), "tensorflow" in sys.modules)
        """,
        KERAS_BACKEND="jax",
        JAX_PLATFORMS="cpu",
        XLA_FLAGS="--xla_backend_optimization_level=0",  # each operation is compiled: quickly, then
    )
    assert printed.strip() == "jax False"


def test_the_wheel_holds_the_package_alone() -> None:
    from setuptools import find_packages

    settings = configparser.ConfigParser()
    settings.read(ROOT / "setup.cfg", encoding="utf-8")
    include = settings["options.packages.find"]["include"].split()
    packages = set(find_packages(str(ROOT), include=include))
    folders = {path.parent.relative_to(ROOT).as_posix().replace("/", ".") for path in PACKAGE.rglob("*.py")}
    assert packages == folders
    assert settings["options.package_data"]["tf_transformer"].split() == ["py.typed", "serving/page/*"]
    others = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    page = {name for name in others if re.fullmatch(r"serving/page/[a-z_]+\.(html|css|js)", name)}
    assert {"serving/page/index.html", "serving/page/page.css", "serving/page/page.js"} <= page
    assert {name for name in others if not name.endswith((".py", ".pyc"))} == {"py.typed"} | page
