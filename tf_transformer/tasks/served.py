"""What a SavedModel of a task holds: its variables, its vocabulary, and its signatures."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

Outputs = dict[str, tf.Tensor]


class ServedTranslator(tf.Module):
    """A translator with its signatures, ready for ``tf.saved_model.save``.

    Both take ``text``, string ``[B]``, and, where the translator has tags, ``tag``, string ``[B]``: an input
    of its own, which no text can be mistaken for.

    Args:
        task: A :class:`~tf_transformer.tasks.translate.Translator`.

    Attributes:
        serving_default: The best translation of each text.
        n_best: All hypotheses of the beam, best first.
    """

    def __init__(self, task: Any) -> None:
        super().__init__(name="served_translator")
        self.task = task
        has_tags = bool(task.preprocessor.source_form.tags)
        self.serving_default = _signature(self._best, has_tags)
        self.n_best = _signature(self._n_best, has_tags)

    def _best(self, texts: tf.Tensor) -> Outputs:
        answer = self.task.answer(texts, self.task.options, num_results=1)
        return {name: answer[name][:, 0] for name in ("text", "score", "log_probability")}

    def _n_best(self, texts: tf.Tensor) -> Outputs:
        answer = self.task.answer(texts, self.task.options, self.task.options.beam_size)
        return {name: answer[name] for name in ("text", "score")}


def _signature(answer: Callable[[tf.Tensor], Outputs], has_tags: bool) -> Any:
    """The function of a signature, around one of texts that have their tags in front."""

    def of_text(text: tf.Tensor) -> Outputs:
        return answer(text)

    def of_text_and_tag(text: tf.Tensor, tag: tf.Tensor) -> Outputs:
        # A tab in a tag would be the end of it.
        return answer(tf.strings.join([tf.strings.regex_replace(tag, "\t", " "), text], "\t"))

    names = ("text", "tag") if has_tags else ("text",)
    specs = [tf.TensorSpec([None], tf.string, name=name) for name in names]
    return tf.function(of_text_and_tag if has_tags else of_text, input_signature=specs, autograph=False)
