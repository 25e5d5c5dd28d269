"""Two sets of translations of the same sentences: which scores higher, and whether that may be chance."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
