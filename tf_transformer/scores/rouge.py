"""ROUGE of finished answers, by Google's rouge-score, with signatures that say how it was counted."""

from collections.abc import Sequence
from importlib import metadata, util
from typing import Any, Final, Literal, get_args

from tf_transformer.errors import RecipeError
from tf_transformer.scores.translation import TranslationScores, check_references

RougeWords = Literal["stemmed", "plain", "characters"]
"""What is compared: words of a to z and 0 to 9, by their stems or as they are; or any characters."""

_MEASURES: Final = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeL"}


class _Characters:
    """Each character of a text, in lower case, as a word; white space is none."""

    def tokenize(self, text: str) -> list[str]:
        """The characters of a text."""
        return [character for character in text.lower() if not character.isspace()]


def demand_rouge() -> None:
    """Refuses to go on where the library is not installed.

    Raises:
        RecipeError: Then; says how to install it.
    """
    if util.find_spec("rouge_score") is None:
        raise RecipeError(
            "evaluation.rouge: needs the library rouge-score: pip install 'tf-transformer[rouge]'"
        )


def score_rouge(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], words: RougeWords = "stemmed"
) -> TranslationScores:
    """Scores answers against one or more references each (Lin, 2004).

    Each figure is the mean of the answers' F1 in per cent; of several references the best counts. ROUGE-L is
    that of the answer as one sequence, without sentences.

    Args:
        hypotheses: One answer a source.
        references: One list a reference set, each as long as ``hypotheses``.
        words: What is compared. The first two know no letters beyond a to z: text in other scripts has no
            words to them.

    Returns:
        ``rouge_1``, ``rouge_2`` and ``rouge_l``, each with its signature.

    Raises:
        TypeError: When hypotheses or references are no lists of strings.
        ValueError: When their numbers differ, there are none, or ``words`` is none of these.
        RecipeError: When the library is not installed.
    """
    if words not in get_args(RougeWords):
        raise ValueError(f"`words` must be one of {', '.join(get_args(RougeWords))}. Received: {words!r}")
    check_references(hypotheses, references)
    demand_rouge()
    from rouge_score.rouge_scorer import RougeScorer

    tokenizer = _Characters() if words == "characters" else None
    scorer = RougeScorer(list(_MEASURES.values()), use_stemmer=words == "stemmed", tokenizer=tokenizer)
    rows = zip(hypotheses, zip(*references, strict=True), strict=True)
    scores: list[Any] = [scorer.score_multi(alternatives, answer) for answer, alternatives in rows]
    mean = {
        name: 100.0 * sum(score[measure].fmeasure for score in scores) / len(scores)
        for name, measure in _MEASURES.items()
    }
    counted = "characters" if words == "characters" else "a-z0-9"
    how = f"F1|tok:{counted}|stemmer:{'yes' if words == 'stemmed' else 'no'}"
    version = metadata.version("rouge-score")
    signatures = {name: f"{measure}|{how}|version:{version}" for name, measure in _MEASURES.items()}
    return TranslationScores(mean, signatures)
