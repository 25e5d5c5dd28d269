"""Scores of whole sets for ``evaluate``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from tf_transformer.build.data import EvaluationText, build_normalizer, read_entry, read_text
from tf_transformer.cli.answering import Answering, ExportAnswers, RunAnswers
from tf_transformer.cli.progress import progress
from tf_transformer.cli.texts import LINES_AT_ONCE
from tf_transformer.data.cleaning import clean
from tf_transformer.data.sources import Corpus, read_parallel
from tf_transformer.errors import RunError, counted
from tf_transformer.recipe import TranslateRecipe
from tf_transformer.scores import TranslationScores, score_translations

_SHOWN = (("bleu", "BLEU"), ("chrf", "chrF"), ("ter", "TER"))


@dataclass(frozen=True)
class ScoredSet:
    """A set to score.

    Args:
        name: What its figures are called by; empty for files named on the command line.
        sources: Source sentences.
        references: One list a reference set.
        tokenize: sacreBLEU's tokenizer.
        notes: What was dropped and noticed when it was read.
    """

    name: str
    sources: Sequence[str]
    references: Sequence[Sequence[str]]
    tokenize: str
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Outcome:
    """What a set scored, and its translations."""

    name: str
    translations: list[str]
    scores: TranslationScores

    def to_lines(self) -> Iterator[str]:
        """The figures for a person, each with its signature."""
        values, signatures = self.scores.values, self.scores.signatures
        yield f"{self.name or 'given files'}: {counted(len(self.translations), 'sentence')}"
        for name, title in _SHOWN:
            interval = f" [{values['bleu_low']:.2f}, {values['bleu_high']:.2f}]" if name == "bleu" else ""
            yield f"  {title:<12}{values[name]:.2f}{interval}  {signatures[name]}"
        yield f"  {'exact match':<12}{values['exact_match']:.2f} %"


def recipe_sets(answering: RunAnswers | ExportAnswers, split: str) -> list[ScoredSet]:
    """The dev or test sets of a run's recipe, read from where its data lies.

    Raises:
        RunError: When the recipe has none.
        DataError: When a file cannot be read.
    """
    if isinstance(answering, ExportAnswers):  # refused before it was loaded
        raise typer.BadParameter("an exported model has no data: name --source and --target")
    recipe = answering.loaded.recipe
    sets = _texts(recipe, split)
    if not sets:
        raise RunError(
            f"{answering.loaded.folder.path}: its recipe has no data.{split}; name --source and --target"
        )
    return [
        ScoredSet(text.name, text.sources, text.references, answering.tokenize, _notes(text.corpora))
        for text in sets
    ]


def _texts(recipe: TranslateRecipe, split: str) -> list[EvaluationText]:
    if split == "dev" and recipe.data.dev_fraction is not None:
        return list(read_text(recipe).dev)
    normalizer = build_normalizer(recipe.text)
    entries = recipe.data.dev_sets if split == "dev" else recipe.data.test_sets
    return [EvaluationText(name, [read_entry(entry, normalizer)]) for name, entry in entries.items()]


def given_set(source: Path, target: Path, answering: RunAnswers | ExportAnswers) -> list[ScoredSet]:
    """Two parallel files as a set.

    Raises:
        DataError: When they cannot be read or differ in their number of lines.
    """
    corpus = clean(read_parallel({"source": source, "target": target}), answering.normalize)
    return [
        ScoredSet(
            "", corpus.columns["source"], [corpus.columns["target"]], answering.tokenize, _notes([corpus])
        )
    ]


def _notes(corpora: Sequence[Corpus]) -> list[str]:
    return [line for corpus in corpora for line in corpus.report.to_lines()]


def score(answering: Answering, found: ScoredSet, quiet: bool, tokenize: str | None = None) -> Outcome:
    """Translates and scores one set, by another tokenizer than its own where one is named."""
    translations: list[str] = []
    with progress("sentences", quiet, total=len(found.sources)) as advance:
        for start in range(0, len(found.sources), LINES_AT_ONCE):
            texts = found.sources[start : start + LINES_AT_ONCE]
            translations += [answers[0].text for answers in answering.answer(texts, 1, {})]
            advance(len(texts))
    references = [answering.normalize(reference) for reference in found.references]
    return Outcome(
        found.name,
        translations,
        score_translations(translations, references, tokenize=tokenize or found.tokenize),
    )


def report(answering: Answering, outcomes: Sequence[Outcome], split: str) -> dict[str, Any]:
    """The figures for programs, named as in ``results.json``: ``test_bleu`` is the first set's."""
    metrics: dict[str, float] = {}
    signatures: dict[str, str] = {}
    for number, outcome in enumerate(outcomes):
        prefix = "" if not outcome.name else f"{split}_" if number == 0 else f"{split}_{outcome.name}_"
        metrics |= {f"{prefix}{name}": value for name, value in outcome.scores.values.items()}
        signatures |= {f"{prefix}{name}": value for name, value in outcome.scores.signatures.items()}
    return {"model": answering.name, "metrics": metrics, "signatures": signatures}
