"""Translation on the command line."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

import typer

from tf_transformer.build import LoadedRun, problem_of
from tf_transformer.cli.hypotheses import hypothesis_lines
from tf_transformer.cli.piece_rows import mask_line, piece_lines
from tf_transformer.cli.task_face import Options, TaskFace
from tf_transformer.cli.texts import one_line
from tf_transformer.data.cleaning import clean
from tf_transformer.data.sources import read_parallel
from tf_transformer.errors import counted
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.evaluation.translation import TranslationEvaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks import Hypothesis
from tf_transformer.tasks.exported import ExportedTranslator
from tf_transformer.text import Normalizer


class TranslationFace(TaskFace):
    """A translator."""

    UNIT: ClassVar[str] = "sentence"

    def __init__(self, found: LoadedRun | ExportedModel) -> None:
        super().__init__(found)
        self.cut = self.unfinished = 0
        if isinstance(found, LoadedRun):
            self.task = found.task
        else:
            manifest = found.manifest
            normalizer = Normalizer(manifest.normal_form, manifest.lowercase)
            self.task = ExportedTranslator(found.rows, normalizer)

    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        found = self._hypotheses(texts, options)
        if self.run is not None:  # an export does not say what it cuts
            self.cut += self.task.count_cut(texts)
        self.unfinished += sum(answers[0].finished is False for answers in found)
        for text, answers in zip(texts, found, strict=True):
            yield hypothesis_lines(text, answers, options, one_line)

    def _hypotheses(self, texts: list[str], options: Options) -> list[list[Hypothesis]]:
        number = options["n-best"]
        if self.run is not None:
            answers: list[list[Hypothesis]] = self.task.n_best(texts, number, **self._search(options))
            return answers
        if number == 1:
            return list(self.task.best(texts))
        found = self.task.n_best(texts)
        width = min(map(len, found), default=number)
        if number > width:
            raise typer.BadParameter(f"--n-best must be at most {width}, the beam of the export")
        return [hypotheses[:number] for hypotheses in found]

    def _search(self, options: Options) -> dict[str, Any]:
        """Search options that differ from the recipe's."""
        search: dict[str, Any] = {}
        if options["beam"] is not None:
            search["beam_size"] = options["beam"]
        elif options["n-best"] > self.task.options.beam_size:
            search["beam_size"] = options["n-best"]
        if options["length-penalty"] is not None:
            search["length_penalty"] = options["length-penalty"]
        if options["max-length"] is not None:
            search |= {"max_length_factor": 0.0, "max_length_margin": options["max-length"]}
        return search

    def remarks(self) -> Iterator[str]:
        if self.cut:
            yield f"the end of {counted(self.cut, 'line')} was not read: the model does not read that far"
        if self.unfinished:
            yield f"{counted(self.unfinished, 'answer')} reached the longest length allowed before the end"

    def evaluator(self, options: Options) -> Evaluator:
        tokenize = options["tokenize"]
        if self.exported is not None:
            return TranslationEvaluator(self.task, tokenize=tokenize or self.exported.manifest.tokenize)
        assert self.run is not None
        recipe = self.run.recipe
        if tokenize is not None:
            recipe = recipe.replaced("evaluation", tokenize=tokenize)
        return problem_of(recipe).evaluator(self.task)

    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        source, target = options["source"], options["target"]
        if source is None or target is None:
            return None
        corpus = clean(read_parallel({"source": source, "target": target}), self.task.normalize)
        return EvaluationSet("", corpus.columns), corpus.report.to_lines()

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        source, target = side.source_tokenizer, side.target_tokenizer
        sides = (
            ("source_ids", source, inputs["source_ids"]),
            ("target_ids", target, inputs["target_ids"]),
            ("labels", target, labels),
        )
        yield where
        for name, tokenizer, ids in sides:
            yield from piece_lines(name, ids[row], tokenizer.tokens, tokenizer.detokenize)
            if name == "source_ids":
                yield mask_line(ids[row])
