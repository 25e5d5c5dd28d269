"""Sources of several columns and with tags: columns of a corpus while it is cleaned, then one line each."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from tf_transformer.data.cleaning import clean, split_by_hash
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import DataError
from tf_transformer.text import SourceForm

TAG = "tag"
_SOURCE = "source"


def joined(corpus: Corpus, tag: str | None = None) -> Corpus:
    """A cleaned corpus with one source column, of lines as a `SourceForm` has them.

    Args:
        corpus: With the columns `source`, `source_2` and so on, and maybe `tag`, beside others.
        tag: The tag of all rows; None where they have none, or each its own.
    """
    names = [name for name in corpus.columns if name == TAG or name.startswith(_SOURCE)]
    if names == [_SOURCE] and tag is None:
        return corpus
    front = [] if tag is None else [[tag] * len(corpus)]
    parts = zip(*front, *(corpus.columns[name] for name in names), strict=True)
    rest = {name: texts for name, texts in corpus.columns.items() if name not in names}
    return replace(corpus, columns={_SOURCE: ["\t".join(row) for row in parts], **rest})


def cleaned_lines(
    corpus: Corpus, form: SourceForm, normalize: Callable[[list[str]], list[str]], tag: str | None = None
) -> Corpus:
    """A corpus that was read with lines as its sources, cleaned column by column.

    Args:
        corpus: As read; its column `source` holds lines.
        form: What lines must be.
        normalize: See `clean`.
        tag: The tag of all rows; None where there are none, or each line begins with its own.

    Raises:
        DataError: A line is not as it must be; names its file and its number. Or nothing is left.
    """
    lines = corpus.columns[_SOURCE]
    if tag is not None:
        lines = [f"{tag}\t{line}" for line in lines]
    for number, line in zip(corpus.lines, lines, strict=True):
        if (fault := form.fault(line)) is not None:
            raise DataError(f"{corpus.files[0]}, line {number}: {fault}")
    fields = zip(*map(form.fields, lines), strict=True)
    names = [*([TAG] if form.tags else []), *_source_names(form.columns)]
    rest: Mapping[str, list[str]] = {k: texts for k, texts in corpus.columns.items() if k != _SOURCE}
    columns = {**{name: list(texts) for name, texts in zip(names, fields, strict=True)}, **rest}
    return joined(clean(replace(corpus, columns=columns), normalize, labels=(TAG,)))


def split_untagged(corpus: Corpus, fraction: float) -> tuple[Corpus, Corpus]:
    """`split_by_hash` of lines with tags: a text goes to the same side whatever its tag is."""
    return split_by_hash(corpus, fraction, key=untagged)


def untagged(line: str) -> str:
    """A line without the tag at its beginning."""
    return line.partition("\t")[2]


def _source_names(number: int) -> list[str]:
    return [_SOURCE if place == 1 else f"{_SOURCE}_{place}" for place in range(1, number + 1)]
