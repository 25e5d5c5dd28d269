"""How an example becomes what a model looks at, for pictures of its attention."""

from typing import Any

import tensorflow as tf

from tf_transformer.evaluation.attention import AttentionPictures
from tf_transformer.text import ClassificationPreprocessor, LanguagePreprocessor, Preprocessor

MOST = 512
"""Positions of an example that a model is given for a picture, which shows fewer."""


def pair_attention(model: Any, side: Preprocessor, with_self: bool) -> AttentionPictures:
    """Pictures of pairs; a row is named after the token that its position predicts.

    Args:
        model: A `Transformer`.
        side: Makes its inputs.
        with_self: Whether self-attention is drawn beside cross-attention.
    """

    def look(source: str, target: str) -> Any:
        most = _most(model)
        ids = side.encode_source([source])[:, :most], side.encode_target([target])[:, : most - 1]
        inputs, labels = side.assemble(*ids)
        sources, targets = side.source_tokens, side.target_tokenizer.tokens
        return inputs, {
            "source": [sources[place] for place in inputs["source_ids"].numpy()[0]],
            "target": [targets[place] for place in labels.numpy()[0]],
        }

    own = {"encoder": ("source", "source"), "decoder": ("target", "target")}
    return AttentionPictures(model, look, {"cross": ("target", "source"), **(own if with_self else {})})


def prompt_attention(model: Any, side: LanguagePreprocessor) -> AttentionPictures:
    """Pictures of prompts, likewise.

    Args:
        model: A `LanguageModel`.
        side: Makes its inputs.
    """

    def look(prompt: str) -> Any:
        inputs, labels = side.assemble(side.encode_text([prompt])[:, : _most(model)])
        return inputs, {"target": [side.tokenizer.tokens[place] for place in labels.numpy()[0]]}

    return AttentionPictures(model, look, {"decoder": ("target", "target")})


def text_attention(model: Any, side: ClassificationPreprocessor) -> AttentionPictures:
    """Pictures of texts that are classified.

    Args:
        model: A `Classifier`.
        side: Makes its inputs.
    """

    def look(text: str) -> Any:
        ids = side.encode_text([text])[:, : _most(model.embedding)]
        inputs, _ = side.assemble(ids, tf.constant([0]))  # the label has no part in them
        return inputs, {"text": [side.tokens[place] for place in inputs["source_ids"].numpy()[0]]}

    return AttentionPictures(model, look, {"encoder": ("text", "text")})


def _most(places: Any) -> int:
    """Positions that a model, or its embedding, can take of an example for a picture."""
    return min(places.max_length or MOST, MOST)
