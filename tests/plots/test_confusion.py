"""The picture of a confusion matrix holds what the matrix does."""

import numpy as np
import pytest

from tf_transformer.plots.confusion import confusion_figure


def test_counts_shares_and_names_are_drawn() -> None:
    confusion = np.array([[1200, 400], [0, 3]])
    figure = confusion_figure(confusion, ["plain", "$x^2$"], "dev")
    axes = figure.axes[0]
    assert [text.get_text() for text in axes.texts] == ["1,200", "400", "3"]
    np.testing.assert_allclose(axes.images[0].get_array(), [[0.75, 0.25], [0.0, 1.0]])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["plain", "$x^2$"]
    figure.draw_without_rendering()


def test_many_labels_have_no_numbers() -> None:
    figure = confusion_figure(np.eye(41, dtype=int), [str(number) for number in range(41)])
    assert not figure.axes[0].texts


def test_a_thousand_labels_need_no_wall_to_hang_on() -> None:
    figure = confusion_figure(np.eye(1000, dtype=int), [str(number) for number in range(1000)])
    assert figure.get_size_inches().max() <= 41
    assert figure.axes[0].get_yticklabels()[0].get_fontsize() < 3


def test_a_class_without_examples_is_an_empty_row() -> None:
    figure = confusion_figure(np.array([[0, 0], [1, 1]]), ["a", "b"])
    np.testing.assert_allclose(figure.axes[0].images[0].get_array(), [[0, 0], [0.5, 0.5]])


def test_a_matrix_of_another_size_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"`confusion` must have one row .*Received: shape \(2, 2\) for 3 labels"
    ):
        confusion_figure(np.eye(2), ["a", "b", "c"])
