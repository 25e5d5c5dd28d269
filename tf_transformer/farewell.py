"""What a person reads when a training is complete: where everything is, and what to type next."""

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from tf_transformer.build.problem import Words
from tf_transformer.errors import printable
from tf_transformer.run_folder import RunFolder

_LONGEST, _BEGINNING = 80, 40
"""Characters of an example that a command may hold, and of the beginning of a longer one."""
_PLAIN = re.compile(r"[^-\\\s][^\\\t]*")
"""A text that every shell's echo, and every terminal's clipboard, gives as it is."""


def farewell(folder: RunFolder, words: Words, examples: Sequence[str], has_test: bool) -> Iterator[str]:
    """Lines about a finished run; the commands in them work as they stand.

    Args:
        folder: The run.
        words: What the task calls things.
        examples: Inputs to try it with: texts, or where pictures and series lie.
        has_test: Whether the recipe has a test set.
    """
    path, export = shlex.quote(str(folder.path)), shlex.quote(str(Path("exports", folder.path.name)))
    yield "  files       results.json (the figures), metrics.jsonl (each validation), samples/, checkpoints/"
    of_one = _file if words.reads_files else _text
    example = next(filter(None, map(of_one, examples)), None)
    asked = f"tf-transformer predict {path}"
    yield f"  {words.verb:<12}{f'{asked} < FILE' if example is None else f'echo {example} | {asked}'}"
    yield f"  look        tf-transformer plot curves {path}"
    if words.picture == "confusion":
        yield f"              tf-transformer plot confusion {path}{'' if has_test else ' --split dev'}"
    elif words.picture == "attention" and example is not None:
        yield f"              tf-transformer plot attention {path} {example}"
    yield f"              tensorboard --logdir {shlex.quote(str(folder.tensorboard))}"
    yield f"  export      tf-transformer export {path} {export}"
    yield f"  serve       tf-transformer serve {export}"


def _file(place: str) -> str | None:
    """The name of a file, quoted; None for a line of one, which is no input."""
    return shlex.quote(place) if Path(place).is_file() else None


def _text(text: str) -> str | None:
    """The first line of a text, or the first words of a long one, quoted; None where it cannot be copied."""
    line = next((line.strip() for line in text.split("\n", maxsplit=100) if line.strip()), "")
    if len(line) > _LONGEST:
        line = line[:_BEGINNING].rpartition(" ")[0] or line[:_BEGINNING]
    return shlex.quote(line) if _PLAIN.fullmatch(line) and printable(line) == line else None
