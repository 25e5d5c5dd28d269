"""Generation on the command line."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import tensorflow as tf
import typer

from tf_transformer.build import LoadedRun
from tf_transformer.cli.hypotheses import hypothesis_lines
from tf_transformer.cli.piece_rows import piece_lines
from tf_transformer.cli.task_face import Options, Reading, TaskFace
from tf_transformer.cli.texts import escaped, unescaped
from tf_transformer.errors import counted, printable
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.presets import UNKNOWN_ID
from tf_transformer.tasks import Hypothesis
from tf_transformer.tasks.exported import ExportedGenerator

_SAMPLING = {
    "max-length": "max_length",
    "temperature": "temperature",
    "top-k": "top_k",
    "top-p": "top_p",
    "repetition-penalty": "repetition_penalty",
    "no-repeat": "no_repeat",
    "ban": "banned",
    "seed": "seed",
}
"""Options of the command line, and what the generator calls them."""


class GenerationFace(TaskFace):
    """A generator."""

    UNIT: ClassVar[str] = "text"
    TO_NAME: ClassVar[str] = "--source"

    def __init__(self, found: LoadedRun | ExportedModel) -> None:
        super().__init__(found)
        self.unknown = 0
        self.task: Any = found.task if isinstance(found, LoadedRun) else ExportedGenerator(found.rows)

    def predict(
        self,
        groups: Iterable[list[str]],
        write: Callable[[Iterable[str]], None],
        advance: Callable[[int], None],
        options: Options,
    ) -> None:
        """See `TaskFace`; with ``stream``, each answer in parts as they come."""
        if not options["stream"]:
            super().predict(groups, write, advance, options)
            return
        for text in (text for texts in groups for text in texts):
            prompt = self._prompt(text)
            for part in self.task.stream(prompt, **self._sampling(options)):
                # A line end is to be seen, and all else that a terminal obeys is not to be obeyed.
                sys.stdout.write("\n".join(printable(line) for line in part.split("\n")))
                sys.stdout.flush()
            sys.stdout.write("\n")

    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        prompts = [self._prompt(text) for text in texts]
        found = self._continuations(prompts, options)
        for text, answers in zip(prompts, found, strict=True):
            yield hypothesis_lines(text, answers, options, escaped)

    def _continuations(self, prompts: list[str], options: Options) -> list[list[Hypothesis]]:
        if self.run is None:
            return list(self.task.samples(prompts))
        number, sampling = options["n-best"], self._sampling(options)
        found: list[list[Hypothesis]] = self.task.samples(prompts, number, **sampling)
        return found

    def _prompt(self, text: str) -> str:
        prompt = unescaped(text)
        if self.run is not None:  # an export does not say what it knows
            ids = self.task.preprocessor.encode_prompt(tf.constant([prompt])).flat_values
            self.unknown += int(tf.math.count_nonzero(ids == UNKNOWN_ID))
        return prompt

    def _sampling(self, options: Options) -> dict[str, Any]:
        """Options that differ from the recipe's."""
        given = {name: options[option] for option, name in _SAMPLING.items() if options[option] is not None}
        try:
            self.task.check(**given)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return given

    def remarks(self) -> Iterator[str]:
        if self.unknown:
            yield f"{counted(self.unknown, 'piece')} of the lines are unknown to the model"

    def evaluator(self, options: Options) -> Evaluator:
        assert self.run is not None  # refused before it was loaded
        return self.run.problem.evaluator(self.task)

    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        if options["source"] is None:
            return None
        assert self.run is not None
        problem: Any = self.run.problem
        found: tuple[EvaluationSet, Sequence[str]] = problem.set_of_file(options["source"], self.task.side)
        return found

    @staticmethod
    def readings(side: Any) -> Mapping[str, Reading]:
        return {"text": Reading(side.encode_text, side.tokenizer)}

    @staticmethod
    def tokens(side: Any) -> Mapping[str, Sequence[str]]:
        return {"target_ids": side.tokenizer.tokens, "labels": side.tokenizer.tokens}

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        yield where
        for name, ids in (("target_ids", inputs["target_ids"]), ("labels", labels)):
            yield from piece_lines(name, ids[row], side.tokenizer.tokens, side.decode)
