"""One optimizer update as each Keras backend compiles it; the device it runs on."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from tf_transformer.losses import smoothed_cross_entropy
from tf_transformer.models import Transformer
from tf_transformer.presets import PAD_ID

SMOOTHING = 0.1

Batch = dict[str, Any]
Update = Callable[[Batch], Any]


def mean_loss(labels: Any, logits: Any) -> Any:
    """Smoothed cross-entropy of a token."""
    return ops.mean(smoothed_cross_entropy(labels, logits, SMOOTHING, PAD_ID))


def inputs(batch: Batch) -> Batch:
    """What the model reads of a batch."""
    return {name: ids for name, ids in batch.items() if name != "labels"}


def jax_update(model: Transformer, optimizer: keras.Optimizer) -> Update:
    """One compiled function of the whole state, whose memory is given over to the new state."""
    import jax

    def loss_of(trainable: Any, other: Any, batch: Batch) -> Any:
        logits, other = model.stateless_call(trainable, other, inputs(batch), training=True)
        return mean_loss(batch["labels"], logits), other

    gradients_of = jax.value_and_grad(loss_of, has_aux=True)

    def update(state: Any, batch: Batch) -> Any:
        trainable, other, moments = state
        (loss, other), gradients = gradients_of(trainable, other, batch)
        trainable, moments = optimizer.stateless_apply(moments, gradients, trainable)
        return (trainable, other, moments), loss

    groups = (model.trainable_variables, model.non_trainable_variables, optimizer.variables)
    # Copies, because the memory of the first state is given over, too.
    state = tuple([ops.copy(variable.value) for variable in group] for group in groups)
    # On several devices the new state lies as the old one does, whatever the compiler would like better.
    lying = jax.tree.map(lambda value: value.sharding, state)
    compiled = jax.jit(update, donate_argnums=0, out_shardings=(lying, None))

    def run(batch: Batch) -> Any:
        nonlocal state
        state, loss = compiled(state, batch)
        return loss

    return run


def tensorflow_update(model: Transformer, optimizer: keras.Optimizer) -> Update:
    """One graph."""
    import tensorflow as tf

    @tf.function
    def update(batch: Batch) -> Any:
        with tf.GradientTape() as tape:
            loss = mean_loss(batch["labels"], model(inputs(batch), training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss

    compiled: Update = update
    return compiled


def torch_update(model: Transformer, optimizer: keras.Optimizer) -> Update:
    """Eager: a compiler is not used."""

    def update(batch: Batch) -> Any:
        model.zero_grad()
        loss = mean_loss(batch["labels"], model(inputs(batch), training=True))
        loss.backward()
        optimizer.apply([variable.value.grad for variable in model.trainable_variables])
        return loss.detach()

    return update


UPDATES = {"jax": jax_update, "tensorflow": tensorflow_update, "torch": torch_update}


def chip() -> str:
    """The name of the device that works."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return str(jax.devices()[0].device_kind)
    if backend == "torch":
        import torch

        return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    return str(tf.config.experimental.get_device_details(gpus[0])["device_name"]) if gpus else "cpu"
