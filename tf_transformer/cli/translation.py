"""Translation on the command line."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import typer

from tf_transformer.build import LoadedRun, problem_of
from tf_transformer.cli.hypotheses import hypothesis_lines
from tf_transformer.cli.piece_rows import mask_line, piece_lines
from tf_transformer.cli.task_face import Options, Reading, TaskFace
from tf_transformer.cli.texts import one_line
from tf_transformer.data.source_lines import cleaned_lines
from tf_transformer.data.sources import read_parallel
from tf_transformer.errors import DataError, counted
from tf_transformer.evaluation import EvaluationSet, Evaluator
from tf_transformer.evaluation.translation import TranslationEvaluator
from tf_transformer.export.loading import ExportedModel
from tf_transformer.tasks import Hypothesis
from tf_transformer.tasks.exported import ExportedTranslator
from tf_transformer.text import Normalizer, SourceForm

if TYPE_CHECKING:
    from tf_transformer.export.ctranslate2_model import CTranslate2Model

_DRAWING = ("temperature", "top-k", "top-p", "seed")
_SEARCH = {
    "beam": "beam_size",
    "length-penalty": "length_penalty",
    "max-length": "max_length_margin",
    "max-length-factor": "max_length_factor",
    "min-length": "min_length_margin",
    "min-length-factor": "min_length_factor",
    "coverage-penalty": "coverage_penalty",
    "diversity": "diversity",
    "repetition-penalty": "repetition_penalty",
    "no-repeat": "no_repeat",
    "ban": "banned",
    "sample": "sample",
    **{name: name.replace("-", "_") for name in _DRAWING},
    "replace-unknown": "replace_unknown",
    "on-long": "on_long",
}
"""Options of the command line, and what the translator calls them."""


class TranslationFace(TaskFace):
    """A translator."""

    UNIT: ClassVar[str] = "sentence"

    def __init__(self, found: "LoadedRun | ExportedModel | CTranslate2Model") -> None:
        super().__init__(found)
        self.read = self.cut = self.split = self.unfinished = 0
        if not isinstance(found, ExportedModel):
            self.task: Any = found.task
            self.form: SourceForm = found.task.preprocessor.source_form
        else:
            manifest = found.manifest
            normalizer = Normalizer(manifest.normal_form, manifest.lowercase)
            self.form = SourceForm(manifest.source_columns, manifest.tags)
            self.task = ExportedTranslator(found.rows, normalizer, self.form)

    def predict(self, groups: Any, write: Any, advance: Any, options: Options) -> None:
        self._check_tag(options["tag"])
        super().predict(groups, write, advance, options)

    def _check_tag(self, tag: str | None) -> None:
        """Refuses a tag that the model does not know, before anything is read."""
        if tag is None or tag in self.form.tags:
            return
        known = f"must be one of {', '.join(self.form.tags)}"
        rule = known if self.form.tags else "must be left out: the model was trained without tags"
        raise typer.BadParameter(f"{rule}. Received: {tag!r}", param_hint="--tag")

    def _lines(self, texts: list[str], options: Options) -> list[str]:
        """The sources that lines of text stand for.

        Raises:
            DataError: When one has other columns than the model reads, or no tag; names its place.
        """
        tag = options["tag"]
        lines = texts if tag is None else [f"{tag}\t{text}" for text in texts]
        for number, line in enumerate(lines, start=self.read + 1):
            if (fault := self.form.fault(line)) is not None:
                hint = "; or name one tag for all lines with --tag" if self.form.tags and tag is None else ""
                raise DataError(f"{options['input']}:{number}: {fault}{hint}")
        self.read += len(texts)
        return lines

    def answers(self, texts: list[str], options: Options) -> Iterator[Iterable[str]]:
        first = self.read + 1
        lines = self._lines(texts, options)
        self._refuse_long(lines, options, first)
        found = self._hypotheses(lines, options)
        if self._searches:  # a SavedModel does not say what it cuts
            self._count_long(lines, options)
        self.unfinished += sum(answers[0].finished is False for answers in found)
        for text, answers in zip(texts, found, strict=True):
            yield hypothesis_lines(text, answers, options, one_line)

    @property
    def _searches(self) -> bool:
        """Whether a search is here, with its options, and not inside a SavedModel."""
        return not isinstance(self.exported, ExportedModel)

    def _rule(self, options: Options) -> str:
        return str(options["on-long"] or self.task.options.on_long)

    def _refuse_long(self, lines: list[str], options: Options, first: int) -> None:
        if self.run is None or self._rule(options) != "refuse":
            return
        most = self.task.max_source_length
        for number, length in enumerate(self.task.count_pieces(lines), start=first):
            if length > most:
                raise DataError(f"{options['input']}:{number}: has more than {most} pieces, the end counted")

    def _count_long(self, lines: list[str], options: Options) -> None:
        number = self.task.count_cut(lines)
        if self._rule(options) == "split" and self.form.columns == 1:
            self.split += number
        else:
            self.cut += number

    def _hypotheses(self, texts: list[str], options: Options) -> list[list[Hypothesis]]:
        number, prefix = options["n-best"], options["prefix"]
        if self._searches:
            return self._searched(texts, options)
        if prefix is not None:
            if number > 1:
                raise typer.BadParameter("is for runs where there is a --prefix", param_hint="--n-best")
            return list(self.task.best(texts, prefix))
        if number == 1:
            return list(self.task.best(texts))
        found = self.task.n_best(texts)
        width = min(map(len, found), default=number)
        if number > width:
            raise typer.BadParameter(f"--n-best must be at most {width}, the beam of the export")
        return [hypotheses[:number] for hypotheses in found]

    def _searched(self, texts: list[str], options: Options) -> list[list[Hypothesis]]:
        search, details, prefix = self._search(options), options["details"], options["prefix"]
        try:
            if self.run is None:
                found: list[list[Hypothesis]] = self.task.n_best(texts, options["n-best"], **search)
                return found
            if options["alternatives"] is not None:
                answers: list[list[Hypothesis]] = self.task.alternatives(
                    texts, options["alternatives"], prefix=prefix or "", details=details, **search
                )
                return answers
            answers = self.task.n_best(texts, options["n-best"], prefix=prefix, details=details, **search)
            return answers
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    def scores(self, texts: list[str], targets: list[str], options: Options) -> list[Hypothesis]:
        self._check_tag(options["tag"])
        try:
            found: list[Hypothesis] = self.task.score(self._lines(texts, options), targets)
        except ValueError as error:
            raise DataError(str(error)) from None
        return found

    def _search(self, options: Options) -> dict[str, Any]:
        """Search options that differ from the recipe's."""
        given = {name: options[option] for option, name in _SEARCH.items()}
        search = {name: value for name, value in given.items() if value is not None and value is not False}
        if "beam_size" not in search and options["n-best"] > self.task.options.beam_size:
            search["beam_size"] = options["n-best"]
        for kind in ("max", "min"):
            margin, factor = search.get(f"{kind}_length_margin"), search.get(f"{kind}_length_factor")
            if margin is not None and factor is None:
                search[f"{kind}_length_factor"] = 0.0
            if factor is not None and margin is None:
                search[f"{kind}_length_margin"] = 0
        return search

    def remarks(self) -> Iterator[str]:
        if self.cut:
            yield f"the end of {counted(self.cut, 'line')} was not read: the model does not read that far"
        if self.split:
            yield f"{counted(self.split, 'line')} over the longest source: split at sentence ends"
        if self.unfinished:
            yield f"{counted(self.unfinished, 'answer')} reached the longest length allowed before the end"

    def evaluator(self, options: Options) -> Evaluator:
        tokenize = options["tokenize"]
        if self.exported is not None:
            manifest = self.exported.manifest
            return TranslationEvaluator(
                self.task, tokenize=tokenize or manifest.tokenize, rouge=manifest.rouge
            )
        assert self.run is not None
        recipe = self.run.recipe
        if tokenize is not None:
            recipe = recipe.replaced("evaluation", tokenize=tokenize)
        return problem_of(recipe).evaluator(self.task)

    def given_set(self, options: Options) -> tuple[EvaluationSet, Sequence[str]] | None:
        source, target = options["source"], options["target"]
        if source is None or target is None:
            return None
        self._check_tag(options["tag"])
        read = read_parallel({"source": source, "target": target})
        corpus = cleaned_lines(read, self.form, self.task.normalize, options["tag"])
        return EvaluationSet("", corpus.columns), corpus.report.to_lines()

    @staticmethod
    def readings(side: Any) -> Mapping[str, Reading]:
        return {
            "source": Reading(side.encode_source, side.source_tokenizer, side.source_form.texts),
            "target": Reading(side.encode_target, side.target_tokenizer, extra=1),
        }

    @staticmethod
    def tokens(side: Any) -> Mapping[str, Sequence[str]]:
        target = side.target_tokenizer.tokens
        return {"source_ids": side.source_tokens, "target_ids": target, "labels": target}

    @staticmethod
    def row_lines(side: Any, where: str, inputs: Any, labels: Any, row: int) -> Iterator[str]:
        source, target = side.source_tokens, side.target_tokenizer.tokens
        sides = (
            ("source_ids", source, side.decode_source, inputs["source_ids"]),
            ("target_ids", target, side.decode_target, inputs["target_ids"]),
            ("labels", target, side.decode_target, labels),
        )
        yield where
        for name, tokens, decode, ids in sides:
            yield from piece_lines(name, ids[row], tokens, decode)
            if name == "source_ids":
                yield mask_line(ids[row])
