"""The answers that each validation leaves in ``samples/`` of a run, for a person and for comparisons."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tf_transformer.files import read_file, write_text

# A text of several lines may hold an empty one: only a line that begins a sample ends the one before.
_SAMPLE = re.compile(
    r"source     (.*?)\nreference  (.*?)\noutput     (.*?)\n(?=\nsource     |\Z)", flags=re.DOTALL
)


class Answered(NamedTuple):
    """One example as a run has answered it."""

    source: str
    reference: str
    output: str


def write_samples(folder: Path, step: int, samples: Iterable[Answered]) -> None:
    """Writes the answers of one validation.

    Args:
        folder: ``samples/`` of a run.
        step: Updates before it.
        samples: What was answered.
    """
    blocks = [f"source     {s.source}\nreference  {s.reference}\noutput     {s.output}\n" for s in samples]
    write_text(folder / f"step-{step:08d}.txt", "\n".join(blocks))


def read_samples(folder: Path) -> dict[int, list[Answered]]:
    """The answers of all validations, by step.

    Args:
        folder: ``samples/`` of a run.
    """
    found = {}
    for path in sorted(folder.glob("step-*.txt")):
        step = path.stem.removeprefix("step-")
        if step.isdecimal():
            text = read_file(path).decode("utf-8", errors="replace")
            found[int(step)] = [Answered(*groups) for groups in _SAMPLE.findall(text)]
    return found
