"""What dev and test sets share with the training data: whole rows, and rows of which one side is there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tf_transformer.data.characters import is_blank
from tf_transformer.data.labelled import LabelledCorpus, digest, place_of
from tf_transformer.data.sources import Corpus

WHOLE = "whole row"
LABEL = "label"
_SHOWN = 3


@dataclass(frozen=True)
class Pair:
    """A row of a set, and the first one of the training data that it is in."""

    there: str
    in_train: str
    text: str


@dataclass(frozen=True)
class Shared:
    """Rows of a set that are in the training data in one way.

    Args:
        set: Name of the set.
        size: How many rows it has.
        what: `WHOLE`, or the column that is equal while the row is not.
        count: How many rows.
        first: The first few of them.
    """

    set: str
    size: int
    what: str
    count: int
    first: tuple[Pair, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain values."""
        return {**asdict(self), "first": [asdict(pair) for pair in self.first]}


Row = tuple[str, Mapping[str, Any]]
"""Where a row stands, and what it holds by column."""


class TrainingRows:
    """The rows of the training data, to look for those of other sets in.

    Args:
        corpora: All of text or all of labelled examples.
    """

    def __init__(self, corpora: Sequence[Any]) -> None:
        self._rows = list(_rows(corpora))
        self._places: dict[tuple[str, ...], dict[tuple[Any, ...], str]] = {}

    def shared_with(self, name: str, corpora: Sequence[Any]) -> list[Shared]:
        """Looks for the rows of a set.

        Args:
            name: The set's name.
            corpora: Its corpora, of the same kind and normalised likewise; what both have is compared.

        Returns:
            An entry for whole rows, and one for each other column where rows have several. A long text counts
            line by line, and labels, which are in both by their nature, in whole rows alone.
        """
        there = list(_rows(corpora))
        names = list(there[0][1]) if there else []
        names = [each for each in names if self._rows and each in self._rows[0][1]]
        rows = [(where, values, self._place(names, values)) for where, values in there]
        found = [_shared(name, len(rows), WHOLE, [row for row in rows if row[2] is not None])]
        for column in (each for each in names if len(names) > 1 and each != LABEL):
            alone = [
                (where, values, self._place([column], values))
                for where, values, whole in rows
                if whole is None
            ]
            found.append(_shared(name, len(rows), column, [row for row in alone if row[2] is not None]))
        return found

    def _place(self, names: Sequence[str], values: Mapping[str, Any]) -> str | None:
        """The first row with these values; None where there is none."""
        key = tuple(names)
        if key not in self._places:
            rows = reversed(self._rows)
            self._places[key] = {tuple(row[each] for each in key): where for where, row in rows}
        return self._places[key].get(tuple(values[each] for each in key))


def _shared(name: str, size: int, what: str, rows: Sequence[tuple[str, Mapping[str, Any], Any]]) -> Shared:
    first = tuple(Pair(there, str(place), _text(values, what)) for there, values, place in rows[:_SHOWN])
    return Shared(name, size, what, len(rows), first)


def _text(values: Mapping[str, Any], what: str) -> str:
    shown = values.values() if what == WHOLE else [values[what]]
    return " | ".join(value for value in shown if isinstance(value, str))


def _rows(corpora: Sequence[Any]) -> Iterator[Row]:
    for corpus in corpora:
        yield from _examples(corpus) if isinstance(corpus, LabelledCorpus) else _texts(corpus)


def _examples(corpus: LabelledCorpus) -> Iterator[Row]:
    for row, (example, label) in enumerate(zip(corpus.inputs, corpus.labels, strict=True)):
        yield place_of(corpus, row), {"example": digest(example), LABEL: label}


def _texts(corpus: Corpus) -> Iterator[Row]:
    names = list(corpus.columns)
    for line, *texts in zip(corpus.lines.tolist(), *corpus.columns.values(), strict=True):
        if len(texts) == 1 and "\n" in texts[0]:
            for number, part in enumerate(texts[0].split("\n"), start=line):
                if not is_blank(part):
                    yield f"{corpus.name}:{number}", {names[0]: part}
        else:
            yield f"{corpus.name}:{line}", dict(zip(names, texts, strict=True))
