"""Sentences of any lengths: what stands beside and behind a sentence changes nothing about it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.models import Transformer

few = settings(max_examples=4, deadline=None, derandomize=True)
sentences = st.lists(
    st.tuples(*(st.lists(st.integers(1, 12), min_size=1, max_size=5) for _ in range(2))),
    min_size=2,
    max_size=3,
)


@pytest.fixture(scope="module")
def model() -> Transformer:
    sizes: dict[str, Any] = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
    return Transformer(13, seed=7, **sizes)


def padded(rows: list[list[int]], more: int) -> np.ndarray:
    width = max(map(len, rows)) + more
    return np.array([row + [0] * (width - len(row)) for row in rows], "int32")


@few
@given(pairs=sentences, more=st.tuples(st.integers(0, 3), st.integers(0, 3)))
def test_alone_in_a_batch_and_padded_the_same(
    model: Transformer, pairs: list[tuple[list[int], list[int]]], more: tuple[int, int]
) -> None:
    sources, targets = ([pair[side] for pair in pairs] for side in range(2))
    together = np.asarray(
        model({"source_ids": padded(sources, more[0]), "target_ids": padded(targets, more[1])})
    )
    for place, (source, target) in enumerate(pairs):
        alone = model({"source_ids": padded([source], 0), "target_ids": padded([target], 0)})
        np.testing.assert_allclose(together[place, : len(target)], alone[0], atol=2e-5)
    assert np.isfinite(together).all()


@few
@given(pairs=sentences)
def test_step_by_step_in_a_batch_is_all_at_once_alone(
    model: Transformer, pairs: list[tuple[list[int], list[int]]]
) -> None:
    sources, targets = ([pair[side] for pair in pairs] for side in range(2))
    cache = model.start_cache(model.encode(padded(sources, 1)))
    ids = padded(targets, 0)
    steps = []
    for place in range(ids.shape[1]):
        logits, cache = model.step(ids[:, place : place + 1], cache)
        steps.append(np.asarray(logits)[:, 0])
    for row, (source, target) in enumerate(pairs):
        alone = model.decode(padded([target], 0), model.encode(padded([source], 0)))
        for place in range(len(target)):
            np.testing.assert_allclose(steps[place][row], alone[0, place], atol=2e-5)
