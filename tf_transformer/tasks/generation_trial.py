"""How a SavedModel that generates is tried: it must go on as the task that it was made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from tf_transformer.errors import ExportError
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.task import Call, Inputs, Trial
from tf_transformer.tasks.translation_trial import ODD_TEXTS, close

_MAY_DIFFER = 1 / 8
"""The share of a batch that may differ.

A draw that falls on the border of two pieces may, by the rounding of another batch, fall to either side, and
the texts part there.
"""


def generation_trial(task: Any, samples: Sequence[str]) -> Trial:
    """Compares in batches of one and of all, and by seeds and options of each text's own.

    Args:
        task: The generator in memory.
        samples: Prompts to compare on.
    """
    texts = [*samples, *ODD_TEXTS]
    alone = texts[: len(texts) : max(1, len(texts) // 4)]
    expected = [found[0] for text in texts for found in task.samples([text])]
    known = dict(zip(texts, expected, strict=True))
    vectors = {
        "text": texts,
        "seed": [task.options.seed] * len(texts),
        "temperature": [0.0] * len(texts),
        "top_k": [0] * len(texts),
        "top_p": [1.0] * len(texts),
    }
    greedy = [found[0] for found in task.samples(texts, temperature=0.0)]

    def drawn(inputs: Inputs, answer: Mapping[str, Any]) -> None:
        _compare(inputs["text"], [known[text] for text in inputs["text"]], answer)

    def likeliest(inputs: Inputs, answer: Mapping[str, Any]) -> None:
        _compare(inputs["text"], greedy, answer)

    batches: list[Inputs] = [{"text": texts}, *({"text": [text]} for text in alone)]
    calls = [Call("serving_default", batches, drawn), Call("sample", [vectors], likeliest)]
    return Trial(calls, {"sentences": len(texts), "alone": len(alone)})


def _compare(texts: Sequence[str], expected: Sequence[Hypothesis], answer: Mapping[str, Any]) -> None:
    others = []
    for text, wanted, found, score in zip(texts, expected, answer["text"], answer["score"], strict=True):
        if found != wanted.text or not close(score, wanted.score):
            others.append((text, wanted, found, score))
    if len(others) > _MAY_DIFFER * len(texts):
        text, wanted, found, score = others[0]
        raise ExportError(
            f"the exported model goes on differently, so it was not kept: {text!r} gives "
            f"{wanted.text!r} ({wanted.score:.4f}) in the run and {found!r} ({score:.4f}) in the export"
        )
