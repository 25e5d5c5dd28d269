"""Sources that are longer than a model reads, split where their sentences end."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tf_transformer.tasks.hypothesis import Hypothesis

# After the marks that end a sentence, and quotes and brackets that close with it; Chinese and Japanese marks
# need no space after them.
_END = re.compile(r"(?<=[.!?…])([\"'”’»)\]]*\s+)|(?<=[。！？])([」』”’）]*\s*)")


def in_parts(
    task: Any,
    lines: Sequence[str],
    on_long: str,
    prefixes: tf.RaggedTensor | None,
    answer: Callable[[list[str], tf.RaggedTensor | None], list[list[Hypothesis]]],
) -> list[list[Hypothesis]]:
    """Answers sources whose parts are answered by themselves.

    Args:
        task: The translator.
        lines: The sources.
        on_long: "split" or "refuse".
        prefixes: What each answer begins with, or None.
        answer: Sources, and what their answers begin with, to their hypotheses.
    """
    lengths = task.count_pieces(lines)
    parts = [
        [(line, "")] if length <= task.max_source_length else _parts(task, place, line, length, on_long)
        for place, (line, length) in enumerate(zip(lines, lengths, strict=True))
    ]
    if prefixes is not None:  # which is for the first part of each
        firsts = [
            row if part == 0 else len(lines)
            for row, several in enumerate(parts)
            for part in range(len(several))
        ]
        prefixes = tf.gather(tf.concat([prefixes, prefixes[:1, :0]], axis=0), firsts)
    found = iter(answer([part for several in parts for part, _ in several], prefixes))
    return [_joined([(next(found), gap) for _, gap in several]) for several in parts]


def _parts(task: Any, place: int, line: str, length: int, on_long: str) -> list[tuple[str, str]]:
    """The parts of a source that is too long, and what stands between their answers.

    Sources of several columns are not split: their ends are not read.

    Args:
        task: The translator.
        place: The number of the source, for a message.
        line: The source.
        length: Its pieces.
        on_long: "split" or "refuse".

    Raises:
        ValueError: When it is refused.
    """
    form, most = task.preprocessor.source_form, task.max_source_length
    if on_long == "refuse":
        raise ValueError(
            f"`texts[{place}]` must have at most {most} pieces, the end and a tag counted. Received: {length}"
        )
    if form.columns > 1:
        return [(line, "")]
    tag, text = form.tag_and_text(line) if form.tags else ("", line)
    begin = f"{tag}\t" if form.tags else ""
    parts = split_long(text, lambda part: task.count_pieces([begin + part])[0], most)
    return [(begin + part, gap) for part, gap in parts]


def split_long(text: str, length: Callable[[str], int], most: int) -> list[tuple[str, str]]:
    """A text in parts of whole sentences, as few as fit one after the other.

    A sentence that does not fit alone is halved between two words until its parts do.

    Args:
        text: The text.
        length: The number of pieces of a text, the end token counted.
        most: The most pieces of a part; a single word may have more.

    Returns:
        The parts, and what stood between each and the next: a space or nothing.
    """
    parts: list[tuple[str, str]] = []
    fitting = [
        (part, space or gap)
        for sentence, gap in _sentences(text)
        for part, space in _halved(sentence, length, most)
    ]
    for sentence, gap in fitting:
        if parts:
            before, space = parts[-1]
            if length(before + space + sentence) <= most:
                parts[-1] = (before + space + sentence, gap)
                continue
        parts.append((sentence, gap))
    return parts


def _halved(sentence: str, length: Callable[[str], int], most: int) -> list[tuple[str, str]]:
    """A sentence in parts that fit, and the space behind each but the last."""
    spaces = [place for place, letter in enumerate(sentence) if letter == " "]
    if not spaces or length(sentence) <= most:
        return [(sentence, "")]
    middle = min(spaces, key=lambda place: abs(place - len(sentence) // 2))
    *before, (last, _) = _halved(sentence[:middle].strip(), length, most)
    return [*before, (last, " "), *_halved(sentence[middle:].strip(), length, most)]


def _sentences(text: str) -> list[tuple[str, str]]:
    found, start = [], 0
    for match in _END.finditer(text):
        whole = text[start : match.end()]
        sentence = whole.rstrip()
        if sentence:
            found.append((sentence, " " if len(whole) > len(sentence) else ""))
        start = match.end()
    if text[start:].strip():
        found.append((text[start:].strip(), ""))
    elif found:
        found[-1] = (found[-1][0], "")
    return found


def _joined(parts: Sequence[tuple[list[Hypothesis], str]]) -> list[Hypothesis]:
    """The hypotheses of a source: its parts' best joined, their second best, and so on.

    Scores and log-probabilities are sums; details have no place in them.
    """
    if len(parts) == 1:
        return parts[0][0]
    gaps = [gap for _, gap in parts]
    return [
        Hypothesis(
            text="".join(part.text + gap for part, gap in zip(rank, gaps, strict=True)),
            score=sum(part.score for part in rank),
            log_probability=sum(part.log_probability or 0.0 for part in rank),
            finished=all(part.finished for part in rank),
        )
        for rank in zip(*(hypotheses for hypotheses, _ in parts), strict=True)
    ]
