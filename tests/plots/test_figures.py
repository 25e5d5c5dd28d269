"""Pictures of attention, positions, lengths, schedules, calibration and curves hold what they were given."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.plots.attention import attention_figure
from tf_transformer.plots.calibration import calibration_figure
from tf_transformer.plots.curves import Panel, curves_figure
from tf_transformer.plots.files import save
from tf_transformer.plots.lengths import lengths_figure
from tf_transformer.plots.positions import cosines, positions_figure
from tf_transformer.plots.schedule import schedule_figure

WEIGHTS = np.array([[[0.25, 0.75, 0.0], [0.5, 0.25, 0.25]], [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25]]])


def labels(ticks: Any) -> list[str]:
    return [tick.get_text() for tick in ticks]


def test_attention_of_each_head_and_their_average() -> None:
    figure = attention_figure(WEIGHTS, ["a", " ", "</s>"], ["$x$", "\n"], "a run")
    average, first, second = figure.axes[:3]
    np.testing.assert_allclose(average.images[0].get_array(), [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    np.testing.assert_allclose(second.images[0].get_array(), WEIGHTS[1])
    assert [axes.get_xlabel() for axes in (average, first, second)] == ["average", "head 1", "head 2"]
    assert {axes.images[0].get_clim() for axes in (average, first, second)} == {(0.0, 0.75)}
    assert labels(average.get_xticklabels()) == ["a", "␣", "</s>"]  # white space is to be seen
    assert labels(average.get_yticklabels()) == ["$x$", "↵"]
    assert figure.get_suptitle() == "a run"


def test_one_head_has_no_average_and_a_name() -> None:
    figure = attention_figure(WEIGHTS[:1], ["a", "b", ""], ["x", "y"], names=["head 5"])
    assert [axes.get_xlabel() for axes in figure.axes[:-1]] == ["head 5"]
    assert labels(figure.axes[0].get_xticklabels()) == ["a", "b", "∅"]


def test_long_texts_and_many_heads_stay_on_a_sheet() -> None:
    tokens = [f"token{number}" for number in range(300)]
    figure = attention_figure(np.full((16, 300, 300), 1 / 300), tokens, tokens)
    assert max(figure.get_size_inches()) < 42
    assert 20 < len(figure.axes[0].get_xticks()) < 60


@pytest.mark.parametrize("shape", [(2, 2, 2), (2, 3, 3), (0, 2, 3), (2, 3)])
def test_weights_of_other_tokens_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"`weights` must have a row for each target .*for 2 target and 3 source"
    ):
        attention_figure(np.zeros(shape), ["a", "b", "c"], ["x", "y"])


def test_positions_and_how_alike_they_are() -> None:
    table = np.array([[0.0, 2.0], [3.0, 0.0], [-1.0, 1.0], [0.0, 0.0]])
    likeness = cosines(table)
    half = 0.5**0.5
    np.testing.assert_allclose(likeness[2], [half, -half, 1.0, 0.0])
    figure = positions_figure(table, "made up", rows="distance", first=-2)
    heat, alike = figure.axes[:2]
    np.testing.assert_allclose(heat.images[0].get_array(), table)
    assert heat.images[0].get_clim() == (-3.0, 3.0)
    assert tuple(heat.images[0].get_extent()) == (-0.5, 1.5, 1.5, -2.5)
    np.testing.assert_allclose(alike.images[0].get_array(), likeness)
    assert heat.get_ylabel() == "distance" and figure.get_suptitle() == "made up"


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`table` must have rows and columns. Received: shape \(0, 5\)"):
        positions_figure(np.zeros((0, 5)))


def test_lengths_are_counted_and_described() -> None:
    figure = lengths_figure({"source": [1, 2, 2, 3], "target": np.array([5, 5])}, "toy", limits={"target": 5})
    axes = figure.axes[0]
    assert labels(axes.get_legend().get_texts()) == [
        "source: half up to 2, 95 % up to 3, longest 3",
        "target: half up to 5, 95 % up to 5, longest 5",
        "longest target that is taken: 5",
    ]
    source, target = [patch.get_data() for patch in axes.patches if not patch.get_fill()]
    assert source.values.tolist() == [0, 1, 2, 1, 0, 0] and target.values.tolist() == [0, 0, 0, 0, 0, 2]
    assert source.edges[:3].tolist() == [-0.5, 0.5, 1.5]


def test_a_few_that_are_far_longer_are_counted_in_the_last_bar() -> None:
    figure = lengths_figure({"text": [4] * 999 + [5000]})
    (text,) = [patch.get_data() for patch in figure.axes[0].patches if not patch.get_fill()]
    assert text.values.sum() == 1000 and text.values[-1] == 1 and text.edges[-1] < 10
    assert figure.axes[0].get_xlabel() == "pieces (the last bar: longer ones too)"


@pytest.mark.parametrize("given", [{}, {"source": []}])
def test_no_lengths_are_refused(given: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match="`lengths` must have a length under each of one or more names"):
        lengths_figure(given)


def test_a_schedule_with_its_highest_and_last_rate() -> None:
    figure = schedule_figure([0.001, 0.004, 0.002], [1, 10, 2000], "linear")
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.lines[0].get_xydata(), [[1, 0.001], [10, 0.004], [2000, 0.002]])
    assert labels(axes.get_legend().get_texts()) == [
        "highest: 0.004 at update 10",
        "last: 0.002 at update 2,000",
    ]
    assert labels(schedule_figure([0.1]).axes[0].get_legend().get_texts()) == ["highest: 0.1 at update 1"]
    with pytest.raises(
        ValueError, match=r"`rates` must be one for each .*Received: shapes \(1,\) and \(2,\)"
    ):
        schedule_figure([0.1], [1, 2])


def test_calibration_leaves_empty_bins_out() -> None:
    figure = calibration_figure([0.25, 0.5, 0.9], [0.75, 0.0, 0.8], [1, 0, 3], "toy")
    above, below = figure.axes
    np.testing.assert_allclose(above.lines[1].get_xydata(), [[0.25, 0.75], [0.9, 0.8]])
    # (1 x 0.5 + 3 x 0.1) / 4
    assert labels(above.get_legend().get_texts())[1] == "the answers: 20.0% between, on average"
    assert [patch.get_height() for patch in below.patches] == [1, 3]
    with pytest.raises(ValueError, match=r"must be equally many, and some must be counted.*of 0 answers"):
        calibration_figure([0.5], [0.5], [0])


ROWS = [
    {"step": 10, "seconds": 60.0, "loss": 5.0, "val_loss": 4.0, "val_bleu": 1.5},
    {"step": 20, "seconds": 120.0, "loss": 4.0, "val_loss": 3.0, "val_bleu": None},
    {"step": 30, "seconds": 180.0, "loss": 3.0, "val_loss": 3.5, "val_bleu": 3.25},
]
PANELS = [
    Panel("loss (nats)", "val_loss", "loss", "lowest"),
    Panel("BLEU", "val_bleu", best="highest"),
    Panel("absent", "no_such_figure"),
]


def test_curves_of_two_runs(tmp_path: Path) -> None:
    figure = curves_figure({"one": ROWS, "two": ROWS[:1]}, PANELS, over="seconds")
    loss, bleu = figure.axes
    assert [axes.get_title() for axes in figure.axes] == ["loss (nats)", "BLEU"]
    assert loss.get_xlabel() == "minutes"
    np.testing.assert_allclose(loss.lines[0].get_xydata(), [[1, 4], [2, 3], [3, 3.5]])
    np.testing.assert_allclose(loss.lines[1].get_xydata(), [[1, 5], [2, 4], [3, 3]])
    np.testing.assert_allclose(loss.lines[2].get_xydata(), [[2, 3]])  # the best is marked
    np.testing.assert_allclose(bleu.lines[0].get_xydata(), [[1, 1.5], [3, 3.25]])  # null is no number
    (legend,) = figure.legends
    assert labels(legend.get_texts()) == [
        "one: best loss 3, BLEU 3.25",
        "two: best loss 4, BLEU 1.5",
        "thin: on the training data",
    ]
    colours = [loss.lines[number].get_color() for number in (0, 3)]
    assert colours[0] != colours[1]
    save(figure, tmp_path / "curves.svg")
    assert "<!-- BLEU -->" in (tmp_path / "curves.svg").read_text(encoding="utf-8")


def test_runs_without_numbers_have_no_curves() -> None:
    with pytest.raises(
        ValueError, match=r"`runs` must have numbers for a panel\. Received: none of no_such_figure"
    ):
        curves_figure({"one": ROWS}, PANELS[2:])
