"""What TensorBoard shows as text: answers and what has changed in them, the recipe, the fate of the data."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tf_transformer.evaluation import Sample
from tf_transformer.word_changes import word_changes

PERCENTILES = (0, 5, 50, 95, 100)
_SPECIAL = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|~"})
"""What Markdown would take for its own, in texts that are to be read as they are."""


def plain(text: str) -> str:
    """A text as a cell of a table: nothing in it is Markdown, and it is one line."""
    return " ".join(text.translate(_SPECIAL).split())


def code(text: str) -> str:
    """A text as it is, in lines."""
    return f"```\n{text}\n```"


def samples_table(samples: Sequence[Sample], before: Mapping[str, str]) -> str:
    """Answers to the same examples as ever, in Markdown.

    Args:
        samples: As the model answers now.
        before: The answers of the validation before, by source; empty at the first one.

    Returns:
        A table; a column of scores where there are any, and one of changes where something was before.
    """
    scored, compared = any(one.score is not None for one in samples), bool(before)
    head = ["source", "reference", "output", *["score"] * scored, *["change"] * compared]
    rows = [head, ["---"] * len(head)]
    for one in samples:
        score = [] if not scored else ["" if one.score is None else f"{one.score:.1f}"]
        change = [] if not compared else [_change(before.get(one.source), one.output)]
        rows.append([plain(one.source), plain(one.reference), plain(one.output), *score, *change])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _change(before: str | None, now: str) -> str:
    if before is None:
        return "new"
    return "same" if before == now else word_difference(before, now)


def word_difference(before: str, now: str) -> str:
    """How one text became another, word by word, in Markdown: *(gone)* and **new**.

    A text without spaces, of Chinese say, is compared character by character.

    Args:
        before: The text that was.
        now: The text that is.
    """
    parts: list[str] = []
    for gone, come, is_same in word_changes(before, now):
        if is_same:
            parts.append(plain(come))
            continue
        parts += [f"*({plain(gone)})*"] if gone.strip() else []
        parts += [f"**{plain(come)}**"] if come.strip() else []
    return " ".join(parts)


def data_report(lines: Sequence[str], lengths: Mapping[str, np.ndarray[Any, Any]]) -> str:
    """What was read, kept and dropped, and how long examples are, in Markdown.

    Args:
        lines: The report on the data, as the terminal shows it.
        lengths: Those of the training examples, by column.
    """
    parts = [code("\n".join(lines))]
    if lengths:
        names = [{0: "shortest", 50: "median", 100: "longest"}.get(one, f"{one} %") for one in PERCENTILES]
        rows = [["positions", *names, "mean"], ["---", *["---:"] * (len(names) + 1)]]
        for name, values in lengths.items():
            found = [f"{value:.0f}" for value in np.percentile(values, PERCENTILES)]
            rows.append([name, *found, f"{np.mean(values):.1f}"])
        parts.append("\n".join(f"| {' | '.join(row)} |" for row in rows))
    return "\n\n".join(parts)
