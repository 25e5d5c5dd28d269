"""A real TensorBoard on real runs, in a browser: no tab that is promised stays empty.

Screenshots are left in pytest's temporary folder, ``board*/``.
"""

import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from shapes import pictures
from trainings import start

from tf_transformer.callbacks import tensorboard as events

pytestmark = pytest.mark.slow  # needs a browser: Debian's chromium, or `playwright install chromium`

ROOT = Path(__file__).parents[1]
SHORT = (
    "training.steps=120",
    "training.validate_every=40",
    "training.checkpoint_every=40",
    "training.schedule.warmup_steps=40",
)
CLASSIFIER = """\
task: classify_images
data: {train: {arrays: train.npz}, dev: {fraction: 0.2}}
model: {num_layers: 1, hidden_dim: 32, intermediate_dim: 64, num_heads: 4, patch_size: 4, dropout: 0.0}
training: {steps: 120, batch_size: 32, precision: float32, validate_every: 40, schedule: {peak: 0.003}}
"""
SEEN = {
    "timeseries": "scalar-card line-chart path",
    "images": "tf-image-loader img",
    "text": "tf-text-loader table",
    "histograms": "vz-histogram-timeseries svg path",
    "custom_scalars": "tf-custom-scalar-multi-line-chart-card",
    "hparams": "text=training.steps",
}
"""What can only be there where a tab has something to show."""
SAID = {
    "translate": {"timeseries": "quality/bleu", "text": "output", "images": "views/cross_attention_1"},
    "classify_images": {"timeseries": "quality/macro_f1", "text": "output", "images": "views/confusion"},
}


class Board(NamedTuple):
    """A server of TensorBoard, and where screenshots go."""

    task: str
    address: str
    folder: Path

    def get(self, route: str) -> bytes:
        with urllib.request.urlopen(self.address + route, timeout=60) as answer:
            return answer.read()


def quickstart(folder: Path) -> None:
    start(ROOT / "training/quickstart/recipe.yaml", folder / "runs" / "quickstart", *SHORT)


def classifier(folder: Path) -> None:
    images, labels, _ = pictures(640, seed=1)
    np.savez(folder / "train.npz", images=images[..., 0], labels=labels)
    (folder / "recipe.yaml").write_text(CLASSIFIER)
    start(folder / "recipe.yaml", folder / "runs" / "shapes")


@pytest.fixture(
    scope="module", params=[("translate", quickstart), ("classify_images", classifier)], ids=lambda p: p[0]
)
def board(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Board]:
    task, make = request.param
    folder = tmp_path_factory.mktemp("board")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "WORTH_DRAWING", 0.0)
        make(folder)
    command = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder / "runs"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--load_fast=false"],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"},
    ) as server:
        try:
            assert server.stderr is not None
            said = iter(server.stderr.readline, "")
            address = next(found[0] for line in said if (found := re.search(r"http://\S+", line)))
            yield Board(task, address.replace("localhost", "127.0.0.1"), folder)
        finally:
            server.terminate()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    found = browser.new_page(viewport={"width": 1500, "height": 1400})
    yield found
    found.close()


@pytest.mark.parametrize("tab", SEEN)
def test_each_tab_shows_something(board: Board, page: Any, tab: str) -> None:
    # Lines as elements of the page, which need no WebGL.
    page.goto(f"{board.address}?forceSVG=true#{tab}")
    try:
        page.locator(SEEN[tab]).first.wait_for(state="attached", timeout=180_000)
        if (words := SAID[board.task].get(tab)) is not None:
            page.get_by_text(words).first.wait_for(timeout=180_000)
        page.wait_for_timeout(1500)
    finally:
        page.screenshot(path=str(board.folder / f"{tab}.png"))
    if tab == "images":
        widths = page.locator(SEEN[tab]).evaluate_all("all => all.map(one => one.naturalWidth)")
        assert widths and all(width > 100 for width in widths)


def test_the_data_of_the_projector_answers(board: Board) -> None:
    runs = json.loads(board.get("data/plugin/projector/runs"))
    if board.task != "translate":
        assert runs == []  # pictures have no tokens, and nothing promises any
        return
    (run,) = runs
    asked = urllib.parse.urlencode({"run": run, "name": "tokens"})
    info = json.loads(board.get(f"data/plugin/projector/info?{urllib.parse.urlencode({'run': run})}"))
    shape = next(one["tensorShape"] for one in info["embeddings"] if one["tensorName"] == "tokens")
    tokens = board.get(f"data/plugin/projector/metadata?{asked}").decode().split("\n")
    vectors = np.frombuffer(board.get(f"data/plugin/projector/tensor?{asked}&num_rows=5000"), np.float32)
    assert shape == [1500, 128] and vectors.size == 1500 * 128 and len(tokens) - 1 == 1500
    assert "▁I" in tokens and np.isfinite(vectors).all()


def test_the_same_tag_of_train_and_dev_is_in_one_chart(board: Board) -> None:
    found = json.loads(board.get("data/plugin/scalars/tags"))
    with_loss = [run.rsplit("/", 1)[1] for run, tags in found.items() if "quality/loss" in tags]
    assert sorted(with_loss) == ["dev", "train"]
    layout = json.loads(board.get("data/plugin/custom_scalars/layout"))
    assert layout["category"][0]["title"] == "train against dev"


def test_hparams_compare_what_differs(board: Board) -> None:
    body = json.dumps({"startIndex": 0, "sliceSize": 10, "allowedStatuses": ["STATUS_SUCCESS"]}).encode()
    asked = urllib.request.Request(
        board.address + "data/plugin/hparams/session_groups",
        data=body,
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        (group,) = json.loads(answer.read())["sessionGroups"]
    assert group["hparams"]["training.steps"] == 120
    names = {one["name"]["tag"] for one in group["metricValues"]}
    assert "results/val_loss" in names and len(names) < 20
