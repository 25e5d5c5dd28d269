"""What a source may be beside one text: several columns of text, and a tag such as the answer's language.

As one string, a *line*, such a source is its tag, where there are tags, and its columns, with a tab between
each two. As ids it is the tag's id, the pieces of each column, and the separator's id between two columns.
No text can forge these ids: they stand behind those of the tokenizer, and a tab in a text makes a column too
many, which is refused, or is white space like any other where there is one column.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import tensorflow as tf

from tf_transformer.arguments import list_of_strings, whole_number

SEPARATOR: Final = "<|>"
"""How the separator is shown to a person."""
_TAB: Final = "\t"
_LONGEST_SHOWN: Final = 60


@dataclass(frozen=True)
class SourceForm:
    """How many columns the sources of a model have, and which tags.

    Args:
        columns: Columns of text in each source.
        tags: Their names, of which each source has one; none where sources have no tag.

    Raises:
        TypeError: `columns` is no whole number, or `tags` no names.
        ValueError: `columns` is below 1, or a tag is empty, there twice, or has white space or controls.

    Example:

    >>> form = SourceForm(columns=2, tags=["de", "fr"])
    >>> form.lines(["a cat\\ta hat"], tag="fr")
    ['fr\\ta cat\\ta hat']
    >>> form.fault("es\\ta cat\\ta hat")
    "must begin with a tag, de or fr, and a tab. Received: 'es'"
    """

    columns: int = 1
    tags: Sequence[str] = ()

    def __post_init__(self) -> None:
        whole_number("columns", self.columns, 1)
        object.__setattr__(self, "tags", tuple(list_of_strings("tags", self.tags)))
        for place, tag in enumerate(self.tags):
            if not tag or not tag.isprintable() or any(character.isspace() for character in tag):
                raise ValueError(f"`tags` must be names without white space. Received: {tag!r}")
            if tag in self.tags[:place]:
                raise ValueError(f"`tags` must be different names. Received: {tag!r} twice")

    @property
    def is_plain(self) -> bool:
        """Whether a source is one text and nothing else."""
        return self.columns == 1 and not self.tags

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """What has an id beside the pieces, as a person is shown it: the separator, then the tags."""
        return (*((SEPARATOR,) if self.columns > 1 else ()), *(f"<{tag}>" for tag in self.tags))

    @property
    def options(self) -> dict[str, Any]:
        """The constructor's arguments, plain."""
        return {"columns": self.columns, "tags": list(self.tags)}

    def lines(self, texts: Sequence[str], tag: str | None = None) -> list[str]:
        """The sources of texts, one line each.

        Args:
            texts: The columns of each, with a tab between each two; where `tag` is None, and there are tags,
                each with its tag and a tab in front.
            tag: The tag of all of them.

        Raises:
            TypeError: `texts` is no list of strings.
            ValueError: There is no such tag, or a text has other columns, or no tag.
        """
        texts = list_of_strings("texts", texts)
        if tag is not None:
            self.check_tag(tag)
            texts = [f"{tag}{_TAB}{text}" for text in texts]
        for place, text in enumerate(texts):
            if (fault := self.fault(text)) is not None:
                raise ValueError(f"`texts[{place}]` {fault}")
        return texts

    def check_tag(self, tag: str) -> None:
        """Refuses a tag that no source can have.

        Raises:
            ValueError: Then; names those that there are.
        """
        if tag not in self.tags:
            known = f"one of {', '.join(self.tags)}" if self.tags else "left out: the model has no tags"
            raise ValueError(f"`tag` must be {known}. Received: {tag!r}")

    def fault(self, line: str) -> str | None:
        """What is wrong with a line, or None. One without any text is an empty source, and right."""
        if self.is_plain or not line.strip():
            return None
        tag, tab, rest = line.partition(_TAB) if self.tags else ("", _TAB, line)
        if self.tags and not (tab and tag in self.tags):
            return f"must begin with a tag, {self._named_tags}, and a tab. Received: {_shown(tag)}"
        found = rest.count(_TAB) + 1
        if self.columns > 1 and found != self.columns and rest.strip():
            return f"must have {self.columns} columns, with a tab between each two. Received: {found}"
        return None

    def fields(self, line: str) -> list[str]:
        """The tag, where there are tags, and the columns of a line without fault; empty in an empty one."""
        number = self.columns + bool(self.tags)
        if not line.strip():
            return [""] * number
        found = line.split(_TAB, 1 if self.columns == 1 else -1) if not self.is_plain else [line]
        return found if len(found) == number else [found[0], *[""] * (number - 1)]

    def texts(self, lines: Sequence[str]) -> list[str]:
        """The columns of lines without fault, one after the other: what a tokenizer is trained on."""
        if self.is_plain:
            return list(lines)
        return [field for line in lines for field in self.fields(line)[bool(self.tags) :]]

    def tag_and_text(self, line: str) -> tuple[str, str]:
        """The tag and the columns of a line without fault; an empty one has any tag.

        There must be tags.
        """
        tag, tab, text = line.partition(_TAB)
        return (tag, text) if tab and tag in self.tags else (self.tags[0], "")

    def split(
        self, lines: tf.Tensor, normalize: Callable[[tf.Tensor], tf.Tensor]
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """The columns of lines, and the special token before each of them.

        Args:
            lines: string `[B]`, raw or with normalised columns.
            normalize: The normalisation of text, string `[N]` to as many.

        Returns:
            The normalised columns, ragged string `[B, None]`, none where all are empty; and the number of the
            special token before each, ragged int64 of the same shape, -1 for none.

        Raises:
            tf.errors.InvalidArgumentError: A line has an unknown tag or other columns, and is not empty.
        """
        first = int(bool(self.tags))
        # A single column may hold tabs: they are white space.
        fields = tf.strings.split(lines, _TAB, maxsplit=1 if self.columns == 1 and first else -1)  # [B, None]
        head, texts = fields[:, :first], fields[:, first:]
        texts = texts.with_flat_values(normalize(texts.flat_values))
        tag = self._tag_numbers(head.flat_values) if first else tf.fill([fields.nrows()], tf.int64.max)
        empty = tf.reduce_all(tf.equal(texts, ""), axis=1)  # [B]
        right = (tag >= 0) & (empty | tf.equal(texts.row_lengths(), self.columns))
        if first:
            right |= empty & tf.equal(normalize(head.flat_values), "")
        check = tf.debugging.assert_equal(tf.reduce_all(right), True, self._rule)
        with tf.control_dependencies([check] if check is not None else []):
            texts = _without(texts, tf.identity(empty))
        is_first = tf.equal(tf.ragged.range(texts.row_lengths()).flat_values, 0)
        opening = tf.gather(tag, texts.value_rowids()) if first else tf.constant(-1, tf.int64)
        # The separator, where there is one, is the first special token.
        return texts, texts.with_flat_values(tf.where(is_first, opening, tf.constant(0, tf.int64)))

    def _tag_numbers(self, tag: tf.Tensor) -> tf.Tensor:
        """The number of each tag's special token, int64 `[B]`; -1 for an unknown one."""
        found = tf.equal(tag[:, tf.newaxis], tf.constant(list(self.tags)))  # [B, tags]
        number = tf.argmax(tf.cast(found, tf.int32), axis=1) + int(self.columns > 1)
        return tf.where(tf.reduce_any(found, axis=1), number, tf.constant(-1, tf.int64))

    @property
    def _named_tags(self) -> str:
        *others, last = self.tags
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def _rule(self) -> str:
        rules = [f"`tag` must be {self._named_tags}"] if self.tags else []
        if self.columns > 1:
            rules.append(f"`text` must have {self.columns} columns, with a tab between each two")
        return f"{', and '.join(rules)}. Received: another one"


def _without(texts: tf.RaggedTensor, empty: tf.Tensor) -> tf.RaggedTensor:
    """Rows `[B, None]` without the columns of those that are empty, boolean `[B]`."""
    keep = ~tf.gather(empty, texts.value_rowids())
    lengths = tf.where(empty, tf.zeros_like(texts.row_lengths()), texts.row_lengths())
    return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(texts.flat_values, keep), lengths, validate=False)


def _shown(text: str) -> str:
    """The beginning of a text, for a message."""
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
