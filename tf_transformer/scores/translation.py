"""Scores of finished answers, by sacreBLEU, with the signatures that make them comparable."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tf_transformer.arguments import list_of_strings, whole_number

TOKENIZERS = ("13a", "zh", "char", "intl", "none", "flores101", "flores200")
"""The names of sacreBLEU's tokenizers that ``evaluation.tokenize`` takes."""


@dataclass(frozen=True)
class TranslationScores:
    """What a set of translations scores.

    Args:
        values: Figures by name: ``bleu``, ``chrf`` and, when all were asked for, ``ter``,
            ``exact_match`` (per cent of lines equal to a reference), ``bleu_low`` and ``bleu_high``
            (95 % interval by bootstrap), ``hypothesis_length`` and ``reference_length`` in BLEU's tokens.
        signatures: sacreBLEU's signature of each measure that has one.
    """

    values: dict[str, float]
    signatures: dict[str, str]


def score_translations(
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    tokenize: str = "13a",
    complete: bool = True,
    bootstrap: int = 1000,
) -> TranslationScores:
    """Scores translations against one or more references each.

    Args:
        hypotheses: One translation a sentence.
        references: One list a reference set, each as long as ``hypotheses``.
        tokenize: sacreBLEU's tokenizer for BLEU; ``"none"`` is for text that is tokenized already.
        complete: Adds TER, exact matches and the bootstrap interval, which take seconds.
        bootstrap: Resamples of the interval.

    Raises:
        TypeError: When hypotheses or references are no lists of strings.
        ValueError: When the numbers of hypotheses and references differ, there are none, or ``tokenize`` is
            unknown.
    """
    from sacrebleu.metrics import BLEU, CHRF, TER

    check_references(hypotheses, references)
    if tokenize not in TOKENIZERS:
        raise ValueError(f"`tokenize` must be one of {', '.join(TOKENIZERS)}. Received: {tokenize!r}")
    bootstrap = whole_number("bootstrap", bootstrap, 1)
    # Text tokenized beforehand is meant here; sacreBLEU would otherwise warn about it.
    bleu = BLEU(tokenize=tokenize, force=tokenize == "none")
    chrf = CHRF()
    sets = [list(reference) for reference in references]
    result: Any = bleu.corpus_score(list(hypotheses), sets, n_bootstrap=bootstrap if complete else 1)
    values = {
        "bleu": result.score,
        "chrf": chrf.corpus_score(list(hypotheses), sets).score,
        "hypothesis_length": float(result.sys_len),
        "reference_length": float(result.ref_len),
    }
    signatures = {"bleu": str(bleu.get_signature()), "chrf": str(chrf.get_signature())}
    if complete:
        ter = TER()
        values["ter"] = ter.corpus_score(list(hypotheses), sets).score
        signatures["ter"] = str(ter.get_signature())
        values["exact_match"] = exact_match(hypotheses, references)
        values["bleu_low"], values["bleu_high"] = result.score, result.score
        if len(hypotheses) > 1 and bootstrap > 1:
            values["bleu_low"] = max(0.0, result._mean - result._ci)
            values["bleu_high"] = min(100.0, result._mean + result._ci)
    return TranslationScores(values, signatures)


def exact_match(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Per cent of the hypotheses that equal one of their references, letter by letter."""
    check_references(hypotheses, references)
    hits = sum(
        hypothesis in alternatives
        for hypothesis, alternatives in zip(hypotheses, zip(*references, strict=True), strict=True)
    )
    return 100.0 * hits / len(hypotheses)


def check_references(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> None:
    """Refuses what is no list of answers, with a reference set or several of as many lines.

    Raises:
        TypeError: When one is no list of strings.
        ValueError: When the numbers differ, or there are none.
    """
    list_of_strings("hypotheses", hypotheses)
    if isinstance(references, str | bytes):
        raise TypeError("`references` must be a list of lists of strings. Received: one string")
    counts = [len(list_of_strings("references", reference)) for reference in references]
    if not hypotheses or not counts or any(count != len(hypotheses) for count in counts):
        raise ValueError(
            "Each reference set must have one line for each hypothesis, and there must be at least one. "
            f"Received: {len(hypotheses)} hypotheses, reference sets of {counts} lines"
        )


def score_sentences(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """The chrF of each sentence by itself, from 0 to 100; BLEU says little of one.

    Args:
        hypotheses: One translation a sentence.
        references: One list a reference set, each as long as ``hypotheses``.
    """
    from sacrebleu.metrics import CHRF

    check_references(hypotheses, references)
    chrf = CHRF()
    rows = zip(hypotheses, *references, strict=True)
    return [float(chrf.sentence_score(answer, list(right)).score) for answer, *right in rows]
