"""Adam and AdamW of Keras, whose update of a variable is one TensorFlow operation instead of a dozen.

A Transformer has hundreds of small variables. Written in single operations, their updates are half of the
nodes of a training step, which TensorFlow has to trace, optimise and schedule.
"""

from typing import Any

import keras
import tensorflow as tf


class _OneOperation:
    """Overrides `update_step`; the formula is that of Keras (Kingma and Ba, 2014, end of section 2).

    Attributes:
        gradients_are_sums: Whether `apply` gets gradients that were summed over all replicas already. Keras
            sums them only behind its clipping, which then goes by the norm of a part.
    """

    gradients_are_sums = False

    def _all_reduce_sum_gradients(self: Any, pairs: Any) -> Any:
        return list(pairs) if self.gradients_are_sums else super()._all_reduce_sum_gradients(pairs)  # type: ignore[misc]

    def update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates a variable and its two slots in place."""
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)  # type: ignore[misc]
            return
        index = self._get_variable_index(variable)
        dtype = variable.dtype
        update = tf.cast(tf.convert_to_tensor(self.iterations) + 1, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=tf.pow(tf.cast(self.beta_1, dtype), update),
            beta2_power=tf.pow(tf.cast(self.beta_2, dtype), update),
            lr=tf.cast(learning_rate, dtype),
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(tf.convert_to_tensor(gradient), dtype),
        )


def _handle(variable: Any) -> tf.Tensor:
    """The resource behind a Keras or a TensorFlow variable: that of this replica, where there are several."""
    return (variable.value if isinstance(variable, keras.Variable) else variable).handle


@keras.saving.register_keras_serializable("tf_transformer")
class Adam(_OneOperation, keras.optimizers.Adam):
    """`keras.optimizers.Adam`: the same arguments, slots and formula."""


@keras.saving.register_keras_serializable("tf_transformer")
class AdamW(_OneOperation, keras.optimizers.AdamW):
    """`keras.optimizers.AdamW`: the same arguments, slots and formula."""
