"""A language model as a step function for texts that are longer than what it was trained on.

It sees a window of at most L positions, the start token and L - 1 tokens. When the window is full, it begins
anew: the start token and the last L - S tokens are read in one pass, and it goes on from there; all before
them is forgotten. So each token but the first L is predicted from at least L - S tokens, and exactly as
`data.windows` has it in evaluation: windows begin every S tokens.
"""

from typing import Any

import tensorflow as tf

from tf_transformer.arguments import whole_number
from tf_transformer.decoding.arguments import Cache

Tensor = Any


class Windowed:
    """Reads texts of any length, for a search or for sampling.

    Args:
        model: Has `start_cache` and `read` as `LanguageModel` has.
        window: L, at least 2.
        stride: S, from 1 to L - 1.
        start_id: The token that every window starts with.

    Raises:
        TypeError: If a size is no whole number.
        ValueError: If one is out of its range.
    """

    def __init__(self, model: Any, window: int, stride: int, start_id: int) -> None:
        self.model = model
        self.window = whole_number("window", window, 2)
        self.stride = whole_number("stride", stride, 1, self.window - 1)
        self.start_id = start_id

    def begin(self, prompts: Tensor, taken: int | Tensor, num_hypotheses: int | Tensor) -> Cache:
        """The cache after the start token and the first tokens of prompts.

        Args:
            prompts: int32 `[B, P]`.
            taken: int32 scalar, how many tokens are read, the start token among them; 0 for nothing.
            num_hypotheses: K, the texts that begin with each prompt.

        Returns:
            A cache for `step`.
        """
        taken = tf.convert_to_tensor(taken, tf.int32)
        # After all windows that are full, the last one holds what is left.
        forgotten = self.stride * tf.maximum(-(-(taken - self.window) // self.stride), 0)
        starts = tf.fill([tf.shape(prompts)[0], tf.minimum(taken, 1)], self.start_id)
        ids = tf.concat([starts, prompts[:, forgotten : tf.maximum(taken - 1, 0)]], axis=1)  # [B, t]
        shape = [tf.shape(ids)[0], num_hypotheses, tf.shape(ids)[1]]
        ids = tf.broadcast_to(ids[:, None, :], shape)
        empty = _with_ids(self.model.start_cache(shape[0], num_hypotheses), ids)
        if ids.shape[-1] == 0:  # a graph that knows it cannot even be made to read nothing
            return empty
        cache: Cache = tf.cond(taken > 0, lambda: self._read(ids)[1], lambda: empty)
        return cache

    def step(self, ids: Tensor, cache: Cache) -> tuple[Tensor, Cache]:
        """One more token of each text: ids int32 `[B, K]`, to logits `[B, K, V]` and the grown cache."""
        before = cache["hypotheses"]["ids"][..., 0]  # [B, K, t], the start token first
        grown = tf.concat([before, ids[..., None]], axis=-1)

        def goes_on() -> tuple[Tensor, Cache]:
            inner = {**cache, "hypotheses": cache["hypotheses"]["model"]}
            logits, inner = self.model.read(ids[..., None], inner)
            return logits, _with_ids(inner, grown)

        def begins_anew() -> tuple[Tensor, Cache]:
            kept = grown[..., tf.shape(grown)[-1] - (self.window - self.stride) :]
            return self._read(tf.concat([tf.fill([*tf.unstack(tf.shape(ids)), 1], self.start_id), kept], -1))

        result: tuple[Tensor, Cache] = tf.cond(tf.shape(before)[-1] < self.window, goes_on, begins_anew)
        return result

    def _read(self, ids: Tensor) -> tuple[Tensor, Cache]:
        shape = tf.shape(ids)
        logits, cache = self.model.read(ids, self.model.start_cache(shape[0], shape[1]))
        return logits, _with_ids(cache, ids)


def _with_ids(cache: Cache, ids: Tensor) -> Cache:
    """The tokens are part of each hypothesis: a search that reorders these reorders them as well."""
    return {**cache, "hypotheses": {"model": cache["hypotheses"], "ids": ids[..., None]}}
