"""Several translation models that answer as one."""

from collections.abc import Sequence
from typing import Any

from keras import ops

from tf_transformer.ops import Tensor


class Ensemble:
    """Has what a search asks of a `Transformer`: the probability of a token is the mean of its members'.

    Args:
        members: Models with the same vocabularies; one may be there several times, and weighs as much.

    Raises:
        ValueError: If there is none, or vocabularies differ in size.
    """

    def __init__(self, members: Sequence[Any]) -> None:
        if not members:
            raise ValueError("`members` must be at least one model. Received: none")
        self.members = list(members)
        for side in ("source_vocabulary_size", "target_vocabulary_size"):
            sizes = [getattr(member, side) for member in members]
            if len(set(sizes)) > 1:
                raise ValueError(f"`members` must have the same `{side}`. Received: {sizes}")
        self.source_vocabulary_size: int = members[0].source_vocabulary_size
        self.target_vocabulary_size: int = members[0].target_vocabulary_size
        lengths = [member.max_length for member in members if member.max_length is not None]
        self.max_length = min(lengths, default=None)

    @property
    def distribute_strategy(self) -> Any:
        """What holds the members, where several devices do."""
        return getattr(self.members[0], "distribute_strategy", None)

    def encode(self, source: Tensor, training: bool | None = False) -> list[Any]:
        """What each member's `encode` returns."""
        return [member.encode(source, training=training) for member in self.members]

    def decode(self, target_ids: Tensor, memory: list[Any], training: bool | None = False) -> Tensor:
        """Log-probabilities `[B, T, V]`: see `Transformer.decode`."""
        pairs = zip(self.members, memory, strict=True)
        return _mean([member.decode(target_ids, one, training=training) for member, one in pairs])

    def decode_attending(self, target_ids: Tensor, memory: list[Any]) -> tuple[Tensor, Tensor]:
        """Log-probabilities, and the mean attention: see `Transformer.decode_attending`."""
        pairs = zip(self.members, memory, strict=True)
        found = [member.decode_attending(target_ids, one) for member, one in pairs]
        return _mean([logits for logits, _ in found]), sum(seen for _, seen in found) / len(found)

    def start_cache(self, memory: list[Any], num_hypotheses: int | Tensor = 1) -> dict[str, Any]:
        """The members' caches: see `Transformer.start_cache`."""
        pairs = zip(self.members, memory, strict=True)
        return _joined([member.start_cache(one, num_hypotheses=num_hypotheses) for member, one in pairs])

    def step(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, dict[str, Any]]:
        """Log-probabilities `[B, K, V]` and the cache: see `Transformer.step`."""
        found = [member.step(ids, one) for member, one in zip(self.members, _apart(cache), strict=True)]
        return _mean([logits for logits, _ in found]), _joined([one for _, one in found])

    def attending_step(self, ids: Tensor, cache: dict[str, Any]) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """The same with the mean attention: see `Transformer.attending_step`."""
        caches = zip(self.members, _apart(cache), strict=True)
        found = [member.attending_step(ids, one) for member, one in caches]
        seen = sum(attention for _, attention, _ in found) / len(found)
        return _mean([one[0] for one in found]), seen, _joined([one[2] for one in found])


def _mean(logits: Sequence[Tensor]) -> Tensor:
    """The logarithm of the mean probability."""
    logs = ops.stack([ops.log_softmax(one, axis=-1) for one in logits])
    return ops.logsumexp(logs, axis=0) - ops.log(float(len(logits)))


def _joined(caches: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: [cache[name] for cache in caches] for name in ("hypotheses", "shared")}


def _apart(cache: dict[str, Any]) -> list[dict[str, Any]]:
    pairs = zip(cache["hypotheses"], cache["shared"], strict=True)
    return [{"hypotheses": hypotheses, "shared": shared} for hypotheses, shared in pairs]
