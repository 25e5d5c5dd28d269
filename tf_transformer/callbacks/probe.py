"""The figures of updates: gathered at each one, put together every few of them, written by nobody here."""

import time
from collections.abc import Mapping
from typing import Any

import keras

from tf_transformer.callbacks.board.allowance import Allowance
from tf_transformer.callbacks.board.weights import WeightChanges
from tf_transformer.callbacks.input_clock import InputClock
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.validation import interval_figures
from tf_transformer.memory import device_peak, process_size
from tf_transformer.models.work import update_products

GIB = float(2**30)


class Probe(keras.callbacks.Callback):
    """Makes a point of all curves every few updates; stands before `Validation`, which clears the sums.

    Args:
        state: Read for the step and its time.
        allowance: Says when there is no time for a point.
        clock: Notes when batches come; None for a training without one.
        every: Updates between two points.

    Attributes:
        peak: Operations a second that the device reaches at best; None where that was not measured.
        point: The figures of the update just taken, by tag; None between points.
    """

    def __init__(
        self, state: TrainingState, allowance: Allowance, clock: InputClock | None = None, every: int = 20
    ) -> None:
        super().__init__()
        self.state = state
        self.allowance = allowance
        self.clock = clock
        self.every = every
        self.peak: float | None = None
        self.point: dict[str, float] | None = None
        self.changes: WeightChanges | None = None
        self._last = state.step
        self._due, self._rate, self._is_first = False, 0.0, True
        self._clear({})

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        variables = getattr(model.model, "trainable_variables", [])
        self.changes = WeightChanges(variables, getattr(model, "parts", {}))

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        if self.changes is not None:
            self.changes.forget()
        self._due = (self.state.step + 1) % self.every == 0 and self.allowance.has_room()
        if self._due:
            with self.allowance.spending():
                # The optimizer always names the rate of the update that comes next.
                self._rate = float(self.model.optimizer.learning_rate)
                if self.changes is not None:
                    self.changes.watch()
        self._begun = time.perf_counter()
        if self.clock is not None:
            self.clock.ask()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        self._seconds += time.perf_counter() - self._begun
        if self.clock is not None:
            self._waited += self.clock.waited()
        self._updates += 1
        if self._is_first:  # it has built the graph: its time says nothing of those to come
            self._is_first = False
            self._clear(self.model.interval())
        self.point, logs = None, logs or {}
        step = self.state.step
        if logs.get("taken", 1):
            self._losses.append(float(logs["loss"]))
        if self._due and step % self.every == 0 and step > self._last:
            self._last = step
            with self.allowance.spending():
                self.point = self._put_together(logs)

    def on_validation(self, record: dict[str, Any], outcome: Any) -> None:
        """The sums of the model begin anew after a validation."""
        self._clear({})

    def _put_together(self, logs: Mapping[str, Any]) -> dict[str, float]:
        sums = self.model.interval()
        seconds, updates = max(self._seconds, 1e-9), max(self._updates, 1)
        counted = {name: value - self._before.get(name, 0.0) for name, value in sums.items()}
        norms = {
            name.replace("gradient_norm/", "update_gradient/"): float(value)
            for name, value in logs.items()
            if name.startswith("gradient_norm/")
        }
        if "gradient_norm" in logs:
            norms["update/gradient_norm"] = float(logs["gradient_norm"])
        point = {
            "update/learning_rate": self._rate,
            **norms,
            **(self._ratios() if self.changes is not None else {}),
            **curves_of(interval_figures(counted, self.model.counted, seconds)),
            **({} if self.clock is None else {"speed/input_wait": 1000 * self._waited / updates}),
            "speed/step": 1000 * (seconds - self._waited) / updates,
            **self._work(counted, seconds),
            **{f"usage/{name}_memory": size / GIB for name, size in memory().items()},
        }
        if self._losses:
            point["quality/loss"] = sum(self._losses) / len(self._losses)
        scale = getattr(self.model.optimizer, "dynamic_scale", None)
        if scale is not None:
            point["update/loss_scale"] = float(scale)
        self._clear(sums)
        return point

    def _ratios(self) -> dict[str, float]:
        assert self.changes is not None
        found = self.changes.ratios()
        if not found:
            return {}
        named = {f"update_ratio/{part}" if part else "update/ratio": ratio for part, ratio in found.items()}
        return {"update/weights": self.changes.length, **named}

    def _work(self, counted: Mapping[str, float], seconds: float) -> dict[str, float]:
        """What the model's own products take, and how much of the machine that is."""
        products = update_products(self.model.model, counted)
        if products is None:
            return {}
        passes = 2 if getattr(self.model, "r_drop", None) is not None else 1
        operations = 2 * passes * products / seconds
        share = {} if self.peak is None else {"speed/share_of_peak": operations / self.peak}
        return {"speed/model_gigaflops": operations / 1e9, **share}

    def _clear(self, sums: Mapping[str, float]) -> None:
        self._before = dict(sums)
        self._losses: list[float] = []
        self._updates, self._seconds, self._waited = 0, 0.0, 0.0
        self._begun = time.perf_counter()


def curves_of(figures: Mapping[str, float]) -> dict[str, float]:
    """Shares of padding and speeds, as `interval_figures` has them, by tag."""
    found = {}
    for name, value in figures.items():
        if name.endswith("_padding"):
            found[f"usage/{name}"] = value
        else:
            found[f"speed/{name}"] = value
    return found


def memory() -> dict[str, int]:
    """Bytes that the process has now, and the most that was in use on the GPU where there is one."""
    on_device = device_peak()
    return {"process": process_size(), **({} if on_device is None else {"device": on_device})}
