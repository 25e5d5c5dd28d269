"""How an example becomes what a model looks at: its inputs, and the token that stands at each position."""

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.evaluation.attention import AttentionPictures
from tf_transformer.text import ClassificationPreprocessor, LanguagePreprocessor, Preprocessor

MOST = 512
"""Positions of an example that a model is given for a picture, which shows fewer."""

Seen = tuple[Any, Mapping[str, tuple[Sequence[str], Sequence[str]]]]
"""Inputs, a batch of one; for each kind of attention the tokens that look, and those that are looked at."""


def pair_seen(side: Preprocessor, source_ids: tf.RaggedTensor, target_ids: tf.RaggedTensor) -> Seen:
    """A pair of ids, a batch of one each.

    A row of cross-attention is the token that is predicted there; one of self-attention, that is read.
    """
    inputs, labels = side.assemble(source_ids, target_ids)
    source = _tokens(side.source_tokens, inputs["source_ids"])
    names = side.source_tokens if side.shared else side.target_tokenizer.tokens
    read, predicted = _tokens(names, inputs["target_ids"]), _tokens(names, labels)
    return inputs, {"cross": (predicted, source), "encoder": (source, source), "decoder": (read, read)}


def prompt_seen(side: LanguagePreprocessor, ids: tf.RaggedTensor) -> Seen:
    """A text's ids, of which the last one is predicted and not read."""
    inputs, _ = side.assemble(ids)
    tokens = _tokens(side.tokenizer.tokens, inputs["target_ids"])
    return inputs, {"decoder": (tokens, tokens)}


def text_seen(side: ClassificationPreprocessor, ids: tf.RaggedTensor) -> Seen:
    """A text's ids that get a label."""
    inputs, _ = side.assemble(ids, tf.constant([0]))  # the label has no part in them
    tokens = _tokens(side.tokens, inputs["source_ids"])
    return inputs, {"encoder": (tokens, tokens)}


def pair_attention(model: Any, side: Preprocessor, with_self: bool) -> AttentionPictures:
    """Pictures of pairs.

    Args:
        model: A `Transformer`.
        side: Makes its inputs.
        with_self: Whether self-attention is drawn beside cross-attention.
    """

    def look(source: str, target: str) -> Seen:
        most = _most(model)
        return pair_seen(
            side, side.encode_source([source])[:, :most], side.encode_target([target])[:, : most - 1]
        )

    return AttentionPictures(model, look, ["cross", "encoder", "decoder"] if with_self else ["cross"])


def prompt_attention(model: Any, side: LanguagePreprocessor) -> AttentionPictures:
    """Pictures of prompts.

    Args:
        model: A `LanguageModel`.
        side: Makes its inputs.
    """

    def look(prompt: str) -> Seen:
        return prompt_seen(side, side.encode_text([prompt])[:, : _most(model)])

    return AttentionPictures(model, look, ["decoder"])


def text_attention(model: Any, side: ClassificationPreprocessor) -> AttentionPictures:
    """Pictures of texts that are classified.

    Args:
        model: A `Classifier`.
        side: Makes its inputs.
    """

    def look(text: str) -> Seen:
        return text_seen(side, side.encode_text([text])[:, : _most(model.embedding)])

    return AttentionPictures(model, look, ["encoder"])


def _most(places: Any) -> int:
    """Positions that a model, or its embedding, can take of an example for a picture."""
    return min(places.max_length or MOST, MOST)


def _tokens(names: Sequence[str], ids: Any) -> list[str]:
    return [names[number] for number in ids.numpy()[0]]
