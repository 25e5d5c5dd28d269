"""Checks of what models are constructed and called with."""

from collections.abc import Sequence
from typing import Any

from keras import ops

from tf_transformer.arguments import whole_number
from tf_transformer.layers.arguments import check_choice
from tf_transformer.ops import Tensor
from tf_transformer.ops.checks import check_ids

TIES = ("all", "output", "none")


def vocabulary_sizes(shared: int | None, source: int | None, target: int | None) -> tuple[int, int]:
    """The sizes of both sides, from one that they share or from one each."""
    sizes = {"vocabulary_size": shared, "source_vocabulary_size": source, "target_vocabulary_size": target}
    shared, source, target = (
        None if size is None else whole_number(name, size, 1) for name, size in sizes.items()
    )
    if shared is not None and source is None and target is None:
        return shared, shared
    if shared is None and source is not None and target is not None:
        return source, target
    raise ValueError(
        "Give either `vocabulary_size`, or both `source_vocabulary_size` and `target_vocabulary_size`. "
        f"Received: vocabulary_size={shared}, source_vocabulary_size={source}, "
        f"target_vocabulary_size={target}"
    )


def target_size_alone(shared: int | None, source: int | None, target: int | None) -> int:
    """The size of the target's vocabulary, where the source has none."""
    if shared is not None or source is not None or target is None:
        raise ValueError(
            "With `source_embedding`, give `target_vocabulary_size` alone: the source has no tokens. "
            f"Received: vocabulary_size={shared}, source_vocabulary_size={source}, "
            f"target_vocabulary_size={target}"
        )
    return whole_number("target_vocabulary_size", target, 1)


def check_width(embedding: int, model: int) -> None:
    """Refuses a layer whose vectors the encoder is not made for."""
    if embedding != model:
        raise ValueError(
            "The `hidden_dim` of `source_embedding` must be that of the model. "
            f"Received: {embedding} and hidden_dim={model}"
        )


def chosen_ties(tie_embeddings: str | None, shared: bool, widths: tuple[int, int]) -> str:
    """The tie that was asked for, or the usual one.

    Args:
        tie_embeddings: What was asked for, or None.
        shared: Whether there is one vocabulary.
        widths: Of the encoder and of the decoder.
    """
    one_table = shared and widths[0] == widths[1]
    if tie_embeddings is None:
        return "all" if one_table else "output"
    check_choice(TIES, tie_embeddings=tie_embeddings)
    if tie_embeddings == "all" and not shared:
        raise ValueError(
            "Argument `tie_embeddings` must be 'output' or 'none' where the vocabularies differ: one table "
            "needs one `vocabulary_size`. Received: tie_embeddings='all'"
        )
    if tie_embeddings == "all" and not one_table:
        raise ValueError(
            "Argument `tie_embeddings` must be 'output' or 'none' where the widths differ. "
            f"Received: tie_embeddings='all', hidden_dim={widths[0]}, decoder_hidden_dim={widths[1]}"
        )
    return tie_embeddings


def two_sides(inputs: Any, source: Sequence[str] = ("source_ids",)) -> tuple[list[Tensor], Tensor]:
    """What the source is made of, and the target ids, out of a model's inputs."""
    *parts, target = _named(inputs, *source, "target_ids")
    return parts, target


def one_side(inputs: Any, name: str) -> Tensor:
    """The only ids of a model's inputs."""
    return _named(inputs, name)[0]


def _named(inputs: Any, *names: str) -> list[Tensor]:
    if not isinstance(inputs, dict) or not set(names) <= set(inputs):
        received = sorted(inputs) if isinstance(inputs, dict) else type(inputs).__name__
        wanted = " and ".join(f"`{name}`" for name in names)
        raise ValueError(f"Inputs must be a dict with {wanted}. Received: {received}")
    return [inputs[name] for name in names]


def padded_ids(name: str, ids: Any, vocabulary_size: int) -> Tensor:
    """Token ids as a tensor of two axes, none of them outside the vocabulary as far as one can see."""
    ids = ops.convert_to_tensor(ids)
    if hasattr(ids, "row_splits") or len(ids.shape) != 2:
        received = "ragged rows" if hasattr(ids, "row_splits") else f"shape {tuple(ids.shape)}"
        raise ValueError(f"`{name}` must have two axes, [batch, length], padded. Received: {received}")
    check_ids(name, ids, vocabulary_size)
    return ids
