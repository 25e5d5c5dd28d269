"""What many tests share: a trained run, numbers spoken backwards, which copying cannot learn; a browser."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# Models this small gain nothing from threads, and two workers share the cores. Read when TensorFlow starts.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")

pytest.register_assert_rewrite("made_up", "surroundings", "trainings", "witness")

RECIPE = """\
task: translate
data:
  train: {table: train.tsv}
  dev: {table: dev.tsv}
  test: {table: test.tsv}
text: {tokenizer: words, vocabulary_size: 20}
model: {num_layers: 1, hidden_dim: 64, intermediate_dim: 128, num_heads: 4, dropout: 0.0}
training:
  steps: 600
  batch_tokens: 1000
  precision: float32
  label_smoothing: 0.0
  schedule: {name: inverse_sqrt, peak: 0.005, warmup_steps: 60}
  validate_every: 300
  keep: 2
decoding: {beam: 3}
evaluation: {samples: 2}
"""


def write_reversal(folder: Path) -> Path:
    """Writes a recipe and its data, numbers of 2 to 5 digits and their reversals, all different."""
    folder.mkdir(parents=True, exist_ok=True)
    draw, seen = random.Random(5), set()
    for name, count in (("train", 4600), ("dev", 101), ("test", 97)):
        rows = ["source\ttarget"]
        while len(rows) <= count:
            digits = [draw.choice("0123456789") for _ in range(draw.randint(2, 5))]
            if tuple(digits) not in seen:
                seen.add(tuple(digits))
                rows.append(f"{' '.join(digits)}\t{' '.join(reversed(digits))}")
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE, encoding="utf-8")
    return recipe


@pytest.fixture(scope="session")
def reversal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recipe of the reversal task, with its data beside it."""
    return write_reversal(tmp_path_factory.mktemp("reversal"))


@pytest.fixture(scope="session")
def trained_run(reversal: Path) -> Path:
    """A run that has learnt to reverse."""
    from trainings import start  # not above: tests of recipes do without TensorFlow

    run = reversal.parent / "run"
    assert start(reversal, run) == 0
    return run


@pytest.fixture(scope="session")
def translator(trained_run: Path) -> Any:
    """The task of that run; shared, because each way to search is traced once for each task."""
    from tf_transformer.build import load_run

    return load_run(trained_run).task


@pytest.fixture(scope="session")
def reversal_pairs(reversal: Path) -> list[tuple[str, str]]:
    """The test sentences of the reversal task and their translations."""
    rows = (reversal.parent / "test.tsv").read_text(encoding="utf-8").split("\n")[1:-1]
    return [(source, target) for source, target in (row.split("\t") for row in rows)]


class Exported(NamedTuple):
    """What ``export_saved_model`` gave."""

    folder: Path
    version: Path
    manifest: Any


@pytest.fixture(scope="session")
def exported(
    translator: Any, reversal_pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """The reversal task, exported."""
    from tf_transformer.export.saved_model import export_saved_model

    folder = tmp_path_factory.mktemp("export") / "reversal"
    samples = [source for source, _ in reversal_pairs[:23]]
    facts = {"checkpoint": "step-00000600", "step": 600, "versions": {"tensorflow": "2"}}
    return Exported(folder, *export_saved_model(translator, folder, samples=samples, facts=facts))


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Takes a figure that a test has found; the report of all tests states it at its end."""
    return lambda text: record_property("figure", text)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """States the figures that tests have found."""
    for report in terminalreporter.getreports("passed"):
        for name, value in report.user_properties:
            if name == "figure":
                terminalreporter.write_line(f"{report.nodeid}: {value}")


# What reads the trained run, its translator or its export.
SHARING = (
    "tests/build/",
    "tests/callbacks/",
    "tests/export/",
    "tests/serving/test_page_translation.py",
    "tests/serving/test_tasks.py",
    "tests/tasks/",
    "tests/test_learning.py",
)

# The longest first: a long file that a worker begins last leaves the other one idle.
LONG = tuple(f"tests/test_{name}.py" for name in ("trouble", "continuation", "trainer", "readme"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the long files, and those that share the trained run, before the others."""

    def place(item: pytest.Item) -> int:
        if item.nodeid.startswith(SHARING):
            return 0
        return next((1 for file in LONG if item.nodeid.startswith(file)), 2)

    items.sort(key=place)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives a file's tests to one worker, and all files that share the trained run: it is made once."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return "trained run" if nodeid.startswith(SHARING) else str(super()._split_scope(nodeid))

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Debian's chromium, or what `playwright install chromium` has brought."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)
        yield found
        found.close()
