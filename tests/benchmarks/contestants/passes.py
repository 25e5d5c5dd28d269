"""A contestant's side of a race of decoders: pass over sentences when told to, answer, wait.

Each line on standard input asks for one round: all sentences by beam search, all by greedy search, and some
by beam search each by itself. The answer is a line on standard output. The end of the input ends the process.
Standard library alone.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from slices import peak_bytes

Decode = Callable[[Sequence[dict[str, Any]], int], list[list[str]]]
"""Sentences, `{"text": …, "pieces": […]}`, and the beam size to the pieces of the best answers."""


def compete(
    given: dict[str, Any], decode: Decode, pieces_of: Callable[[Any], list[str]] | None = None
) -> None:
    """Answers until the race is over.

    Args:
        given: Settings: sentences (a file), answers (a file to write), beam, alone, number.
        decode: What is measured; it may return texts in place of pieces.
        pieces_of: Makes pieces of what it returns, outside of what is measured; None: they are.
    """
    # Libraries print what they like; the answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sentences = json.loads(Path(given["sentences"]).read_text(encoding="utf-8"))[: given["number"]]
    decode(sentences[:1], given["beam"])  # what a start takes goes until here
    _tell(answers, {})
    for size in (given["beam"], 1):  # graphs and buffers that are new
        decode(sentences, size)
    for line in iter(sys.stdin.readline, ""):
        assert json.loads(line)
        seconds, best = _timed(decode, sentences, given["beam"])
        greedy_seconds, greedy = _timed(decode, sentences, 1)
        places = range(0, len(sentences), max(1, len(sentences) // given["alone"]))
        alone = [_timed(decode, sentences[place : place + 1], given["beam"])[0] for place in places]
        found = [best, greedy] if pieces_of is None else [list(map(pieces_of, row)) for row in (best, greedy)]
        Path(given["answers"]).write_text(json.dumps(found[0]), encoding="utf-8")
        tokens, greedy_tokens = (sum(len(row) + 1 for row in rows) for rows in found)  # and the end
        _tell(
            answers,
            {
                "seconds": seconds,
                "target_tokens": tokens,
                "greedy_seconds": greedy_seconds,
                "greedy_tokens": greedy_tokens,
                "alone": alone,
            },
        )


def _timed(decode: Decode, sentences: Sequence[dict[str, Any]], size: int) -> tuple[float, list[list[str]]]:
    start = time.perf_counter()
    found = decode(sentences, size)
    return time.perf_counter() - start, found


def _tell(answers: Any, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer | {"peak_bytes": peak_bytes()}) + "\n")
    answers.flush()
