"""What every model's blocks get from a recipe."""

from typing import Any

from tf_transformer.models.deep_norm import deep_norm_alone
from tf_transformer.recipe.model_section import Model, SequenceModel


def stack_keywords(model: Model) -> dict[str, Any]:
    """The keys of a recipe's ``model`` section that say what blocks are made of, as flat keywords.

    Models take them as they are, stacks of blocks too, but for ``norm: deep``.
    """
    keywords: dict[str, Any] = {
        "num_layers": model.num_layers,
        "num_heads": model.num_heads,
        "intermediate_dim": model.intermediate_dim,
        "num_key_value_heads": model.num_key_value_heads,
        "share_layers": model.share_layers,
        "dropout": model.dropout,
        "attention_dropout": model.attention_dropout,
        "activation_dropout": model.activation_dropout,
        "activation": model.activation,
        "norm": model.norm,
        "norm_kind": model.norm_kind,
    }
    if isinstance(model, SequenceModel):
        keywords["positions"] = model.positions
        if model.max_distance is not None:
            keywords["max_distance"] = model.max_distance
    return keywords


def encoder_keywords(model: Model) -> dict[str, Any]:
    """The same for an `Encoder` that no decoder reads, ``norm: deep`` resolved."""
    keywords = stack_keywords(model)
    if model.norm == "deep":
        keywords |= {"norm": "post", **deep_norm_alone(model.num_layers)}
    return keywords


def embedding_keywords(model: SequenceModel) -> dict[str, Any]:
    """The keys that say what comes before the first block of a sequence, beside what it is embedded from."""
    return {
        "hidden_dim": model.hidden_dim,
        "positions": model.positions,
        "max_length": model.max_length,
        "norm_kind": model.norm_kind if model.embedding_norm else None,
        "dropout": model.dropout,
    }
