"""Schedules against values worked out by hand, at every kind of step, in a new process too."""

import itertools
import json
import math
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.schedules import (
    Constant,
    CosineRestarts,
    ExponentialDecay,
    WarmupCosine,
    WarmupInverseSqrt,
    WarmupLinear,
)

EACH = [
    WarmupInverseSqrt(hidden_dim=512, warmup_steps=4000, scale=2.0),
    WarmupInverseSqrt(peak=0.005, warmup_steps=2000),
    WarmupCosine(0.01, total_steps=300, warmup_steps=100, final_fraction=0.2),
    WarmupLinear(0.01, total_steps=300, warmup_steps=100),
    ExponentialDecay(0.8, decay_rate=0.5, decay_steps=10, warmup_steps=4),
    ExponentialDecay(0.8, decay_rate=0.9, decay_steps=7, staircase=True),
    Constant(0.01, warmup_steps=5),
    CosineRestarts(0.01, period_steps=8, warmup_steps=4, final_fraction=0.2),
    CosineRestarts(0.01, period_steps=4, period_factor=2),
]


def rate(schedule, update):
    """The rate of a 1-based update."""
    return float(schedule(update - 1))


peaks = st.floats(1e-6, 10.0)
warmups = st.integers(0, 5000)
fractions = st.floats(0.0, 1.0)


@st.composite
def falling(draw, kind):
    """A schedule with an end, at least one update after the warm-up."""
    warmup = draw(warmups)
    total = warmup + draw(st.integers(1, 5000))
    return kind(draw(peaks), total_steps=total, warmup_steps=warmup, final_fraction=draw(fractions))


any_schedule = st.one_of(
    st.builds(
        WarmupInverseSqrt,
        hidden_dim=st.integers(1, 4096),
        warmup_steps=st.integers(1, 5000),
        scale=st.floats(0.01, 100.0),
    ),
    st.builds(WarmupInverseSqrt, peak=peaks, warmup_steps=st.integers(1, 5000)),
    falling(WarmupCosine),
    falling(WarmupLinear),
    st.builds(
        ExponentialDecay,
        peak=peaks,
        decay_rate=st.floats(0.01, 1.0),
        decay_steps=st.integers(1, 1000),
        warmup_steps=warmups,
        staircase=st.booleans(),
    ),
    st.builds(Constant, peak=peaks, warmup_steps=warmups),
)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(schedule=any_schedule, later=st.integers(1, 20_000))
def test_every_schedule_rises_to_its_peak_and_never_again(schedule, later):
    warmup = schedule.warmup_steps
    updates = sorted({1, 2, max(warmup // 2, 1), max(warmup, 1), warmup + 1, warmup + 2, warmup + later})
    rates = schedule(np.array(updates) - 1).numpy().astype("float64")
    assert np.isfinite(rates).all() and rates[0] > 0.0 and (rates >= 0.0).all()
    assert rates.max() <= schedule.peak * (1.0 + 1e-5)
    rising = [rate for update, rate in zip(updates, rates, strict=True) if update <= warmup]
    falling = [rate for update, rate in zip(updates, rates, strict=True) if update >= max(warmup, 1)]
    assert rising == sorted(rising)
    assert all(b <= a * (1.0 + 1e-6) for a, b in itertools.pairwise(falling))
    if warmup:
        assert rising[-1] == pytest.approx(schedule.peak, rel=1e-5)
    # Where the warm-up ends, what comes after it begins: no jump.
    assert float(schedule.factor_after_warmup(np.float32(max(warmup, 1e-30)))) == pytest.approx(1.0, rel=1e-5)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(schedule=any_schedule, done=st.integers(0, 20_000))
def test_every_schedule_is_rebuilt_from_plain_json(schedule, done):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(schedule)))
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is type(schedule) and again.get_config() == schedule.get_config()
    assert float(again(done)) == float(schedule(done))


@pytest.mark.parametrize("kind", [WarmupCosine, WarmupLinear])
def test_the_only_update_of_a_training_is_made_at_the_peak(kind):
    schedule = kind(0.3, total_steps=1)
    assert rate(schedule, 1) == pytest.approx(0.3) and rate(schedule, 2) == 0.0


@pytest.mark.parametrize("update", [1, 37, 3999, 4000, 4001, 16000])
def test_vaswani(update):
    by_paper = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
    assert rate(WarmupInverseSqrt(hidden_dim=512, warmup_steps=4000), update) == pytest.approx(
        by_paper, rel=1e-6
    )
    assert rate(EACH[0], update) == pytest.approx(2.0 * by_paper, rel=1e-6)


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (EACH[1], {1: 0.005 / 2000, 1000: 0.0025, 2000: 0.005, 8000: 0.0025, 200_000: 0.0005}),
        # A quarter of the way the cosine is 1/sqrt 2: 0.002 + 0.008 * (1 + 0.70711) / 2.
        (EACH[2], {1: 0.0001, 100: 0.01, 150: 0.00882843, 200: 0.006, 300: 0.002, 999: 0.002}),
        (EACH[3], {1: 0.0001, 50: 0.005, 100: 0.01, 200: 0.005, 299: 0.00005, 300: 0.0, 301: 0.0}),
        (WarmupLinear(1.0, total_steps=4, final_fraction=0.5), {1: 0.875, 2: 0.75, 4: 0.5, 5: 0.5}),
        (WarmupCosine(1.0, total_steps=2), {1: 0.5, 2: 0.0}),
        (EACH[4], {1: 0.2, 4: 0.8, 5: 0.8, 15: 0.4, 10: 0.8 * 0.5**0.5}),
        (ExponentialDecay(0.5, decay_rate=0.5), {1: 0.5, 2: 0.25, 3: 0.125}),
        (EACH[5], {1: 0.8, 7: 0.8, 8: 0.72, 14: 0.72, 15: 0.648}),
        (EACH[6], {1: 0.002, 4: 0.008, 5: 0.01, 10**6: 0.01}),
        (Constant(0.3), {1: 0.3, 2: 0.3}),
        # Periods of 8 from update 4 on; a quarter of the way as above, and again from update 12 and 20 on.
        (EACH[7], {1: 0.0025, 4: 0.01, 6: 0.00882843, 8: 0.006, 12: 0.01, 14: 0.00882843, 20: 0.01}),
        # Periods of 4, 8 and 16 begin at 0, 4, 12 and 28; half-way the factor is a half.
        (EACH[8], {2: 0.005, 4: 0.01, 8: 0.005, 12: 0.01, 20: 0.005, 28: 0.01, 44: 0.005, 60: 0.01}),
    ],
)
def test_by_hand(schedule, rates):
    for update, expected in rates.items():
        assert rate(schedule, update) == pytest.approx(expected, rel=1e-5, abs=1e-9)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    period=st.integers(1, 300),
    factor=st.integers(1, 4),
    warmup=st.integers(0, 50),
    fraction=fractions,
    since=st.integers(1, 20_000),
)
def test_restarts_by_a_loop(period, factor, warmup, fraction, since):
    schedule = CosineRestarts(
        0.3, period_steps=period, period_factor=factor, warmup_steps=warmup, final_fraction=fraction
    )
    place, length = since, period
    while place >= length:
        place, length = place - length, length * factor
    expected = 0.3 * (fraction + (1 - fraction) * (1 + math.cos(math.pi * place / length)) / 2)
    assert rate(schedule, warmup + since) == pytest.approx(expected, rel=1e-4, abs=1e-7)


@pytest.mark.parametrize("schedule", EACH)
def test_every_kind_of_step(schedule):
    kinds = [3, np.int64(3), 3.0, *(tf.constant(3, dtype) for dtype in (tf.int32, tf.int64, tf.float32))]
    in_graph = tf.function(schedule.__call__, input_signature=[tf.TensorSpec([], tf.int64)])
    rates = {float(schedule(step)) for step in kinds} | {float(in_graph(tf.constant(3, tf.int64)))}
    assert max(rates) == pytest.approx(min(rates), rel=1e-6)
    first = schedule(0)
    assert first.dtype == tf.float32 and math.isfinite(first) and 0.0 < float(first) <= rate(schedule, 2) * 2


@pytest.mark.parametrize("schedule", EACH)
def test_config_is_plain_json_and_rebuilds(schedule):
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(schedule)))
    again = keras.saving.deserialize_keras_object(config)
    assert type(again) is type(schedule) and again.get_config() == schedule.get_config()
    assert rate(again, 11) == rate(schedule, 11)


def test_config_is_plain_also_after_tensors():
    schedule = WarmupInverseSqrt(hidden_dim=tf.cast(512, tf.float32), warmup_steps=np.int64(4000))
    assert schedule.get_config() == {"hidden_dim": 512, "warmup_steps": 4000, "scale": 1.0}
    assert all(type(value) in (int, float) for value in schedule.get_config().values())


IN_A_NEW_PROCESS = """
import sys, keras, numpy as np, tf_transformer.schedules
model = keras.saving.load_model(sys.argv[1])
print(float(model.optimizer.learning_rate))
before = model.get_weights()[0]
model.train_on_batch(np.ones((1, 1)), np.zeros((1, 1)))
print(float((before - model.get_weights()[0])[0, 0]))
"""


def test_saved_model_goes_on_with_the_next_rate(tmp_path):
    # The gradient of (w - 0)^2 is 2 w, so each update of plain descent shows the rate it was made with.
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    schedule = WarmupInverseSqrt(peak=0.1, warmup_steps=100)
    model.compile(keras.optimizers.SGD(schedule), "mse")
    model.set_weights([np.ones((1, 1))])
    weight = 1.0
    for update in (1, 2, 3):
        model.train_on_batch(np.ones((1, 1)), np.zeros((1, 1)))
        weight -= 2.0 * weight * 0.001 * update
        assert float(model.get_weights()[0][0, 0]) == pytest.approx(weight, rel=1e-6)
    model.save(tmp_path / "m.keras")
    answer = subprocess.run(
        [sys.executable, "-c", IN_A_NEW_PROCESS, str(tmp_path / "m.keras")],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    next_rate, change = map(float, answer.stdout.split())
    assert next_rate == pytest.approx(0.004, rel=1e-6)
    assert change == pytest.approx(2.0 * weight * 0.004, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: WarmupInverseSqrt(warmup_steps=9),
            r"Exactly one of `hidden_dim` and `peak` .*hidden_dim=None",
        ),
        (lambda: WarmupInverseSqrt(3, 0.1, warmup_steps=9), r"Exactly one of .*hidden_dim=3, peak=0\.1"),
        (lambda: WarmupInverseSqrt(peak=1, warmup_steps=9, scale=2), r"`scale` belongs to .*scale=2"),
        (lambda: WarmupInverseSqrt(peak=1, warmup_steps=0), r"`warmup_steps` .* at least 1\. Received: 0"),
        (lambda: WarmupInverseSqrt(2.5, warmup_steps=9), r"`hidden_dim` must be a whole .*Received: 2\.5"),
        (lambda: WarmupInverseSqrt(5, warmup_steps=9, scale=0), r"`scale` must be .* than 0\. Received: 0"),
        (lambda: Constant(-0.1), r"`peak` must be a finite number greater than 0\. Received: -0\.1"),
        (lambda: Constant(math.nan), r"`peak` must be a finite number greater than 0\. Received: nan"),
        (lambda: Constant(1e300), r"`peak` must be a finite number greater than 0\. Received: 1e\+300"),
        (
            lambda: ExponentialDecay(1, decay_rate=0.5, staircase="no"),
            r"`staircase` must be True or False\. Received: 'no'",
        ),
        (lambda: Constant("0.1"), r"`peak` must be a number\. Received: '0\.1'"),
        (lambda: Constant(0.1, warmup_steps=True), r"`warmup_steps` must be a number\. Received: True"),
        (lambda: Constant(0.1, warmup_steps=-1), r"`warmup_steps` .* at least 0\. Received: -1"),
        (
            lambda: WarmupCosine(1, total_steps=5, warmup_steps=5),
            r"`total_steps` must be greater .*total_steps=5",
        ),
        (lambda: WarmupLinear(1, total_steps=0), r"`total_steps` .* at least 1\. Received: 0"),
        (
            lambda: WarmupLinear(1, total_steps=5, final_fraction=2),
            r"`final_fraction` .* 0 to 1\. Received: 2",
        ),
        (lambda: ExponentialDecay(1, decay_rate=1.5), r"`decay_rate` must be at most 1\. Received: 1\.5"),
        (lambda: ExponentialDecay(1, decay_rate=0.5, decay_steps=0), r"`decay_steps` .*Received: 0"),
        (lambda: CosineRestarts(1, period_steps=0), r"`period_steps` .* at least 1\. Received: 0"),
        (
            lambda: CosineRestarts(1, period_steps=5, period_factor=1.5),
            r"`period_factor` must be a whole number, at least 1\. Received: 1\.5",
        ),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
