"""How a SavedModel that translates is tried: it must answer as the task that it was made of."""

from collections.abc import Mapping, Sequence
from typing import Any

from tf_transformer.errors import ExportError
from tf_transformer.presets import PAD_ID
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.signature_trial import call_as_in_memory
from tf_transformer.tasks.task import Call, Inputs, Trial
from tf_transformer.text import SourceForm

SCORE_TOLERANCE = 1e-3
"""Scores of another batch differ by float32 rounding; the texts must be equal."""
MAY_DIFFER = 1 / 8
"""The share of a batch that may have another answer, where rounding decides between two."""
LOOKED_AT = 8
"""How many texts the signatures that people look at are tried on."""
ODD_TEXTS = ("", " ", "a", "</s> <pad>", "?!" * 40)
"""Texts that every export is tried with beside its samples."""


def translation_trial(task: Any, samples: Sequence[str], form: SourceForm | None = None) -> Trial:
    """Compares in batches of one and of all.

    Args:
        task: The translator in memory.
        samples: Source sentences to compare on, with their tags where the translator has tags.
        form: The form of its sources; None: each is one text.
    """
    form = form or SourceForm()
    texts = trial_texts(samples, form)
    alone = texts[: len(texts) : max(1, len(texts) // 4)]
    expected: dict[str, list[Hypothesis]] = dict(zip(texts, task.n_best(texts), strict=True))

    def best(inputs: Inputs, answer: Mapping[str, Any]) -> None:
        for text, found, score in zip(lines_of(inputs), answer["text"], answer["score"], strict=True):
            _compare(text, expected[text], found, score)

    def n_best(inputs: Inputs, answer: Mapping[str, Any]) -> None:
        for text, scores in zip(lines_of(inputs), answer["score"], strict=True):
            _compare_scores(text, expected[text], scores)

    batches = [signature_inputs(form, lines) for lines in (texts, *([text] for text in alone))]
    calls = [Call("serving_default", batches, best), Call("n_best", batches[:1], n_best)]
    return Trial(calls, {"sentences": len(texts), "alone": len(alone)})


def further_calls(task: Any, samples: Sequence[str]) -> list[Call]:
    """Calls of the signatures that take more than text, and of those that say more of an answer.

    Args:
        task: The translator in memory.
        samples: As for `translation_trial`.
    """
    form = task.preprocessor.source_form
    lines = trial_texts(samples, form)
    best = task.translate(lines)
    most = task.longest_answer
    # What is no text of its own, such as broken bytes, may come back as more pieces than it was.
    best, prefixes = (
        _within(task, best, most),
        _within(task, [text.split(" ")[0] for text in best], most // 2),
    )
    beginnings = _within(task, best, most // 2)
    given: dict[str, dict[str, Sequence[Any]]] = {
        "prefix": {"prefix": prefixes},
        "search": {
            "prefix": ["" if place % 3 else prefix for place, prefix in enumerate(prefixes)],
            "min_length": _in_turn((-1, 0, 3, 9), lines),
            "max_length": _in_turn((-1, 5), lines),
            "length_penalty": _in_turn((1.0, 0.0, 0.6), lines),
            "repetition_penalty": _in_turn((1.0, 1.2), lines),
        },
        "sample": {
            "seed": _in_turn((1, 2, 3), lines),
            "temperature": _in_turn((0.0, 0.7, 1.0), lines),
            "top_k": _in_turn((0, 5), lines),
            "top_p": _in_turn((1.0, 0.9), lines),
        },
        "score": {"target": best},
        "attention": {},
    }
    texts = signature_inputs(form, lines)
    inputs: dict[str, Inputs] = {name: {**texts, **more} for name, more in given.items()}
    inputs["ids"] = {"source_ids": task.encode(lines).to_tensor(PAD_ID).numpy().tolist()}
    # What is looked at is large: of a few.
    few = {name: values[:LOOKED_AT] for name, values in texts.items()}
    looks: dict[str, dict[str, Sequence[Any]]] = {
        "explore": {
            **{name: values[:LOOKED_AT] for name, values in given["search"].items()},
            "prefix_ids": _numbers(task, prefixes[:LOOKED_AT]),
        },
        "inspect": {
            "target": beginnings[:LOOKED_AT],
            "target_ids": _numbers(task, prefixes[:LOOKED_AT]),
            "layer": _in_turn((0, 1, -1), lines[:LOOKED_AT]),
        },
    }
    inputs |= {name: {**few, **more} for name, more in looks.items()}
    return [
        call_as_in_memory(task.served(), name, arguments, 0.0 if name == "score" else MAY_DIFFER)
        for name, arguments in inputs.items()
    ]


def _within(task: Any, texts: Sequence[str], most: int) -> list[str]:
    """Texts of at most so many pieces, and nothing in place of the others."""
    lengths = task.preprocessor.encode_target(list(texts)).row_lengths().numpy()
    return [text if length <= most else "" for text, length in zip(texts, lengths, strict=True)]


def _numbers(task: Any, texts: Sequence[str]) -> list[str]:
    """The numbers of the pieces of texts, as signatures take them."""
    rows = task.preprocessor.encode_target(list(texts)).to_list() if texts else []
    return [" ".join(map(str, row)) for row in rows]


def _in_turn(values: Sequence[float], lines: Sequence[str]) -> list[float]:
    """A value for each line."""
    return [values[place % len(values)] for place in range(len(lines))]


def trial_texts(samples: Sequence[str], form: SourceForm) -> list[str]:
    """Samples, and odd texts behind them, as sources of a translator."""
    return [*samples, *(_line(form, place, text) for place, text in enumerate(ODD_TEXTS))]


def signature_inputs(form: SourceForm, lines: Sequence[str]) -> dict[str, list[str]]:
    """What the signatures of a translator take: sources, and their tags apart where there are tags."""
    if not form.tags:
        return {"text": list(lines)}
    pairs = [form.tag_and_text(line) for line in lines]
    return {"text": [text for _, text in pairs], "tag": [tag for tag, _ in pairs]}


def lines_of(inputs: Inputs) -> list[str]:
    """Undoes `signature_inputs`."""
    if "tag" not in inputs:
        return list(inputs["text"])
    return [f"{tag}\t{text}" for tag, text in zip(inputs["tag"], inputs["text"], strict=True)]


def _line(form: SourceForm, place: int, text: str) -> str:
    """A text as a source of a translator: in each of its columns, and with one of its tags."""
    columns = "\t".join([text] * form.columns)
    return f"{form.tags[place % len(form.tags)]}\t{columns}" if form.tags else columns


def close(score: float, other: float) -> bool:
    """Whether two scores are the same but for rounding."""
    # Equal infinities, the scores of places without a hypothesis, have no difference.
    return score == other or abs(score - other) <= SCORE_TOLERANCE * max(1.0, abs(other))


def _compare(text: str, expected: Sequence[Hypothesis], found: str, score: float) -> None:
    """The best answer must be the run's; of two that tie within rounding, either is."""
    best = expected[0]
    equals = [hypothesis.text == found and close(score, hypothesis.score) for hypothesis in expected]
    if not any(equals) or not close(score, best.score):
        raise ExportError(
            f"the exported model answers differently, so it was not kept: {text!r} gives "
            f"{best.text!r} ({best.score:.4f}) in the run and {found!r} ({score:.4f}) in the export"
        )


def _compare_scores(text: str, expected: Sequence[Hypothesis], scores: Sequence[float]) -> None:
    for rank, (hypothesis, score) in enumerate(zip(expected, scores, strict=True), start=1):
        if not close(score, hypothesis.score):
            raise ExportError(
                f"the exported model scores differently, so it was not kept: {text!r} has "
                f"{hypothesis.score:.4f} at rank {rank} in the run and {score:.4f} in the export"
            )
