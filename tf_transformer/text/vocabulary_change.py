"""What becomes of each piece when a tokenizer takes the place of another one."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tf_transformer.errors import TextError, counted
from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.text.tokenizers import Tokenizer

_SHOWN = 8


@dataclass(frozen=True)
class VocabularyChange:
    """Where the ids of a vocabulary come from.

    Args:
        origins: For each id, the ids that the same text had before: its own where the piece was there, those
            of its parts where it is new.
        new: The ids of pieces that were not there.
        lost: Pieces that are there no more.
        spellings: Of the new ones, each with its parts, for a person.
    """

    origins: tuple[tuple[int, ...], ...]
    new: tuple[int, ...]
    lost: tuple[str, ...]
    spellings: tuple[str, ...]

    @property
    def is_none(self) -> bool:
        """Whether every id is what it was."""
        return not self.lost and all(ids == (index,) for index, ids in enumerate(self.origins))

    def to_line(self) -> str:
        """How many pieces are kept, new and lost, with some of the new ones."""
        kept = counted(len(self.origins) - len(self.new), "piece")
        line = f"{kept} kept, {len(self.new):,} new, {len(self.lost):,} lost"
        shown = ", ".join(self.spellings[:_SHOWN]) + (", …" if len(self.spellings) > _SHOWN else "")
        return f"{line}: {shown}" if shown else line


def vocabulary_change(
    old: Tokenizer, new: Tokenizer, old_special: Sequence[str] = (), new_special: Sequence[str] = ()
) -> VocabularyChange:
    """What becomes of each piece when one tokenizer takes the place of another one of its kind.

    Args:
        old: The tokenizer before.
        new: The tokenizer after.
        old_special: Special tokens behind the pieces of `old`.
        new_special: Special tokens behind the pieces of `new`. One that was not there before comes from the
            unknown piece.

    Raises:
        TextError: The two are not of one kind, so that pieces of one mean nothing to the other.
    """
    if old.kind != new.kind:
        raise TextError(f"a tokenizer can only take the place of another {old.kind}. Received: {new.kind}")
    before, after = _ids(old, old_special), _ids(new, new_special)
    added = [name for name in after if name not in before]
    pieces = [name.spelling for name in added if not name.is_special]
    parts = dict(zip(pieces, old.parts_of(pieces), strict=True))

    def origin(name: _Name) -> tuple[int, ...]:
        if name in before:
            return (before[name],)
        return tuple(() if name.is_special else parts[name.spelling]) or (UNKNOWN_ID,)

    names = list(before)
    return VocabularyChange(
        origins=tuple(map(origin, after)),
        new=tuple(after[name] for name in added),
        lost=tuple(name.spelling for name in before if name not in after),
        spellings=tuple(
            f"{name.spelling} ({' '.join(names[part].spelling for part in origin(name))})" for name in added
        ),
    )


class _Name(NamedTuple):
    """A token, which text may spell or not."""

    spelling: str
    is_special: bool


def _ids(tokenizer: Tokenizer, special: Sequence[str]) -> dict[_Name, int]:
    names = [_Name(piece, False) for piece in tokenizer.tokens] + [_Name(token, True) for token in special]
    return {name: index for index, name in enumerate(names)}
