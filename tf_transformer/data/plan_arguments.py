"""What a batch plan is made from, checked: lengths, corpora and their weights."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from tf_transformer.arguments import finite_number, whole_number
from tf_transformer.data.shapes import IntArray
from tf_transformer.presets import GREATEST_WEIGHT


def corpus_parts(
    size: int, corpora: IntArray | None, weights: Sequence[float] | None
) -> list[tuple[IntArray, Fraction]]:
    """The rows of each corpus, and exactly how often an epoch takes them.

    Raises:
        TypeError: A weight is no number.
        ValueError: Numbers of rows or corpora do not fit, or a weight is out of its range.
    """
    index = np.zeros(size, np.int64) if corpora is None else np.asarray(corpora)
    if len(index) != size:
        raise ValueError(f"`corpora` must have an entry for each of {size} rows. Received: {len(index)}")
    if index.dtype.kind not in "iu" or index.min() < 0:
        raise ValueError(f"`corpora` must be whole numbers, at least 0. Received: {index.tolist()[:9]}")
    count = int(index.max()) + 1
    chosen = [1.0] * count if weights is None else [finite_number("weights", one, 0.0) for one in weights]
    if len(chosen) < count or max(chosen) > GREATEST_WEIGHT:
        raise ValueError(
            f"`weights` must give each of {count} corpora a number from 0 to {GREATEST_WEIGHT}. "
            f"Received: {chosen}"
        )
    exact = [Fraction(weight).limit_denominator(1_000_000) for weight in chosen]
    parts = [(np.flatnonzero(index == at), exact[at]) for at in range(count)]
    if not any(weight * len(rows) for rows, weight in parts):
        raise ValueError(f"`weights` must be above 0 for a corpus that has rows. Received: {chosen}")
    return parts


def tempered(weights: Sequence[float], sizes: Sequence[int], temperature: float) -> list[float]:
    """Weights of corpora whose shares are evened out.

    A corpus of n of all N rows then has a share of the epoch in proportion to its weight times
    (n / N) ** (1 / temperature), and an epoch has as many rows as before. Source: "Massively Multilingual
    Neural Machine Translation in the Wild", https://arxiv.org/abs/1907.05019.

    Args:
        weights: How often an epoch takes each corpus.
        sizes: Rows of each.
        temperature: 1 leaves the shares as they are; the higher, the more equal.
    """
    if temperature == 1.0:
        return list(weights)
    pairs = list(zip(weights, sizes, strict=True))
    raised = [weight * size ** (1.0 / temperature) for weight, size in pairs]
    scale = sum(weight * size for weight, size in pairs) / max(sum(raised), 1e-300)
    found = [scale * part / size if size else 0.0 for part, size in zip(raised, sizes, strict=True)]
    return [min(weight, GREATEST_WEIGHT) for weight in found]


def check_plan(
    lengths: Mapping[str, IntArray], batch_tokens: int, budget_column: str | None, seed: int, max_shapes: int
) -> None:
    """Refuses what no plan can be made of; errors as of `BatchPlan`."""
    sizes = {name: len(values) for name, values in lengths.items()}
    if not 1 <= len(sizes) <= 2 or len(set(sizes.values())) != 1 or not next(iter(sizes.values())):
        raise ValueError(f"`lengths` must be one or two columns of equally many rows. Received: {sizes}")
    for values in map(np.asarray, lengths.values()):
        if values.ndim != 1 or values.dtype.kind not in "iu":
            received = f"{values.dtype}, {values.ndim} axes"
            raise ValueError(f"`lengths` must be whole numbers, one a row. Received: {received}")
        if np.min(values) < 1:
            raise ValueError("`lengths` must be at least 1. Received: a row of length 0")
    if budget_column is not None and budget_column not in sizes:
        raise ValueError(f"`budget_column` must be None or one of {list(sizes)}. Received: {budget_column!r}")
    for name, value, least in (
        ("batch_tokens", batch_tokens, 1),
        ("seed", seed, 0),
        ("max_shapes", max_shapes, 1),
    ):
        whole_number(name, value, least)
