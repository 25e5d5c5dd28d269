"""Events that TensorBoard itself can read, all on the axis of optimizer updates."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import metadata, plugin_data_pb2

from tf_transformer.callbacks.board.about import About
from tf_transformer.callbacks.board.tags import tag_of
from tf_transformer.callbacks.board.weights import WeightChanges
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.evaluation import Outcome, Sample
from tf_transformer.run_folder import RunFolder

RUNS = ("train", "dev", "results")
PARTS = ("embedding", "encoder", "decoder")
CURVES = {
    "quality/loss",
    "quality/perplexity",
    "quality/accuracy",
    "update/learning_rate",
    "update/gradient_norm",
    "update/ratio",
    "update/weights",
    "update/skipped",
    *(f"{kind}/{part}" for kind in ("update_gradient", "update_ratio") for part in PARTS),
    "usage/target_padding",
    "usage/source_padding",
    "speed/target_tokens_per_second",
    "speed/source_tokens_per_second",
    "speed/step",
    "speed/input_wait",
    "speed/model_gigaflops",
    "usage/process_memory",
}


def read(folder: Path) -> EventAccumulator:
    events = EventAccumulator(str(folder), size_guidance={"tensors": 0})
    events.Reload()
    return events


def tags(events: EventAccumulator, plugin: str) -> set[str]:
    try:
        return set(events.PluginTagToContent(plugin))
    except KeyError:  # of a kind that was not written
        return set()


def points(events: EventAccumulator, tag: str) -> dict[int, float]:
    return {event.step: float(tf.make_ndarray(event.tensor_proto)) for event in events.Tensors(tag)}


def texts(events: EventAccumulator, tag: str) -> list[str]:
    return [event.tensor_proto.string_val[0].decode() for event in events.Tensors(tag)]


@pytest.fixture(scope="module")
def written(trained_run: Path) -> dict[str, EventAccumulator]:
    """What a real run has written."""
    return {name: read(trained_run / "tensorboard" / name) for name in RUNS}


def test_a_runs_curves_lie_on_one_axis(written: dict[str, EventAccumulator], trained_run: Path) -> None:
    train, dev = written["train"], written["dev"]
    assert set(train.Tags()["tensors"]) >= CURVES
    assert {tag for tag in dev.Tags()["tensors"] if tag.startswith("quality/")} == {
        f"quality/{name}" for name in ("loss", "perplexity", "accuracy", "bleu", "chrf")
    }
    assert list(points(train, "quality/loss")) == list(range(20, 601, 20))
    # Update 60 has the peak of 0.005, and update 240 half of it.
    rates = points(train, "update/learning_rate")
    expected = {20: 0.005 / 3, 60: 0.005, 240: 0.0025}
    assert {step: rates[step] for step in expected} == pytest.approx(expected)
    records = {record["step"]: record for record in RunFolder.open(trained_run).metrics()}
    for tag in ("loss", "bleu", "perplexity"):
        expected = {step: record[f"val_{tag}"] for step, record in records.items()}
        assert points(dev, f"quality/{tag}") == pytest.approx(expected, rel=1e-5)
    for tag in ("perplexity", "accuracy"):
        expected = {step: record[f"train_{tag}"] for step, record in records.items()}
        assert points(train, f"quality/{tag}") == pytest.approx(expected, rel=1e-5)


def test_what_the_figures_of_updates_say_fits_together(written: dict[str, EventAccumulator]) -> None:
    train = written["train"]
    of_parts = [points(train, f"update_gradient/{part}") for part in PARTS]
    for step, norm in points(train, "update/gradient_norm").items():
        assert np.linalg.norm([part[step] for part in of_parts]) == pytest.approx(norm, rel=1e-4)
    # Adam moves each weight by about its rate, 0.005 at most, and Xavier's are about 0.1 in size.
    ratios = points(train, "update/ratio")
    assert all(0 < ratio < 0.15 for ratio in ratios.values()) and max(ratios.values()) > 0.005
    accuracy = points(train, "quality/accuracy")
    assert accuracy[600] > 0.9
    assert all(wait >= 0 for wait in points(train, "speed/input_wait").values())
    assert all(size > 0.05 for size in points(train, "usage/process_memory").values())


def test_texts_say_what_was_trained_and_how_it_answers(written: dict[str, EventAccumulator]) -> None:
    (recipe,), (data,) = texts(written["train"], "recipe"), texts(written["train"], "data")
    assert "task: translate" in recipe
    assert "\ntrain: 4,600 rows read, 4,600 kept\n" in data
    assert "| positions | shortest | 5 % | median | 95 % | longest | mean |" in data
    assert "\n| source | 3 | " in data  # two digits and the end
    first, second = texts(written["dev"], "answers")
    assert first.startswith("| source | reference | output | score |\n| --- | --- | --- | --- |\n| ")
    assert second.startswith("| source | reference | output | score | change |\n")


def test_the_results_are_what_runs_are_compared_by(
    written: dict[str, EventAccumulator], trained_run: Path
) -> None:
    results = written["results"]
    content = plugin_data_pb2.HParamsPluginData.FromString(
        results.PluginTagToContent("hparams")[metadata.SESSION_START_INFO_TAG]
    )
    values = content.session_start_info.hparams
    assert content.session_start_info.group_name == trained_run.name
    assert values["training.schedule.peak"].number_value == 0.005
    assert values["text.tokenizer"].string_value == "words"
    assert values["data.train.table"].string_value == "train.tsv"
    assert "training.seed" not in values and "training.profile" not in values
    final = RunFolder.open(trained_run).results()["metrics"]
    assert {tag for tag in results.Tags()["tensors"] if tag.startswith("results/")} == {
        f"results/{name}" for name in final
    }
    for name, value in final.items():
        assert points(results, f"results/{name}")[600] == pytest.approx(value, rel=1e-5)
    assert metadata.SESSION_END_INFO_TAG in results.PluginTagToContent("hparams")
    assert tags(results, "custom_scalars")


def test_the_vectors_of_tokens_are_there_with_their_spellings(trained_run: Path) -> None:
    folder = trained_run / "tensorboard" / "results"
    tokens = (folder / "tokens.tokens.tsv").read_text().split("\n")[:-1]
    vectors = np.loadtxt(folder / "tokens.vectors.tsv", delimiter="\t")
    assert vectors.shape == (len(tokens), 64) and "7" in tokens
    assert 'tensor_path: "tokens.vectors.tsv"' in (folder / "projector_config.pbtxt").read_text()


def test_every_tag_is_known(written: dict[str, EventAccumulator]) -> None:
    for name, kind in (
        ("scalars", "scalar"),
        ("text", "text"),
        ("images", "image"),
        ("histograms", "histogram"),
    ):
        found = {tag for events in written.values() for tag in tags(events, name)}
        assert found or name in ("images", "histograms")
        assert {tag for tag in found if tag_of(tag) is None or tag_of(tag).kind != kind} == set()


class Board:
    """The callbacks of a board and a model that a test moves on."""

    def __init__(self, training: Any, folder: Path, about: About | None = None, **options: Any) -> None:
        self.state = TrainingState(**options.pop("state", {}))
        self.events = TensorBoardEvents(self.state, folder, about, **options)
        for callback in (self.events.probe, self.events):
            callback.set_model(training)

    def update(self, step: int, **logs: float) -> None:
        self.events.probe.on_train_batch_begin(0)
        self.state.step = step
        self.events.probe.on_train_batch_end(0, logs)
        self.events.on_train_batch_end(0, logs)


def test_points_come_every_few_updates_and_once(training: Any, tmp_path: Path) -> None:
    board = Board(training, tmp_path, every=2)
    for step, loss, taken in ((1, 8.0, 1), (2, 2.0, 1), (2, float("nan"), 0), (3, 1.0, 1), (4, 3.0, 1)):
        board.update(step, loss=loss, taken=taken)
    board.events.on_train_end()
    # Means since the point before, without the skipped update: of 8 and 2, and of 1 and 3.
    assert points(read(tmp_path / "train"), "quality/loss") == {2: 5.0, 4: 2.0}


def test_the_loss_scale_is_shown_where_there_is_one(training: Any, tmp_path: Path) -> None:
    training.optimizer.dynamic_scale = 1024.0
    board = Board(training, tmp_path, every=1)
    board.update(1, loss=1.0)
    board.events.on_train_end()
    assert points(read(tmp_path / "train"), "update/loss_scale") == {1: 1024.0}


def test_a_validation_writes_figures_and_samples(training: Any, tmp_path: Path) -> None:
    board = Board(training, tmp_path, state={"step": 7, "best_step": 7})
    board.events.on_train_begin()
    record = {"gradient_norm": 0.5, "skipped_updates": 3, "target_padding": 0.25, "val_bleu": 3.0}
    outcome = Outcome({"val_bleu": 3.0, "val_other_bleu": 4.0}, [Sample("a|b", "x\ny", "z z", 7.25)])
    board.events.on_validation(record, outcome)
    board.state.step = 9
    again = Outcome({"val_bleu": 2.0}, [Sample("a|b", "x\ny", "z w", 7.25)])
    board.events.on_validation(record, again)
    board.events.on_train_end()
    train, dev, results = (read(tmp_path / name) for name in RUNS)
    assert [table.split("\n")[2] for table in texts(dev, "answers")] == [
        "| a\\|b | x y | z z | 7.2 |",
        "| a\\|b | x y | z w | 7.2 | z *(z)* **w** |",
    ]
    assert points(dev, "quality/other_bleu") == {7: 4.0} and points(dev, "quality/bleu") == {7: 3.0, 9: 2.0}
    assert points(train, "update/gradient_norm") == {7: 0.5, 9: 0.5}
    assert points(train, "update/skipped") == {7: 3.0, 9: 3.0}
    assert points(train, "usage/target_padding") == {7: 0.25, 9: 0.25}
    assert points(results, "results/val_bleu") == {7: 3.0}  # at the best update


def square() -> Figure:
    figure = Figure(figsize=(1, 0.5))
    figure.add_subplot().plot([1, 2])
    return figure


def pictures(folder: Path) -> dict[str, list[int]]:
    events = read(folder)
    return {tag: [event.step for event in events.Tensors(tag)] for tag in tags(events, "images")}


def test_pictures_are_drawn_where_there_is_time(training: Any, tmp_path: Path) -> None:
    about = About(pictures={"schedule": square}, embeddings=lambda: {"tokens": (np.eye(2), ["a", "b"])})
    board = Board(training, tmp_path, about, share=1.0, state={"seconds": 600.0, "step": 5})
    board.events.allowance.seconds = 0.0
    for step in (5, 6):
        board.state.step = step
        board.events.on_validation({}, Outcome({}, pictures={"confusion": square}))
    board.events.on_train_end()
    assert pictures(tmp_path / "dev") == {"schedule": [0], "confusion": [5, 6]}
    assert (tmp_path / "results" / "tokens.tokens.tsv").read_text() == "a\nb\n"
    image = read(tmp_path / "dev").Tensors("schedule")[0].tensor_proto.string_val
    assert image[:2] == [b"80", b"40"] and image[2].startswith(b"\x89PNG")


def test_a_short_run_draws_when_it_ends_and_an_interrupted_one_does_not(
    training: Any, tmp_path: Path
) -> None:
    for name, seconds, ended in (("whole", 10.0, "steps"), ("short", 9.0, "steps"), ("stopped", 10.0, None)):
        state = {"seconds": seconds, "step": 5, "ended": ended}
        board = Board(training, tmp_path / name, About(pictures={"schedule": square}), state=state)
        board.events.on_validation({}, Outcome({}, pictures={"confusion": square}))
        board.events.on_train_end()
    assert pictures(tmp_path / "whole" / "dev") == {"schedule": [0], "confusion": [5]}
    assert pictures(tmp_path / "short" / "dev") == pictures(tmp_path / "stopped" / "dev") == {}


@pytest.mark.parametrize(("ended", "steps"), [("steps", [5]), (None, [])])
def test_a_run_that_ends_has_histograms_however_short_it_was(
    training: Any, tmp_path: Path, ended: str | None, steps: list[int]
) -> None:
    board = Board(training, tmp_path, state={"seconds": 0.1, "step": 5, "ended": ended})
    board.events.probe.changes = WeightChanges([tf.Variable([1.0, 2.0])], {"encoder": [0]})
    for _ in range(2):  # once is enough
        board.events.on_validation({}, Outcome({}))
    board.events.on_train_end()
    written = read(tmp_path / "train")
    found = {tag: [one.step for one in written.Tensors(tag)] for tag in tags(written, "histograms")}
    assert found == ({"weights/encoder": steps} if steps else {})


def test_event_files_stay_within_their_bytes(training: Any, tmp_path: Path) -> None:
    board = Board(training, tmp_path, every=1, state={"seconds": 900.0})
    board.events.allowance.seconds = -1e9  # only bytes count here
    long = Outcome({}, [Sample("a" * 40_000, "b" * 40_000, "c" * 40_000)])
    for step in range(1, 120):
        board.update(step, loss=1.0)
        board.events.on_validation({}, long)
    board.events.on_train_end()
    size = sum(file.stat().st_size for file in tmp_path.rglob("events*"))
    assert size == pytest.approx(board.events.allowance.written, rel=0.01)
    # A quarter of an hour: 4 MB and a quarter of 15.
    assert 7.5e6 < size < 8.1e6
    again = TensorBoardEvents(TrainingState(seconds=900.0), tmp_path)
    assert not again.allowance.has_room()  # what the piece before has written counts


def test_charts_without_a_curve_are_left_out(training: Any, tmp_path: Path) -> None:
    board = Board(training, tmp_path, every=1)
    board.update(1, loss=1.0)
    board.events.on_validation({"train_accuracy": 0.5}, Outcome({"val_loss": 3.0}))
    board.events.on_train_end()
    (event,) = read(tmp_path / "results").Tensors("custom_scalars__config__")
    found = layout_pb2.Layout.FromString(event.tensor_proto.string_val[0])
    charts = {one.title: [chart.title for chart in one.chart] for one in found.category}
    assert charts["train against dev"] == ["loss", "accuracy"]
    assert charts["is it healthy"] == ["learning rate"]
    assert charts["how fast"][-2:] == ["padding", "memory"]


def test_a_picture_that_cannot_be_drawn_ends_nothing(training: Any, tmp_path: Path) -> None:
    def broken() -> Figure:
        raise ValueError("too\nlong")

    told: list[tuple[str, str]] = []
    board = Board(
        training,
        tmp_path,
        report=lambda kind, line: told.append((kind, line)),
        share=1.0,
        state={"seconds": 600.0, "step": 5},
    )
    board.events.allowance.seconds = 0.0
    for step in (5, 6):
        board.state.step = step
        board.events.on_validation({}, Outcome({}, pictures={"views/confusion": broken, "views/a": square}))
    board.events.on_train_end()
    assert told == [("picture", "views/confusion cannot be drawn: too long")]
    assert pictures(tmp_path / "dev") == {"views/a": [5, 6]}
