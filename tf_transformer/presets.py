"""Numbers that every floor agrees on: the special ids and the sizes of the named models."""

from typing import Final, Literal, TypedDict

PAD_ID: Final = 0
UNKNOWN_ID: Final = 1
START_ID: Final = 2
END_ID: Final = 3
UNSEEN_LABEL: Final = -1
"""The number of a label that training has never seen: whatever is answered to it is wrong."""
SPECIAL_TOKENS: Final = ("<pad>", "<unk>", "<s>", "</s>")
"""The spelling of ids 0 to 3 in vocabulary files and pictures; no text of a user becomes one of them."""

ExportKind = Literal["savedmodel", "ctranslate2"]
"""What runs an export."""
WeightKind = Literal["float32", "float16", "int8"]
"""How its matrices are stored."""

MOST_HYPOTHESES: Final = 1000
"""The widest beam that a search may be asked for."""
GREATEST_SEED: Final = 2**31 - 1
"""The greatest seed of sampling."""
LONGEST_ANSWER: Final = 10**6
"""The most pieces of an answer that a search may be asked for."""
MOST_SPECIAL_TOKENS: Final = 53
"""How many special tokens of a user's own there may be: one control character stands for each."""
GREATEST_WEIGHT: Final = 1000
"""The most times that an epoch may take a corpus."""


class ModelSizes(TypedDict):
    """The sizes that a preset fixes."""

    num_layers: int
    hidden_dim: int
    intermediate_dim: int
    num_heads: int


# `base` and `big` are table 3 of "Attention Is All You Need" (Vaswani et al., 2017).
MODEL_PRESETS: Final[dict[str, ModelSizes]] = {
    "tiny": {"num_layers": 4, "hidden_dim": 128, "intermediate_dim": 256, "num_heads": 4},
    "small": {"num_layers": 6, "hidden_dim": 256, "intermediate_dim": 1024, "num_heads": 4},
    "base": {"num_layers": 6, "hidden_dim": 512, "intermediate_dim": 2048, "num_heads": 8},
    "big": {"num_layers": 6, "hidden_dim": 1024, "intermediate_dim": 4096, "num_heads": 16},
}
