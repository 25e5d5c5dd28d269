"""What a person reads when a training is complete: where everything is, and what to type next."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tf_transformer.errors import printable
from tf_transformer.run_folder import RunFolder

_LONGEST = 80
"""Characters of an example that a command may hold."""
_PLAIN = re.compile(r"[^-\\'\"\s][^\\\n]*")
"""A text that every shell's echo, and every terminal's clipboard, gives as it is."""


def farewell(
    folder: RunFolder, task: str, verb: str, examples: Sequence[str], has_test: bool
) -> Iterator[str]:
    """Lines about a finished run; the commands in them work as they stand.

    Args:
        folder: The run.
        task: What was trained.
        verb: What it does now.
        examples: Inputs to try it with: texts, or where pictures and series lie.
        has_test: Whether the recipe has a test set.
    """
    path, export = shlex.quote(str(folder.path)), shlex.quote(str(Path("exports", folder.path.name)))
    yield "  there       results.json (the figures), metrics.jsonl (each validation), samples/, checkpoints/"
    example = next(filter(None, (_example(task, each) for each in examples)), None)
    given = "< FILE" if example is None else ""
    asked = "" if example is None else f"echo {example} | "
    yield f"  {verb:<12}{asked}tf-transformer predict {path} {given}".rstrip()
    yield f"  look        tf-transformer plot curves {path}"
    if task.startswith("classify"):
        split = "" if has_test else " --split dev"
        yield f"              tf-transformer plot confusion {path}{split}"
    elif example is not None:
        yield f"              tf-transformer plot attention {path} {example}"
    yield f"              tensorboard --logdir {shlex.quote(str(folder.tensorboard))}"
    yield f"  export      tf-transformer export {path} {export}"
    yield f"  serve       tf-transformer serve {export}"


def _example(task: str, text: str) -> str | None:
    """A short input in quotes; None where there is none that a person can copy."""
    if task in ("classify_images", "classify_vectors"):  # a file, or a line of one, which is no input
        return shlex.quote(text) if Path(text).is_file() else None
    if task == "generate":  # the beginning of a text: whole words of its first line
        line = next((line.strip() for line in text.split("\n") if line.strip()), "")
        text = line if len(line) <= 40 else line[:40].rpartition(" ")[0] or line[:40]
    is_plain = _PLAIN.fullmatch(text) and "\t" not in text and printable(text) == text
    return shlex.quote(text) if is_plain and len(text) <= _LONGEST else None
