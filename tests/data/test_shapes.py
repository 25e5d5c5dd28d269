"""The grid of padded shapes: greedy thinning by hand, and a shape for whatever comes."""

import numpy as np

from tf_transformer.data.shapes import ShapeGrid, stratum_edges, thin


def test_levels_go_where_they_pad_least() -> None:
    lengths, counts = np.array([2, 3, 5, 11]), np.array([7, 1, 3, 2])
    # Rounding up costs 7 for 2 -> 3, 2 for 3 -> 5, 18 for 5 -> 11: 3 goes.
    # Then 2 -> 5 costs 21 and 5 -> 11, with its 4 rows, 24: 2 goes.
    assert thin([(lengths, counts)], 4)[0].tolist() == [2, 3, 5, 11]
    assert thin([(lengths, counts)], 3)[0].tolist() == [2, 5, 11]
    assert thin([(lengths, counts)], 2)[0].tolist() == [5, 11]
    assert thin([(lengths, counts)], 1)[0].tolist() == [11]
    assert thin([(lengths, counts)], 0)[0].tolist() == [11]


def test_groups_share_the_limit() -> None:
    rare, common = (np.array([2, 7]), np.array([1, 1])), (np.array([2, 7]), np.array([5, 5]))
    assert [kept.tolist() for kept in thin([rare, common], 3)] == [[7], [2, 7]]


def test_strata_end_at_lengths_that_occur() -> None:
    assert stratum_edges(np.array([2, 2, 2, 3, 11, 13]), 2).tolist() == [3, 13]


def test_the_cheapest_shape_covers() -> None:
    edges = np.array([5, 11])
    first, second, sizes = np.array([5, 4, 5, 11]), np.array([3, 7, 7, 3]), np.array([2, 2, 2, 2])
    grid = ShapeGrid(edges, first, second, sizes, (11, 13), 7)
    assert grid.shapes.tolist() == [[5, 3], [5, 7], [11, 3], [11, 13]]
    covered = grid.cover(np.array([2, 5, 6, 3, 11]), np.array([3, 4, 2, 8, 13]))
    assert covered.tolist() == [[5, 3], [5, 7], [11, 3], [11, 13], [11, 13]]
    assert ShapeGrid(edges, first, second, sizes, (11, 13), 1).shapes.tolist() == [[11, 13]]
    assert len(ShapeGrid(edges, first, second, sizes, (11, 13), 3).shapes) == 3
