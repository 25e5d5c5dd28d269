"""Answers of a search or of sampling as lines."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tf_transformer.cli.task_face import Options
from tf_transformer.tasks import Hypothesis
from tf_transformer.tasks.hypothesis import Details


def hypothesis_lines(
    text: str, answers: Sequence[Hypothesis], options: Options, one_line: Callable[[str], str]
) -> Iterator[str]:
    """The lines that a text is answered with.

    Args:
        text: What was asked.
        answers: Best first.
        options: `json`, `n-best` and `scores` are looked at.
        one_line: Makes one line of an answer.
    """
    if options["json"]:
        objects = [_plain(answer) for answer in answers]
        several = options["n-best"] > 1 or options.get("alternatives") is not None
        shown = {"source": text, "answers": objects} if several else {"source": text, **objects[0]}
        yield json.dumps(shown, ensure_ascii=False)
        return
    for answer in answers:
        words = one_line(answer.text)
        yield f"{answer.score:.4f}\t{words}" if options["scores"] else words


def _plain(answer: Hypothesis) -> dict[str, Any]:
    values = {
        "text": answer.text,
        "score": answer.score,
        "log_probability": answer.log_probability,
        "finished": answer.finished,
    }
    plain = {name: value for name, value in values.items() if value is not None}
    return plain if answer.details is None else plain | details(answer.details)


def details(found: Details) -> dict[str, Any]:
    """Details by name; those that are not known are left out."""
    return {name: value for name, value in vars(found).items() if value}
