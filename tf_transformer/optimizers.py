"""Adam and AdamW of Keras, whose update of a variable is one TensorFlow operation instead of a dozen.

A Transformer has hundreds of small variables. Written in single operations, their updates are half of the
nodes of a training step, which TensorFlow has to trace, optimise and schedule.
"""

from collections.abc import Mapping
from typing import Any

import keras
import tensorflow as tf


class _OneOperation:
    """Overrides `update_step`; the formula is that of Keras (Kingma and Ba, 2014, end of section 2).

    Attributes:
        gradients_are_sums: Whether `apply` gets gradients that were summed over all replicas already. Keras
            sums them only behind its clipping, which then goes by the norm of a part.
        factors: What the rate of a variable is multiplied by, by its place among those that the optimizer
            was built with; 1 for the others.
    """

    gradients_are_sums = False
    factors: Mapping[int, float] = {}

    def _all_reduce_sum_gradients(self: Any, pairs: Any) -> Any:
        return list(pairs) if self.gradients_are_sums else super()._all_reduce_sum_gradients(pairs)  # type: ignore[misc]

    def _apply_weight_decay(self: Any, variables: Any) -> None:
        if not self.factors:  # else it goes by the rate of each variable: see `update_step`
            super()._apply_weight_decay(variables)  # type: ignore[misc]

    def update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any) -> None:
        """Updates a variable and its two slots in place."""
        index = self._get_variable_index(variable)
        learning_rate = learning_rate * self.factors.get(index, 1.0)
        if self.factors and self.weight_decay is not None and self._use_weight_decay(variable):
            share = tf.cast(self.weight_decay * learning_rate, variable.dtype)
            variable.assign_sub(tf.convert_to_tensor(variable) * share)
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)  # type: ignore[misc]
            return
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
