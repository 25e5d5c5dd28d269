"""How good a translator is: teacher-forced loss of a set, and the scores of its real translations."""

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from tf_transformer.evaluation.answer_signs import answer_signs
from tf_transformer.evaluation.attention import AttentionPictures
from tf_transformer.evaluation.evaluator import Advance, Evaluated, EvaluationSet, Evaluator, Sample
from tf_transformer.evaluation.signs import Sign
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.scores import TranslationScores, score_translations
from tf_transformer.scores.rouge import RougeWords, score_rouge
from tf_transformer.scores.translation import score_sentences

SHOWN = ("bleu", "chrf", "rouge_1", "rouge_2", "rouge_l")
"""Scores of the translations that a validation records, where they are measured."""
SIGNS_OF = 500
"""Translations that are looked through for what they have in common."""
SENTENCES_AT_ONCE = 1024
"""Sentences that are translated between two reports of progress."""
_TITLES = {
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
    "rouge_1": "ROUGE-1",
    "rouge_2": "ROUGE-2",
    "rouge_l": "ROUGE-L",
}


class Translates(Protocol):
    """What is evaluated: a translator, or an exported one."""

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        """The best translation of each text, in order."""

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts as the model's own text is normalised."""


class TranslationEvaluator(Evaluator):
    """Scores translations as sacreBLEU does.

    References pass the same normalizer as sources did, so that a normal form or lower-casing that the recipe
    asks for does not count as an error.

    Args:
        task: What translates.
        tokenize: sacreBLEU's tokenizer.
        rouge: Of which words ROUGE is measured too; None for not at all.
        teacher_forced: Measures loss, perplexity and accuracy of the task's model, which ``quick`` and
            ``choosing`` need.
        beam: Beam of ``quick``; None for the task's own.
        samples: Sentences whose translations ``quick`` shows.
        attention: Draws what the model looks at in the first of them; None for no pictures.
    """

    def __init__(
        self,
        task: Translates,
        *,
        tokenize: str,
        rouge: RougeWords | None = None,
        teacher_forced: TeacherForced | None = None,
        beam: int | None = None,
        samples: int = 0,
        attention: AttentionPictures | None = None,
    ) -> None:
        self.attention = attention
        self.task = task
        self.tokenize = tokenize
        self.rouge = rouge
        self.teacher_forced = teacher_forced
        self.beam = beam
        self.samples = samples

    def quick(self, found: EvaluationSet) -> Evaluated:
        """See `Evaluator`: by the beam of validation."""
        return self._measured(found, **({} if self.beam is None else {"beam_size": self.beam}))

    def choosing(self, found: EvaluationSet) -> Evaluated:
        """See `Evaluator`: by the task's own search."""
        return self._measured(found)

    def full(self, found: EvaluationSet, advance: Advance | None = None) -> Evaluated:
        """See `Evaluator`."""
        sources = found.columns["source"]
        if advance is None:
            answers = self.task.translate(sources)
        else:
            answers = []
            for start in range(0, len(sources), SENTENCES_AT_ONCE):
                texts = sources[start : start + SENTENCES_AT_ONCE]
                answers += self.task.translate(texts)
                advance(len(texts))
        scores = self._scores(answers, found, complete=True)
        return Evaluated(
            scores.values,
            brief=_brief(scores),
            signatures=scores.signatures,
            lines=list(_lines(scores)),
            answers=answers,
        )

    def of_training(self, batches: Sequence[Any]) -> dict[str, float]:
        """See `Evaluator`."""
        assert self.teacher_forced is not None
        return self.teacher_forced.of_training(batches)

    def signs(self, found: EvaluationSet, evaluated: Evaluated) -> Iterator[Sign]:
        """See `Evaluator`; of a task that searches, and knows how long its answers may be."""
        limits, shown = getattr(self.task, "length_limits", None), slice(SIGNS_OF)
        if limits is None or not evaluated.answers:
            return
        side: Any = getattr(self.task, "side", None)
        answers, sources = list(evaluated.answers[shown]), found.columns["source"][shown]
        references = self.task.normalize(found.columns["target"][shown])
        pieces, right = (side.encode_target(texts).to_list() for texts in (answers, references))
        plain = self.task.normalize(sources)
        yield from answer_signs(answers, plain, references, pieces, right, limits(sources))

    def _measured(self, found: EvaluationSet, **search: Any) -> Evaluated:
        assert self.teacher_forced is not None
        sources = found.columns["source"]
        answers = self.task.translate(sources, **search)
        scores = self._scores(answers, found, complete=False)
        figures = {
            **self.teacher_forced(found.batches),
            **{name: scores.values[name] for name in SHOWN if name in scores.values},
        }
        brief = f"BLEU {figures['bleu']:.2f}, loss {figures['loss']:.3f}"
        samples = self._samples(found, answers)
        pairs = [(one.source, one.reference) for one in samples]
        pictures = self.attention(pairs) if self.attention is not None else {}
        return Evaluated(figures, brief=brief, answers=answers, samples=samples, pictures=pictures)

    def _samples(self, found: EvaluationSet, answers: Sequence[str]) -> list[Sample]:
        """The first sentences of a set, each with its own chrF."""
        shown = slice(min(self.samples, len(answers)))
        if not answers[shown]:
            return []
        references = [self.task.normalize(column[shown]) for column in references_of(found)]
        scores = score_sentences(answers[shown], references)
        columns = found.columns["source"], found.columns["target"], answers
        return [Sample(*row) for row in zip(*(column[shown] for column in columns), scores, strict=True)]

    def _scores(self, answers: list[str], found: EvaluationSet, complete: bool) -> TranslationScores:
        references = [self.task.normalize(column) for column in references_of(found)]
        scores = score_translations(answers, references, tokenize=self.tokenize, complete=complete)
        if self.rouge is None:
            return scores
        rouge = score_rouge(answers, references, self.rouge)
        return TranslationScores({**scores.values, **rouge.values}, {**scores.signatures, **rouge.signatures})


def references_of(found: EvaluationSet) -> list[Sequence[str]]:
    """The references of a set, one list a reference set: all columns but ``source``."""
    return [column for name, column in found.columns.items() if name != "source"]


def _brief(scores: TranslationScores) -> str:
    values = scores.values
    return (
        f"BLEU {values['bleu']:.2f} [{values['bleu_low']:.2f}, {values['bleu_high']:.2f}], "
        f"exact {values['exact_match']:.1f} %, {scores.signatures['bleu']}"
    )


def _lines(scores: TranslationScores) -> Iterator[str]:
    """The figures for a person, each with its signature."""
    values, signatures = scores.values, scores.signatures
    for name, title in _TITLES.items():
        if name not in values:
            continue
        interval = f" [{values['bleu_low']:.2f}, {values['bleu_high']:.2f}]" if name == "bleu" else ""
        yield f"  {title:<12}{values[name]:.2f}{interval}  {signatures[name]}"
    yield f"  {'exact match':<12}{values['exact_match']:.2f} %"
