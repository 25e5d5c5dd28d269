"""What a model looks at in the same few examples at each validation, as pictures to be drawn."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tf_transformer.evaluation.evaluator import Pictures

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SENTENCES = 2
"""Examples that are drawn."""
LONGEST = 40
"""Tokens of a side that can be told apart in a picture; what comes behind is left out."""

Look = Callable[..., tuple[Mapping[str, Any], Mapping[str, tuple[Sequence[str], Sequence[str]]]]]
"""The columns of one example to a model's inputs, and for each kind of attention the tokens of both sides."""


class AttentionPictures:
    """Draws the attention of a model's last block, of each head and on average.

    Args:
        model: Has ``attention(inputs)``, see `Transformer`.
        look: Makes its inputs of one example.
        kinds: Which of its attentions are drawn, such as ``["cross"]``.
    """

    def __init__(self, model: Any, look: Look, kinds: Sequence[str]) -> None:
        self.model = model
        self.look = look
        self.kinds = kinds

    def __call__(self, examples: Sequence[Sequence[Any]]) -> Pictures:
        """Pictures of the first examples.

        Args:
            examples: Each as the arguments of ``look``.
        """
        numbered = enumerate(examples[:SENTENCES], start=1)
        return {
            f"views/{kind}_attention_{number}": partial(self._draw, kind, example)
            for number, example in numbered
            for kind in self.kinds
        }

    def _draw(self, kind: str, example: Sequence[Any]) -> "Figure":
        from tf_transformer.plots.attention import attention_figure

        inputs, sides = self.look(*example)
        weights = np.asarray(self.model.attention(inputs)[kind][-1])[0]  # [H, T, S] of the last block
        rows, columns = (list(tokens)[:LONGEST] for tokens in sides[kind])
        figure: Figure = attention_figure(
            weights[:, : len(rows), : len(columns)], columns, rows, f"{kind} attention, last block"
        )
        return figure
