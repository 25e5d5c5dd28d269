"""Every tag that a run writes for TensorBoard, with its unit and what it means.

The README lists them; a test compares the two, and both with what runs have written. Words in capitals stand
for names that differ: PART is a part of the model (``encoder``), SIDE a side of the data (``target``), COUNT
what the model counts (``target_tokens``), SET a further dev set, FIGURE a final figure, N a number.
"""

import re
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True)
class Tag:
    """A tag, or several that differ in a name.

    Args:
        name: The tag; words in capitals stand for anything.
        kind: ``scalar``, ``text``, ``image`` or ``histogram``.
        unit: What its numbers count; empty for what has none.
        meaning: One line for a person.
    """

    name: str
    kind: str
    unit: str
    meaning: str

    def fits(self, tag: str) -> bool:
        """Whether this describes a tag that was written."""
        return re.fullmatch(re.sub(r"[A-Z]+", ".+", re.escape(self.name)), tag) is not None


def _all(kind: str, unit: str, meaning: str, *names: str) -> list[Tag]:
    return [Tag(name, kind, unit, meaning) for name in names]


_SHARE = "share, 0 to 1"
TAGS: tuple[Tag, ...] = (
    *_all("scalar", "nats", "cross-entropy of a label; train: the mean of the updates", "quality/loss"),
    *_all("scalar", "labels", "as if it chose among so many; train: of a sample", "quality/perplexity"),
    *_all("scalar", _SHARE, "labels that are found likeliest; train: of a sample", "quality/accuracy"),
    *_all("scalar", "0 to 100", "answers against references", "quality/bleu", "quality/chrf"),
    *_all(
        *("scalar", "0 to 100", "answers against references, where evaluation.rouge says so"),
        *("quality/rouge_1", "quality/rouge_2", "quality/rouge_l"),
    ),
    *_all("scalar", _SHARE, "F1, the mean over classes", "quality/macro_f1"),
    *_all("scalar", _SHARE, "how far sureness is from being right, on average", "quality/ece"),
    *_all("scalar", "nats", "what a text costs", "quality/nats_per_character", "quality/nats_per_token"),
    *_all("scalar", "bits", "what a text costs", "quality/bits_per_character", "quality/bits_per_byte"),
    *_all("scalar", "pieces", "of a text, that are not in the vocabulary", "quality/unknown"),
    *_all("scalar", "as above", "the same of a further dev set", "quality/SET_FIGURE"),
    *_all("scalar", "1", "the rate of the update", "update/learning_rate"),
    *_all("scalar", "1", "length of the gradient, before clipping", "update/gradient_norm"),
    *_all("scalar", "1", "length of the gradient, before clipping", "update_gradient/PART"),
    *_all("scalar", "1", "length of the change over that of the weights", "update/ratio"),
    *_all("scalar", "1", "length of the change over that of the weights", "update_ratio/PART"),
    *_all("scalar", "1", "length of all weights as one vector", "update/weights"),
    *_all("scalar", "1", "what the loss is multiplied by, in float16", "update/loss_scale"),
    *_all("scalar", "updates", "skipped since training began", "update/skipped"),
    *_all("scalar", "a second", "real tokens, examples or vectors", "speed/COUNT_per_second"),
    *_all("scalar", "milliseconds", "an update without the wait for its batch", "speed/step"),
    *_all("scalar", "milliseconds", "an update's wait for its batch", "speed/input_wait"),
    *_all("scalar", "GFLOP/s", "products with weights, forward and backward", "speed/model_gigaflops"),
    *_all("scalar", _SHARE, "that, of one large product of matrices here", "speed/share_of_peak"),
    *_all("scalar", _SHARE, "positions that are padding", "usage/SIDE_padding"),
    *_all("scalar", "GiB", "what the process has", "usage/process_memory"),
    *_all("scalar", "GiB", "the most that was in use on the GPU", "usage/device_memory"),
    *_all("scalar", "as above", "figures of the best update so far, then of the end", "results/FIGURE"),
    *_all("text", "", "the resolved recipe", "recipe"),
    *_all("text", "", "what was read, kept and dropped; lengths", "data"),
    *_all("text", "", "to dev examples, and what has changed in them", "answers"),
    *_all("image", "", "what each target token looks at: heads, their mean", "views/cross_attention_N"),
    *_all(
        *("image", "", "the same within a side, where evaluation.self_attention says so"),
        *("views/encoder_attention_N", "views/decoder_attention_N"),
    ),
    *_all("image", "", "the vectors of positions, and how alike they are", "views/positions_SIDE"),
    *_all("image", "", "lengths of training examples", "views/lengths"),
    *_all("image", "", "the rate of each update", "views/schedule"),
    *_all("image", "", "labels against answers", "views/confusion"),
    *_all("image", "", "sure against right", "views/calibration"),
    *_all("histogram", "1", "a sample of the weights", "weights/PART"),
    *_all("histogram", "1", "a sample of their changes in one update", "weights_changes/PART"),
)


@cache
def tag_of(tag: str) -> Tag | None:
    """What is known of a tag that was written; the first that fits."""
    return next((known for known in TAGS if known.fits(tag)), None)


def described(tag: str) -> str:
    """The line that TensorBoard shows for a tag."""
    known = tag_of(tag)
    if known is None:
        return ""
    return f"{known.meaning} ({known.unit})" if known.unit else known.meaning
