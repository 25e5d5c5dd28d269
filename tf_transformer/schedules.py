"""Learning rates over the updates of an optimizer.

Every schedule is called with the number of updates already done, as Keras' optimizers do, and gives the
rate of the next one: `schedule(0)` is the rate of the first update, and it is never 0. Schedules hold
plain Python numbers, so a compiled model saves, loads elsewhere and goes on with the same rate.
"""

import math
from abc import abstractmethod
from typing import Any

import keras
from keras import ops

Tensor = Any
_LARGEST = 3.4e38
"""About the largest float32, in which rates are computed."""
_MOST_UPDATES = 2**31


class _Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """A linear warm-up to `peak` at update `warmup_steps`, then whatever the subclass says."""

    def __init__(self, peak: float, warmup_steps: int) -> None:
        self.peak = peak
        self.warmup_steps = warmup_steps

    def __call__(self, step: Tensor) -> Tensor:
        # int64 steps would make TensorFlow refuse the mixed arithmetic; float32 is exact to 16 million.
        update = ops.cast(ops.convert_to_tensor(step), "float32") + 1.0
        rising = update / max(self.warmup_steps, 1)
        factor = ops.where(update <= self.warmup_steps, rising, self.factor_after_warmup(update))
        return self.peak * factor

    @abstractmethod
    def factor_after_warmup(self, update: Tensor) -> Tensor:
        """Share of the peak at the 1-based `update`, float32; used only beyond `warmup_steps`."""

    def progress(self, update: Tensor, total_steps: int) -> Tensor:
        """0 at the end of warm-up, 1 at update `total_steps` and ever after."""
        if total_steps == 1:  # the only update would have the rate 0
            return ops.clip(update - 1.0, 0.0, 1.0)
        return ops.clip((update - self.warmup_steps) / (total_steps - self.warmup_steps), 0.0, 1.0)


@keras.saving.register_keras_serializable("tf_transformer")
class WarmupInverseSqrt(_Schedule):
    """Linear warm-up, then decay with the inverse square root of the update's number n.

    Given `hidden_dim` it is the rate of Vaswani et al., 2017, section 5.3:
    `scale * hidden_dim ** -0.5 * min(n ** -0.5, n * warmup_steps ** -1.5)`.
    Given `peak` it is the same curve by its highest point: `peak * n / warmup_steps` up to update
    `warmup_steps`, then `peak * sqrt(warmup_steps / n)`.

    Args:
        hidden_dim: Width of the model. Either this or `peak`.
        peak: The rate of update `warmup_steps`. Either this or `hidden_dim`.
        warmup_steps: Number of updates of the warm-up, at least 1.
        scale: Factor on the formula of `hidden_dim`.

    Raises:
        ValueError: If not exactly one of `hidden_dim` and `peak` is given, or a number is out of range.

    Example:

    >>> schedule = WarmupInverseSqrt(peak=0.01, warmup_steps=100)
    >>> [round(float(schedule(done)), 4) for done in (0, 49, 99, 399)]
    [0.0001, 0.005, 0.01, 0.005]
    """

    def __init__(
        self,
        hidden_dim: int | None = None,
        peak: float | None = None,
        *,
        warmup_steps: int,
        scale: float = 1.0,
    ) -> None:
        if (hidden_dim is None) == (peak is None):
            raise ValueError(
                "Exactly one of `hidden_dim` and `peak` must be given. "
                f"Received: hidden_dim={hidden_dim!r}, peak={peak!r}"
            )
        if peak is not None and scale != 1.0:
            raise ValueError(f"`scale` belongs to `hidden_dim`, not to `peak`. Received: scale={scale!r}")
        warmup_steps = _count("warmup_steps", warmup_steps, minimum=1)
        self.scale = _positive("scale", scale)
        self.hidden_dim = None if hidden_dim is None else _count("hidden_dim", hidden_dim, minimum=1)
        if self.hidden_dim is not None:
            peak = self.scale / math.sqrt(self.hidden_dim * warmup_steps)
        super().__init__(_positive("peak", peak), warmup_steps)

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        return ops.sqrt(self.warmup_steps / update)

    def get_config(self) -> dict[str, Any]:
        if self.hidden_dim is None:
            return {"peak": self.peak, "warmup_steps": self.warmup_steps}
        return {"hidden_dim": self.hidden_dim, "warmup_steps": self.warmup_steps, "scale": self.scale}


class _DecayOverTotal(_Schedule):
    """A warm-up, then a fall from the peak to a fraction of it at update `total_steps`."""

    def __init__(
        self, peak: float, *, total_steps: int, warmup_steps: int = 0, final_fraction: float = 0.0
    ) -> None:
        super().__init__(_positive("peak", peak), _count("warmup_steps", warmup_steps, minimum=0))
        self.total_steps = _count("total_steps", total_steps, minimum=1)
        if self.total_steps <= self.warmup_steps:
            raise ValueError(
                "`total_steps` must be greater than `warmup_steps`. "
                f"Received: total_steps={total_steps!r}, warmup_steps={warmup_steps!r}"
            )
        self.final_fraction = _fraction("final_fraction", final_fraction)

    def get_config(self) -> dict[str, Any]:
        return {
            "peak": self.peak,
            "total_steps": self.total_steps,
            "warmup_steps": self.warmup_steps,
            "final_fraction": self.final_fraction,
        }


@keras.saving.register_keras_serializable("tf_transformer")
class WarmupCosine(_DecayOverTotal):
    """Linear warm-up, then half a cosine down to a fraction of the peak (Loshchilov and Hutter, 2017).

    Args:
        peak: The highest rate, that of update `warmup_steps`.
        total_steps: The update at which the rate arrives at `final_fraction * peak`, where it stays; a
            single one is made at the peak.
        warmup_steps: Number of updates of the warm-up, 0 for none.
        final_fraction: From 0 to 1.

    Raises:
        ValueError: If a number is out of range, or `total_steps` is not beyond `warmup_steps`.

    Example:

    >>> schedule = WarmupCosine(peak=0.01, total_steps=300, warmup_steps=100, final_fraction=0.2)
    >>> [round(float(schedule(done)), 4) for done in (0, 99, 199, 299, 1000)]
    [0.0001, 0.01, 0.006, 0.002, 0.002]
    """

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        falling = 0.5 * (1.0 + ops.cos(math.pi * self.progress(update, self.total_steps)))
        return self.final_fraction + (1.0 - self.final_fraction) * falling


@keras.saving.register_keras_serializable("tf_transformer")
class CosineRestarts(_Schedule):
    """Linear warm-up, then half a cosine down again and again, each time from the peak anew.

    "SGDR: Stochastic Gradient Descent with Warm Restarts" (Loshchilov and Hutter, 2017), equation 5: t
    updates after the begin of a period of T updates the factor is `f + (1 - f) / 2 * (1 + cos(pi t / T))`, f
    being `final_fraction`. The first period begins with the end of the warm-up.

    Args:
        peak: The highest rate: that of update `warmup_steps`, and of the first update of each later period.
        period_steps: The number T of updates of the first period, at least 1.
        period_factor: How many times as long each period is as the one before, a whole number.
        warmup_steps: Number of updates of the warm-up, 0 for none.
        final_fraction: What the factor falls to, from 0 to 1.

    Raises:
        ValueError: If a number is out of range.

    Example:

    >>> schedule = CosineRestarts(peak=0.01, period_steps=100, period_factor=2, warmup_steps=100)
    >>> [round(float(schedule(done)), 4) for done in (0, 99, 149, 198, 199, 299, 399)]
    [0.0001, 0.01, 0.005, 0.0, 0.01, 0.005, 0.01]
    """

    def __init__(
        self,
        peak: float,
        *,
        period_steps: int,
        period_factor: int = 1,
        warmup_steps: int = 0,
        final_fraction: float = 0.0,
    ) -> None:
        super().__init__(_positive("peak", peak), _count("warmup_steps", warmup_steps, minimum=0))
        self.period_steps = _count("period_steps", period_steps, minimum=1)
        self.period_factor = _count("period_factor", period_factor, minimum=1)
        self.final_fraction = _fraction("final_fraction", final_fraction)

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        since, length = ops.maximum(update - self.warmup_steps, 0.0), float(self.period_steps)
        if self.period_factor == 1:
            done = ops.floor(since / length) * length
        else:
            # Begins of periods by addition, not by a logarithm, which would round a begin to an end.
            begins, lengths = self._periods()
            place = ops.sum(ops.cast(since[..., None] >= begins, "int32"), axis=-1)
            done, length = ops.take(begins, place - 1), ops.take(lengths, place - 1)
        falling = 0.5 * (1.0 + ops.cos(math.pi * (since - done) / length))
        return self.final_fraction + (1.0 - self.final_fraction) * falling

    def _periods(self) -> tuple[Tensor, Tensor]:
        """Updates after warm-up at which periods begin, and how many these take, as far as updates go."""
        begins, lengths = [0], [self.period_steps]
        while begins[-1] < _MOST_UPDATES:
            begins.append(begins[-1] + lengths[-1])
            lengths.append(lengths[-1] * self.period_factor)
        return ops.convert_to_tensor(begins, "float32"), ops.convert_to_tensor(lengths, "float32")

    def get_config(self) -> dict[str, Any]:
        return {
            "peak": self.peak,
            "period_steps": self.period_steps,
            "period_factor": self.period_factor,
            "warmup_steps": self.warmup_steps,
            "final_fraction": self.final_fraction,
        }


@keras.saving.register_keras_serializable("tf_transformer")
class WarmupLinear(_DecayOverTotal):
    """Linear warm-up, then a straight line down to a fraction of the peak.

    Args:
        peak: The highest rate, that of update `warmup_steps`.
        total_steps: The update at which the rate arrives at `final_fraction * peak`, where it stays; a
            single one is made at the peak.
        warmup_steps: Number of updates of the warm-up, 0 for none.
        final_fraction: From 0 to 1.

    Raises:
        ValueError: If a number is out of range, or `total_steps` is not beyond `warmup_steps`.

    Example:

    >>> schedule = WarmupLinear(peak=0.01, total_steps=300, warmup_steps=100)
    >>> [round(float(schedule(done)), 4) for done in (0, 99, 199, 299)]
    [0.0001, 0.01, 0.005, 0.0]
    """

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        return 1.0 - (1.0 - self.final_fraction) * self.progress(update, self.total_steps)


@keras.saving.register_keras_serializable("tf_transformer")
class ExponentialDecay(_Schedule):
    """Linear warm-up, then `peak * decay_rate ** (n / decay_steps)`, n updates after the warm-up's end.

    For a decay once an epoch give the number of updates of an epoch as `decay_steps`, and `staircase`.

    Args:
        peak: The highest rate: of the first update, or of update `warmup_steps`; n = 0 is the one after it.
        decay_rate: Factor of a whole period, greater than 0, at most 1.
        decay_steps: Number of updates of a period, at least 1.
        warmup_steps: Number of updates of the warm-up, 0 for none.
        staircase: Whether the rate falls at the ends of periods only.

    Raises:
        ValueError: If a number is out of range.

    Example:

    >>> schedule = ExponentialDecay(peak=0.8, decay_rate=0.5, decay_steps=10, staircase=True)
    >>> [round(float(schedule(done)), 4) for done in (0, 9, 10, 20)]
    [0.8, 0.8, 0.4, 0.2]
    """

    def __init__(
        self,
        peak: float,
        *,
        decay_rate: float,
        decay_steps: int = 1,
        warmup_steps: int = 0,
        staircase: bool = False,
    ) -> None:
        super().__init__(_positive("peak", peak), _count("warmup_steps", warmup_steps, minimum=0))
        self.decay_rate = _positive("decay_rate", decay_rate)
        if self.decay_rate > 1.0:
            raise ValueError(f"`decay_rate` must be at most 1. Received: {decay_rate!r}")
        self.decay_steps = _count("decay_steps", decay_steps, minimum=1)
        if not isinstance(staircase, bool):
            raise ValueError(f"`staircase` must be True or False. Received: {staircase!r}")
        self.staircase = staircase

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        periods = ops.maximum(update - 1.0 - self.warmup_steps, 0.0) / self.decay_steps
        return self.decay_rate ** (ops.floor(periods) if self.staircase else periods)

    def get_config(self) -> dict[str, Any]:
        return {
            "peak": self.peak,
            "decay_rate": self.decay_rate,
            "decay_steps": self.decay_steps,
            "warmup_steps": self.warmup_steps,
            "staircase": self.staircase,
        }


@keras.saving.register_keras_serializable("tf_transformer")
class Constant(_Schedule):
    """One rate for ever, after an optional linear warm-up.

    Args:
        peak: The rate.
        warmup_steps: Number of updates of the warm-up, 0 for none.

    Raises:
        ValueError: If a number is out of range.

    Example:

    >>> schedule = Constant(peak=0.01, warmup_steps=4)
    >>> [round(float(schedule(done)), 4) for done in (0, 3, 1000)]
    [0.0025, 0.01, 0.01]
    """

    def __init__(self, peak: float, *, warmup_steps: int = 0) -> None:
        super().__init__(_positive("peak", peak), _count("warmup_steps", warmup_steps, minimum=0))

    def factor_after_warmup(self, update: Tensor) -> Tensor:
        return ops.ones_like(update)

    def get_config(self) -> dict[str, Any]:
        return {"peak": self.peak, "warmup_steps": self.warmup_steps}


def _number(name: str, value: Any) -> float:
    """A plain Python number, so that the configuration is JSON whatever the caller computed it with."""
    try:
        if isinstance(value, (bool, str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"`{name}` must be a number. Received: {value!r}") from None


def _positive(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0.0 < number <= _LARGEST:
        raise ValueError(f"`{name}` must be a finite number greater than 0. Received: {value!r}")
    return number


def _fraction(name: str, value: Any) -> float:
    number = _number(name, value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"`{name}` must be from 0 to 1. Received: {value!r}")
    return number


def _count(name: str, value: Any, minimum: int) -> int:
    number = _number(name, value)
    if not (number >= minimum and number.is_integer()):
        raise ValueError(f"`{name}` must be a whole number, at least {minimum}. Received: {value!r}")
    return int(number)
