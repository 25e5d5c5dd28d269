"""What a SavedModel of a generator holds: its variables, its vocabulary, and its signatures."""

from typing import Any

import tensorflow as tf

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_VECTORS = (
    tf.TensorSpec([None], tf.int32, name="seed"),
    tf.TensorSpec([None], tf.float32, name="temperature"),
    tf.TensorSpec([None], tf.int32, name="top_k"),
    tf.TensorSpec([None], tf.float32, name="top_p"),
)


class ServedGenerator(tf.Module):
    """A generator with its signatures, ready for ``tf.saved_model.save``.

    Args:
        task: A :class:`~tf_transformer.tasks.generate.Generator`.
    """

    def __init__(self, task: Any) -> None:
        super().__init__(name="served_generator")
        self.task = task

    @tf.function(input_signature=[_TEXT], autograph=False)
    def serving_default(self, text: tf.Tensor) -> dict[str, tf.Tensor]:
        """What follows each text, by the generator's options and seed: equal texts, equal answers."""
        return self._answer(text)

    @tf.function(input_signature=[_TEXT, *_VECTORS], autograph=False)
    def sample(
        self, text: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor, top_k: tf.Tensor, top_p: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """The same by a seed and by options of each text's own; 0 for `top_k` and 1 for `top_p` are none."""
        return self._answer(text, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p)

    def _answer(self, text: tf.Tensor, **vectors: tf.Tensor) -> dict[str, tf.Tensor]:
        answer = self.task.answer(text, self.task.options, **vectors)
        return {name: answer[name] for name in ("text", "score", "log_probability")}
