"""Which weights a recipe trains, at which rates, and which of them through adapters."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.build.tuning import matching, name_of, rates_of, refuse_still_fresh, tune
from tf_transformer.errors import RecipeError
from tf_transformer.models import Transformer
from tf_transformer.optimizers import Adam, AdamW
from tf_transformer.recipe.training_section import Lora
from tf_transformer.recipe.translate import TranslateTraining
from tf_transformer.training_step import TrainingModel

LABELS = tf.constant([[5, 7, 11, 3], [6, 6, 3, 0]], tf.int32)
BATCH = {"source_ids": LABELS, "target_ids": tf.constant([[2, 5, 7, 11]] * 2, tf.int32)}, LABELS


def model() -> Transformer:
    return Transformer(
        vocabulary_size=13, seed=3, num_layers=2, hidden_dim=8, intermediate_dim=12, num_heads=2, dropout=0.0
    )


def settings(**keys: Any) -> TranslateTraining:
    return TranslateTraining(steps=1, **keys)


def trained(made: Transformer, training: TranslateTraining, optimizer: Any) -> dict[str, Any]:
    """The weights by name after an update."""
    found = TrainingModel(made, adapters=tune(made, training))
    found.compile(optimizer=optimizer)
    found.optimizer.build(found.trained)
    tf.function(found.train_step, autograph=False)(BATCH)
    return {name_of(weight): weight.numpy() for weight in made.weights}


def test_patterns_match_weights_and_layers() -> None:
    weights = model().weights
    names = {name_of(one) for one in matching(weights, "encoder/block_1/feed_forward", "k")}
    assert len(names) == 6 and all(name.startswith("encoder/block_1/feed_forward/") for name in names)
    norms = {name_of(one) for one in matching(weights, "decoder/*/norm", "k")}
    assert len(norms) == 2 * 3 * 2 and "decoder/block_0/cross_attention/norm/gamma" in norms
    assert [name_of(one) for one in matching(weights, "embedding", "k")] == ["embedding/table"]
    rule = r"training\.freeze: must .* 'encodr/\*' matches none of .*embedding/table.*encoder/block_\*/"
    with pytest.raises(RecipeError, match=rule):
        matching(weights, "encodr/*", "training.freeze")


def test_frozen_weights_stay_bit_for_bit_and_all_others_move() -> None:
    made = model()
    before = {name_of(weight): weight.numpy() for weight in made.weights}
    after = trained(made, settings(freeze=("encoder/*", "*/table")), AdamW(0.1, weight_decay=0.1))
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {name for name in before if name.startswith("encoder/") or name.endswith("/table")}


def test_the_gradient_of_what_is_trained_is_that_of_all_weights() -> None:
    norms = []
    for freeze in ((), ("encoder/*", "embedding")):
        made = model()
        found = TrainingModel(made, adapters=tune(made, settings(freeze=freeze)))
        found.compile(optimizer=keras.optimizers.SGD(0.0))
        norms.append(float(found.train_step(BATCH)["gradient_norm/decoder"]))
    assert norms[0] == pytest.approx(norms[1], rel=1e-5)


def test_rates_scale_an_update() -> None:
    """The first update of Adam is the rate in the direction of the gradient's sign, whatever its size."""
    made = model()
    before = {name_of(weight): weight.numpy() for weight in made.weights}
    training = settings(rates={"encoder/*": 0.5, "encoder/block_1/*": 0.25})
    factors = {path.partition("/")[2]: factor for path, factor in rates_of(made, training).items()}
    optimizer = Adam(learning_rate=0.1, epsilon=1e-12)
    optimizer.factors = {
        place: factors[name_of(weight)]
        for place, weight in enumerate(made.trainable_variables)
        if name_of(weight) in factors
    }
    after = trained(made, training, optimizer)
    for name, expected in (("encoder/block_0", 0.05), ("encoder/block_1", 0.025), ("decoder/block_0", 0.1)):
        kernel = f"{name}/feed_forward/network/inner_bias"
        change = np.abs(after[kernel] - before[kernel])
        assert change.max() == pytest.approx(expected, rel=1e-3)


def test_weight_decay_goes_by_the_rate_of_each_weight() -> None:
    """A loss without a gradient leaves the decay alone: 1 - rate * factor * decay."""
    variables = [keras.Variable([2.0], name=name) for name in ("one", "other")]
    optimizer = AdamW(learning_rate=0.1, weight_decay=0.5)
    optimizer.build(variables)
    optimizer.factors = {1: 0.2}
    optimizer.apply([tf.zeros(1), tf.zeros(1)], variables)
    np.testing.assert_allclose([float(one.numpy()[0]) for one in variables], [1.9, 1.98], rtol=1e-6)


def test_what_adapters_leave() -> None:
    made = model()
    training = settings(lora=Lora(rank=2, targets=("*_kernel", "*_bias"), also=("decoder/*_bias",)))
    before = {name_of(weight): weight.numpy() for weight in made.weights}
    after = trained(made, training, Adam(learning_rate=0.1))
    still = {name for name in before if np.array_equal(before[name], after[name])}
    assert still == {
        name
        for name in before
        if not name.endswith("_kernel") and not (name.endswith("_bias") and name.startswith("decoder"))
    }


@pytest.mark.parametrize(
    ("keys", "rule"),
    [
        ({"freeze": ("*",)}, r"training\.freeze: must leave a weight to train. Received: \['\*'\]"),
        ({"lora": Lora(targets=("*_bias",))}, r"training\.lora\.targets: must match a matrix"),
        ({"lora": Lora(also=("nothing",))}, r"training\.lora\.also: must .* 'nothing' matches none of"),
        ({"rates": {"nothing": 0.5}}, r"training\.rates: must match the name of a weight"),
    ],
)
def test_patterns_that_match_nothing_are_refused(keys: Any, rule: str) -> None:
    made, training = model(), settings(**keys)
    with pytest.raises(RecipeError, match=rule):
        tune(made, training)
        rates_of(made, training)


def test_fresh_weights_must_be_trained() -> None:
    made = model()
    fresh = {"transformer/embedding/table"}
    refuse_still_fresh(made, settings(freeze=("encoder",)), fresh)
    with pytest.raises(RecipeError, match=r"training\.freeze: must leave embedding/table, which is fresh"):
        refuse_still_fresh(made, settings(freeze=("embedding",)), fresh)
    with pytest.raises(RecipeError, match=r"training\.lora\.also: must name embedding/table, which is fresh"):
        refuse_still_fresh(made, settings(lora=Lora()), fresh)
    refuse_still_fresh(made, settings(lora=Lora(also=("embedding",))), fresh)
