"""Masks written out in full."""

import numpy as np
import pytest
from keras import ops

from tf_transformer.ops.masks import causal_mask, combine_masks, expand_mask, length_mask, padding_mask


def test_padding_mask_is_true_at_real_tokens() -> None:
    mask = ops.convert_to_numpy(padding_mask(np.array([[5, 7, 0], [3, 0, 0]])))
    assert mask.dtype == bool
    assert mask.tolist() == [[[[True, True, False]]], [[[True, False, False]]]]


def test_length_mask_is_true_up_to_each_length() -> None:
    mask = ops.convert_to_numpy(length_mask(np.array([2, 0, 3]), 3))
    assert mask.dtype == bool
    assert mask[:, 0, 0].tolist() == [[True, True, False], [False] * 3, [True] * 3]


def test_causal_mask_hides_what_comes_later() -> None:
    mask = ops.convert_to_numpy(causal_mask(3))
    assert mask.tolist() == [[[[True, False, False], [True, True, False], [True, True, True]]]]
    # Two positions after one that is past: the past is a key alone.
    later = ops.convert_to_numpy(causal_mask(2, past=1))
    assert later.tolist() == [[[[True, True, False], [True, True, True]]]]


def test_combined_masks_let_through_what_all_let_through() -> None:
    combined = combine_masks(causal_mask(2), None, np.array([[True, False], [True, True]]))
    assert ops.convert_to_numpy(combined).tolist() == [
        [[[True, False], [True, False]]],
        [[[True, False], [True, True]]],
    ]
    assert combine_masks(None, None) is None


@pytest.mark.parametrize(
    ("shape", "expanded"),
    [((2, 3), (2, 1, 1, 3)), ((2, 5, 3), (2, 1, 5, 3)), ((2, 7, 5, 3), (2, 7, 5, 3))],
)
def test_expand_mask(shape: tuple[int, ...], expanded: tuple[int, ...]) -> None:
    assert tuple(expand_mask(np.ones(shape, bool)).shape) == expanded


def test_a_mask_of_another_rank_is_refused() -> None:
    with pytest.raises(ValueError, match=r"`attention_mask` must have shape .*Received: shape=\(3,\)"):
        expand_mask(np.ones(3, bool))
