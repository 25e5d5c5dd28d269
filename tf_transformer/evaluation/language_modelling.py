"""How good a language model is: what each piece of a text costs it, and how it goes on from its own words."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tf_transformer.data.windows import EvaluationWindows
from tf_transformer.errors import counted
from tf_transformer.evaluation.attention import AttentionPictures
from tf_transformer.evaluation.evaluator import Advance, Evaluated, EvaluationSet, Evaluator, Sample
from tf_transformer.evaluation.teacher_forced import TeacherForced, perplexity
from tf_transformer.presets import UNKNOWN_ID

PROMPT, SHOWN = 60, 120
"""Characters of a sample's beginning, and of what is shown after it."""


class Generates(Protocol):
    """What is evaluated: a generator."""

    model: Any

    def generate(self, prompts: Sequence[str], **sampling: Any) -> list[str]:
        """What follows each prompt."""


@dataclass(frozen=True)
class Cost:
    """What texts cost a model.

    Args:
        nats: Minus the log-probability of all pieces.
        pieces: How many there are, ends of texts included.
        characters: Code points of the texts as the model reads them. Where texts have an end, each end is one
            more, as the line feed would be that it stands for.
        byte_count: The same in UTF-8.
    """

    nats: float
    pieces: int
    characters: int
    byte_count: int

    def figures(self) -> dict[str, float]:
        """The figures by name."""
        per_character = self.nats / self.characters
        return {
            "nats_per_character": per_character,
            "bits_per_character": per_character / math.log(2),
            "bits_per_byte": self.nats / self.byte_count / math.log(2),
            "nats_per_token": self.nats / self.pieces,
            "perplexity": perplexity(self.nats / self.pieces),
        }


class LanguageModelEvaluator(Evaluator):
    """Scores whole texts, each piece once; see `data.windows`.

    Args:
        task: What generates, for samples; its model is what is evaluated.
        teacher_forced: Measures the model on batches.
        has_end: Whether texts have an end that is predicted.
        window: Positions of a window.
        stride: Pieces from one window's beginning to the next one's.
        samples: Beginnings of the text that ``quick`` shows a continuation of.
        attention: Draws what the model looks at in the first of them; None for no pictures.
    """

    def __init__(
        self,
        task: Generates,
        teacher_forced: TeacherForced,
        *,
        has_end: bool,
        window: int,
        stride: int,
        samples: int = 0,
        attention: AttentionPictures | None = None,
    ) -> None:
        self.attention = attention
        self.task = task
        self.teacher_forced = teacher_forced
        self.has_end = has_end
        self.window = window
        self.stride = stride
        self.samples = samples

    def quick(self, found: EvaluationSet) -> Evaluated:
        """See `Evaluator`: the same figures as ever, and samples."""
        evaluated = self._measured(found)
        rows = beginnings(found.columns["text"], self.samples, self.has_end)
        outputs = self.task.generate([prompt for prompt, _ in rows], max_length=SHOWN) if rows else []
        samples = [Sample(*row, output) for row, output in zip(rows, outputs, strict=True)]
        pictures = self.attention([(prompt,) for prompt, _ in rows]) if self.attention is not None else {}
        return Evaluated(**{**vars(evaluated), "samples": samples, "pictures": pictures})

    def of_training(self, batches: Sequence[Any]) -> dict[str, float]:
        """See `Evaluator`."""
        return self.teacher_forced.of_training(batches)

    def choosing(self, found: EvaluationSet) -> Evaluated:
        """See `Evaluator`: without samples."""
        return self._measured(found)

    def full(self, found: EvaluationSet, advance: Advance | None = None) -> Evaluated:
        """See `Evaluator`."""
        evaluated = self._measured(found)
        if advance is not None:
            advance(len(found))
        return evaluated

    def _measured(self, found: EvaluationSet) -> Evaluated:
        windows, texts = found.batches, found.columns["text"]
        assert isinstance(windows, EvaluationWindows)
        totals = self.teacher_forced.totals(windows)
        ends = len(texts) if self.has_end else 0
        cost = Cost(
            totals.nats,
            totals.tokens,
            sum(map(len, texts)) + ends,
            sum(len(text.encode("utf-8")) for text in texts) + ends,
        )
        unknown = windows.count(UNKNOWN_ID)
        figures = {**totals.figures(), **cost.figures(), "unknown": unknown}
        signature = (
            f"window:{self.window}|stride:{self.stride}|pieces:{cost.pieces}|"
            f"characters:{cost.characters}|unknown:{unknown}"
        )
        return Evaluated(
            figures,
            brief=f"{figures['nats_per_character']:.4f} nats a character, {signature}",
            signatures={"nats_per_character": signature},
            lines=list(self._lines(figures, cost, unknown)),
        )

    def _lines(self, figures: dict[str, float], cost: Cost, unknown: int) -> Iterator[str]:
        """The figures for a person, and how they came about."""
        bits = f"{figures['bits_per_character']:.4f} bits, {figures['bits_per_byte']:.4f} bits a byte"
        yield f"  {'a character':<12}{figures['nats_per_character']:.4f} nats, {bits}"
        yield f"  {'a piece':<12}{figures['nats_per_token']:.4f} nats, perplexity {figures['perplexity']:.2f}"
        least = self.window - self.stride
        yield (
            f"  each of {counted(cost.pieces, 'piece')}, {counted(cost.characters, 'character')}, counts "
            f"once, in windows of {self.window} that begin every {self.stride}: predicted from at least "
            f"{counted(least, 'piece')}, but for the first {self.window} of a text"
        )
        if unknown:
            yield (
                f"  {counted(unknown, 'piece')} ({unknown / cost.pieces:.2%}) are not in the vocabulary: it "
                "is predicted that they are unknown, not which they are"
            )


def beginnings(texts: Sequence[str], count: int, whole: bool) -> list[tuple[str, str]]:
    """Beginnings to be continued, evenly from all over some texts, each with how it goes on there.

    Args:
        texts: Texts as they are normalised.
        count: How many, at most.
        whole: Whether to begin where a text begins, with a third of it; else at a line of it.
    """
    if whole:
        chosen = texts[:: max(1, -(-len(texts) // max(count, 1)))][:count]
        cuts = [min(PROMPT, -(-len(text) // 3)) for text in chosen]
        return [(text[:cut], text[cut : cut + SHOWN]) for text, cut in zip(chosen, cuts, strict=True)]
    found = []
    sizes = [len(text) for text in texts]
    for place in range(count):
        offset, index = sum(sizes) * (2 * place + 1) // (2 * count), 0
        while offset >= sizes[index]:
            offset, index = offset - sizes[index], index + 1
        text = texts[index]
        start = text.rfind("\n", 0, offset) + 1
        cut = min(start + PROMPT, len(text))
        found.append((text[start:cut], text[cut : cut + SHOWN]))
    return found
