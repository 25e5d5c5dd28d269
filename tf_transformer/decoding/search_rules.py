"""What the hypotheses of a search must keep to, beside what the model says.

Shapes: B sentences, K hypotheses, V vocabulary, P pieces of the longest prefix, T of the longest hypothesis.
A rule that is not asked for adds nothing to the graph.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from tf_transformer.decoding.drawing import completing_tokens, penalize_repetition, seen_tokens

Tensor = Any


class SearchRules(NamedTuple):
    """Rules of one search; those that are tensors are each sentence's own.

    Attributes:
        prefixes: int32 `[B, P]`, the tokens that hypotheses must begin with, padded with 0; None for none.
            They go before all other rules, and their probabilities count like any other's.
        prefix_lengths: int32 `[B]`; None where `prefixes` is.
        min_lengths: int32 `[B]`, no hypothesis ends before it has so many tokens; None for none.
        banned_ids: Tokens that are never chosen.
        repetition_penalty: See `penalize_repetition`, a number or float32 `[B]`. What the search ranks by is
            the distribution after it, of which all log-probabilities are; 1 for none.
        no_repeat: So many tokens in a row never come twice in a hypothesis; 0 for no such rule.
        diversity: What the search takes off a hypothesis, for this step's choice alone, for each likelier one
            with the same parent ("A Simple, Fast Diverse Decoding Algorithm for Neural Generation", Li,
            Monroe and Jurafsky, 2016); 0 for nothing.
    """

    prefixes: Tensor | None = None
    prefix_lengths: Tensor | None = None
    min_lengths: Tensor | None = None
    banned_ids: tuple[int, ...] = ()
    repetition_penalty: float | Tensor = 1.0
    no_repeat: int = 0
    diversity: float = 0.0

    def within(self, max_lengths: Tensor) -> tuple["SearchRules", Tensor]:
        """The rules and the limits `[B]` that agree: a prefix has room, and at its limit all may end."""
        if self.prefix_lengths is not None:
            max_lengths = tf.maximum(max_lengths, self.prefix_lengths)
        if self.min_lengths is None:
            return self, max_lengths
        return self._replace(min_lengths=tf.minimum(self.min_lengths, max_lengths)), max_lengths

    @property
    def tensors(self) -> dict[str, Tensor]:
        """What sentences have of their own, by name."""
        return {name: value for name, value in self._asdict().items() if tf.is_tensor(value)}

    def of(self, tensors: dict[str, Tensor]) -> "SearchRules":
        """The rules of some of the sentences, given `tensors` of these."""
        return self._replace(**tensors)

    @property
    def bans(self) -> bool:
        """Whether there is any token that may not come."""
        asked = (self.prefixes, self.min_lengths)
        return bool(self.banned_ids or self.no_repeat) or any(one is not None for one in asked)

    def narrowed(
        self, logits: Tensor, ids: Tensor, time: Tensor, end_id: int
    ) -> tuple[Tensor, Tensor | None]:
        """What may come next.

        Args:
            logits: `[B, K, V]`.
            ids: int32 `[B, K, T]`, the hypotheses.
            time: int32 scalar, how many tokens each of them has.
            end_id: The token that ends them.

        Returns:
            The logits, penalised; and the tokens that may not come, bool of a shape that broadcasts to
            theirs, or None where all may.
        """
        size = logits.shape[-1] or tf.shape(logits)[-1]
        logits = self._penalized(logits, ids, time, size)
        if not self.bans:
            return logits, None
        tokens = tf.range(size)
        banned: list[Tensor] = []
        if self.banned_ids:
            banned.append(tf.reduce_any(tokens == tf.constant(self.banned_ids)[:, None], axis=0)[None, None])
        if self.min_lengths is not None:
            banned.append((time < self.min_lengths)[:, None, None] & (tokens == end_id))
        if self.no_repeat:
            banned.append(completing_tokens(ids, time, self.no_repeat, size))
        found = None
        for one in banned:
            found = one if found is None else found | one
        return logits, self._forced(found, tokens, time)

    def _penalized(self, logits: Tensor, ids: Tensor, time: Tensor, size: Any) -> Tensor:
        if isinstance(self.repetition_penalty, float) and self.repetition_penalty == 1.0:
            return logits
        logits = tf.cast(logits, tf.float32)
        penalty = tf.reshape(tf.cast(self.repetition_penalty, tf.float32), [-1, 1, 1])

        def penalized() -> Tensor:
            return penalize_repetition(logits, seen_tokens(ids, time, size), penalty)

        # Where none of a batch has one, several passes over the vocabulary are saved.
        return tf.cond(tf.reduce_any(penalty != 1.0), penalized, lambda: logits)

    def _forced(self, banned: Tensor | None, tokens: Tensor, time: Tensor) -> Tensor | None:
        """All but the prefix' own token is banned while it lasts."""
        if self.prefixes is None:
            return banned
        padded = tf.pad(self.prefixes, [[0, 0], [0, 1]])  # no prefix at all has a place to look at, too
        given = tf.gather(padded, tf.minimum(time, tf.shape(padded)[1] - 1), axis=1)  # [B]
        lasts = (time < self.prefix_lengths)[:, None, None]
        others = tokens != given[:, None, None]
        return tf.where(lasts, others, tf.zeros_like(others) if banned is None else banned)
