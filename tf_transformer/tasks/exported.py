"""Tasks whose model is a SavedModel: no model code, only what its signatures say."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tf_transformer.tasks.hypothesis import Details, Hypothesis
from tf_transformer.tasks.translation_trial import signature_inputs
from tf_transformer.text import Normalizer, SourceForm

Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""A signature and its arguments, arrays by name, to its outputs, arrays by name."""
Rows = Callable[..., list[tuple[Any, ...]]]
"""A signature, examples, and names of its outputs to those outputs, a row an example, in their order.

Arguments beside the examples, one an example, may follow, by name.
"""


class ExportedTranslator:
    """Translates by a SavedModel; its search options were fixed when it was exported.

    Args:
        rows: Runs a signature on texts.
        normalizer: That of the exported model.
        source_form: Likewise; texts are lines then, see there.
    """

    def __init__(self, rows: Rows, normalizer: Normalizer, source_form: SourceForm | None = None) -> None:
        self.rows = rows
        self.normalizer = normalizer
        self.source_form = source_form or SourceForm()

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        """The best translation of each text, in order.

        Raises:
            ValueError: For any search option, and for a text that is not as `source_form` asks.
        """
        if search:
            raise ValueError(f"An exported model searches as it was exported. Received: {', '.join(search)}")
        return [hypotheses[0].text for hypotheses in self.best(texts)]

    def best(self, texts: Sequence[str], prefix: str | None = None) -> list[list[Hypothesis]]:
        """The best hypothesis of each text, in a list of one; all begin with the prefix."""
        outputs = ("text", "score", "log_probability")
        if prefix is None:
            answers = self._rows("serving_default", texts, outputs)
        else:
            answers = self._rows("prefix", texts, outputs, prefix=[prefix] * len(texts))
        return [[Hypothesis(text, score, logp, None)] for text, score, logp in answers]

    def n_best(self, texts: Sequence[str]) -> list[list[Hypothesis]]:
        """All hypotheses of the exported beam, with what the signature says of them."""
        answers = self._rows("n_best", texts, ("text", "score"))
        return [
            [Hypothesis(text, score, None, None) for text, score in zip(*row, strict=True)] for row in answers
        ]

    def score(self, texts: Sequence[str], targets: Sequence[str]) -> list[Hypothesis]:
        """How likely given translations are: see `Translator.score`; of details there are those of pieces."""
        outputs = ("score", "log_probability", "pieces", "log_probabilities")
        rows = self._rows("score", texts, outputs, target=targets)
        found = []
        for target, (score, total, pieces, logs) in zip(targets, rows, strict=True):
            pieces = tuple(piece for piece in pieces if piece)
            details = Details(pieces, tuple(logs[: len(pieces) + 1]), (), (), ())
            found.append(Hypothesis(target, score, total, True, details))
        return found

    def _rows(
        self, signature: str, texts: Sequence[str], outputs: Sequence[str], **more: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        given = signature_inputs(self.source_form, self.source_form.lines(texts))
        others = {**({"tag": given["tag"]} if "tag" in given else {}), **more}
        beside = [others] if others else []
        return self.rows(signature, given["text"], outputs, *beside)

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Texts, references say, as the model's own text is normalised."""
        return self.normalizer.normalize_texts(list(texts))


class ExportedGenerator:
    """Goes on from texts by a SavedModel; its options and its seed were fixed when it was exported.

    Args:
        rows: Runs a signature on texts.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def samples(self, prompts: Sequence[str]) -> list[list[Hypothesis]]:
        """The continuation of each prompt, in a list of one."""
        answers = self.rows("serving_default", prompts, ("text", "score", "log_probability"))
        return [[Hypothesis(text, score, logp, None)] for text, score, logp in answers]
