"""Tensor functions without weights, written with `keras.ops` alone so that they run on any Keras backend.

Shapes, here and in `layers/`: B batch, T length of the queries, S length of the keys, D width of the model,
H heads, d width of one head, V vocabulary, K hypotheses of a search. A leading `...` is any number of axes.
"""

from typing import Any, TypeAlias

Tensor: TypeAlias = Any
"""A tensor of whichever backend Keras runs on."""
