"""What a SavedModel of a task holds: its variables, its vocabulary, and its signatures."""

from typing import Any

import tensorflow as tf


class ServedTranslator(tf.Module):
    """A translator with its signatures, ready for ``tf.saved_model.save``.

    Args:
        task: A :class:`~tf_transformer.tasks.translate.Translator`.
    """

    def __init__(self, task: Any) -> None:
        super().__init__(name="served_translator")
        self.task = task

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """The best translation of each text."""
        answer = self.task.answer(text, self.task.options, num_results=1)
        return {name: answer[name][:, 0] for name in ("text", "score", "log_probability")}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")], autograph=False)
    def n_best(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """All hypotheses of the beam, best first."""
        answer = self.task.answer(text, self.task.options, self.task.options.beam_size)
        return {name: answer[name] for name in ("text", "score")}
