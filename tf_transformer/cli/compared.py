"""What two models answer to the same lines, and where that differs."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_transformer.cli.task_face import TaskFace
from tf_transformer.scores.paired import PairedAccuracy, PairedBleu

Answer = dict[str, Any]
"""What ``predict --json`` gives."""


@dataclass(frozen=True)
class Compared:
    """Two models on the same lines.

    Args:
        lines: What was asked.
        old: The answers of the first.
        new: Those of the second.
        differ: The places where they are not the same, from 0.
        farthest: How far scores of equal answers, or probabilities of labels, are apart at most; None where
            there is nothing to compare.
        place: Where they are.
        bleu: Of both; None without references, and for labels.
        accuracy: Right labels of both, likewise.
    """

    lines: Sequence[str]
    old: Sequence[Answer]
    new: Sequence[Answer]
    differ: tuple[int, ...]
    farthest: float | None
    place: int
    bleu: PairedBleu | None = None
    accuracy: PairedAccuracy | None = None

    @property
    def share(self) -> float:
        """Per cent of the answers that differ."""
        return 100.0 * len(self.differ) / len(self.lines) if self.lines else 0.0


def answers_of(
    face: TaskFace, lines: Sequence[str], name: str, tag: str | None, advance: Callable[[int], None]
) -> list[Answer]:
    """The answers of a model to lines, one each.

    Args:
        face: The model.
        lines: What is asked.
        name: Where they come from, for a message.
        tag: That of all of them.
        advance: Told how many are answered.
    """
    options = defaultdict(lambda: None, {"json": True, "n-best": 1, "input": name, "tag": tag})
    found: list[Answer] = []
    groups = [list(lines[start : start + 1024]) for start in range(0, len(lines), 1024)]
    face.predict(groups, lambda rows: found.extend(map(json.loads, rows)), advance, options)
    return found


def compared(lines: Sequence[str], old: Sequence[Answer], new: Sequence[Answer]) -> Compared:
    """Where two models' answers differ, and how far what is said of equal ones is apart."""
    pairs = list(zip(old, new, strict=True))
    differ = tuple(place for place, (one, other) in enumerate(pairs) if said(one) != said(other))
    farthest, place = None, 0
    for number, (one, other) in enumerate(pairs):
        distance = _distance(one, other)
        if distance is not None and (farthest is None or distance > farthest):
            farthest, place = distance, number
    return Compared(lines, old, new, differ, farthest, place)


def said(answer: Answer) -> str:
    """The answer itself: a label, or a text."""
    return str(answer["label"] if "label" in answer else answer["text"])


def _distance(one: Answer, other: Answer) -> float | None:
    if "probabilities" in one:
        labels = one["probabilities"].keys() | other["probabilities"].keys()
        pairs = [[answer["probabilities"].get(label, 0.0) for answer in (one, other)] for label in labels]
        return max((abs(first - second) for first, second in pairs), default=None)
    if said(one) != said(other) or not all(np.isfinite(answer["score"]) for answer in (one, other)):
        return None
    return float(abs(one["score"] - other["score"]))


def shown(found: Compared, most: int) -> Iterator[str]:
    """What a person is to see of it.

    Args:
        found: What was compared.
        most: How many differing lines.
    """
    count = len(found.lines)
    yield f"{len(found.differ):,} of {count:,} answers differ ({found.share:.2f} %)"
    if found.farthest is not None:
        of = "probabilities" if found.old and "probabilities" in found.old[0] else "scores of equal answers"
        yield f"{of} are {found.farthest:.4g} apart at most, on line {found.place + 1:,}"
    if found.bleu is not None:
        yield bleu_line(found.bleu)
    if found.accuracy is not None:
        yield accuracy_line(found.accuracy)
    for place in found.differ[:most]:
        yield ""
        yield f"line {place + 1:,}: {found.lines[place]}"
        for name, answer in (("old", found.old[place]), ("new", found.new[place])):
            weight = answer.get("score", answer.get("probability"))
            yield f"  {name}  {weight:9.4f}  {said(answer)}"
    if len(found.differ) > most:
        yield f"\nand {len(found.differ) - most:,} more; --lines N shows more of them, --json all"


def bleu_line(bleu: PairedBleu) -> str:
    """BLEU of two translators for a person."""
    return (
        f"BLEU {bleu.old:.2f} and {bleu.new:.2f}, {bleu.new - bleu.old:+.2f}, p = {bleu.p_value:.3f} by "
        f"paired bootstrap  {bleu.signature}"
    )


def accuracy_line(found: PairedAccuracy) -> str:
    """Accuracy of two classifiers for a person."""
    return (
        f"accuracy {found.old:.2f} % and {found.new:.2f} %, {found.new - found.old:+.2f}, "
        f"p = {found.p_value:.3f} by McNemar's exact test: {found.old_alone:,} right of the first alone, "
        f"{found.new_alone:,} of the second"
    )


def plain(found: Compared, names: tuple[str, str]) -> dict[str, Any]:
    """All of it for programs."""
    figures: dict[str, Any] = {"farthest": found.farthest}
    if found.bleu is not None:
        figures["bleu"] = vars(found.bleu)
    if found.accuracy is not None:
        figures["accuracy"] = vars(found.accuracy)
    rows = [
        {"line": place + 1, "input": found.lines[place], "old": found.old[place], "new": found.new[place]}
        for place in found.differ
    ]
    counts = {"answers": len(found.lines), "different": len(found.differ)}
    return {"old": names[0], "new": names[1], **counts, **figures, "lines": rows}
