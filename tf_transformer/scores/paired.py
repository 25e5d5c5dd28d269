"""Two sets of answers to the same examples: which scores higher, and whether that may be chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

from tf_transformer.arguments import list_of_strings
from tf_transformer.scores.translation import check_references


@dataclass(frozen=True)
class PairedBleu:
    """BLEU of two translators.

    Args:
        old: Of the first.
        new: Of the second.
        p_value: How often a difference as great as theirs comes by chance: Koehn, 2004, "Statistical
            Significance Tests for Machine Translation Evaluation".
        signature: sacreBLEU's, the resamples in it.
    """

    old: float
    new: float
    p_value: float
    signature: str


def paired_bleu(
    old: Sequence[str], new: Sequence[str], references: Sequence[Sequence[str]], *, tokenize: str = "13a"
) -> PairedBleu:
    """Compares by paired bootstrap resampling.

    Args:
        old: One translation a sentence.
        new: Likewise.
        references: One list a reference set.
        tokenize: sacreBLEU's tokenizer for BLEU.

    Raises:
        TypeError: When one of them is no list of strings.
        ValueError: When they are not equally many, or there are none.
    """
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    for translations in (old, new):
        check_references(translations, references)
    sets = [list(reference) for reference in references]
    measure = BLEU(tokenize=tokenize, force=tokenize == "none")
    systems: Any = [("old", list(old)), ("new", list(new))]
    test: Any = PairedTest(systems, {"BLEU": measure}, sets, test_type="bs")
    signatures, found = test()
    first, second = found["BLEU"]
    # Where no resample has a difference, the test counts none that is as great, and says the opposite.
    p_value = 1.0 if list(old) == list(new) else float(second.p_value)
    return PairedBleu(first.score, second.score, p_value, str(signatures["BLEU"]))


@dataclass(frozen=True)
class PairedAccuracy:
    """Right labels of two classifiers.

    Args:
        old: Per cent of the first.
        new: Of the second.
        old_alone: Examples that the first alone has right.
        new_alone: Those of the second.
        p_value: How often, if both were equally good, these two numbers would be as unequal: McNemar's test,
            exact. McNemar, 1947, "Note on the sampling error of the difference between correlated
            proportions or percentages".
    """

    old: float
    new: float
    old_alone: int
    new_alone: int
    p_value: float


def paired_accuracy(old: Sequence[str], new: Sequence[str], labels: Sequence[str]) -> PairedAccuracy:
    """Compares labels by McNemar's exact test.

    Args:
        old: One label an example.
        new: Likewise.
        labels: The right ones.

    Raises:
        TypeError: When one of them is no list of strings.
        ValueError: When they are not equally many, or there are none.
    """
    counts = [len(list_of_strings(name, each)) for name, each in _named(old, new, labels)]
    if not labels or len(set(counts)) > 1:
        raise ValueError(f"Answers and labels must be equally many, at least one. Received: {counts}")
    right = [[one == label for one, label in zip(each, labels, strict=True)] for each in (old, new)]
    alone = [
        sum(mine and not theirs for mine, theirs in zip(*pair, strict=True)) for pair in (right, right[::-1])
    ]
    rates = [100.0 * sum(each) / len(labels) for each in right]
    return PairedAccuracy(rates[0], rates[1], alone[0], alone[1], _two_sided(*alone))


def _named(old: Any, new: Any, labels: Any) -> list[tuple[str, Any]]:
    return [("old", old), ("new", new), ("labels", labels)]


def _two_sided(one: int, other: int) -> float:
    """How often a fair coin falls at least as unequally; in whole numbers, so that none is too large."""
    thrown = one + other
    ways = 2 * sum(comb(thrown, count) for count in range(min(one, other) + 1))
    return min(1.0, ways / (1 << thrown))
