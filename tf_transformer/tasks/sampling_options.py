"""How a text is continued, checked when it is said and not when it is needed."""

from dataclasses import dataclass
from typing import Any

from tf_transformer.arguments import whole_number
from tf_transformer.presets import LONGEST_ANSWER
from tf_transformer.tasks.piece_rules import plain_rules


@dataclass(frozen=True)
class SamplingOptions:
    """How a text is continued.

    Args:
        max_length: The most pieces of a continuation.
        temperature: The logits are divided by it: below 1 the likely pieces become likelier, 0 always takes
            the likeliest.
        top_k: Only so many of the likeliest pieces may be drawn; 0 for all.
        top_p: Only the likeliest pieces that together have this probability may be drawn; 1 for all.
        repetition_penalty: Pieces that were there before, prompt included, are made less likely by this
            factor of their logits; 1 for none.
        no_repeat: So many pieces in a row never come twice in a text, prompt included; 0 for no such rule.
        banned: Pieces of the vocabulary that are never drawn, as text.
        seed: Of the random numbers.

    Raises:
        TypeError: When a value is of a wrong type.
        ValueError: When a value is out of its range.
    """

    max_length: int = 200
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    repetition_penalty: float = 1.0
    no_repeat: int = 0
    banned: tuple[str, ...] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        # NumPy's numbers become plain ones: equal options are one traced graph.
        plain = {
            "max_length": whole_number("max_length", self.max_length, 1, LONGEST_ANSWER),
            **plain_rules(self),
        }
        for name, value in plain.items():
            object.__setattr__(self, name, value)

    def replaced(self, **sampling: Any) -> "SamplingOptions":
        """These options with some fields replaced.

        Raises:
            TypeError: For a value of a wrong type.
            ValueError: For a field that does not exist or a value out of its range.
        """
        unknown = sorted(set(sampling) - set(self.__dataclass_fields__))
        if unknown:
            known = ", ".join(self.__dataclass_fields__)
            raise ValueError(f"Sampling options must be among {known}. Received: {', '.join(unknown)}")
        return SamplingOptions(**{**self.__dict__, **sampling})
