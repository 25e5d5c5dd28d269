"""The updates themselves: put back what a checkpoint holds, fit, and answer what goes wrong on the way."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import keras
import tensorflow as tf

from tf_transformer.beginning import Reset
from tf_transformer.build import Problem
from tf_transformer.build.weights import set_weights
from tf_transformer.callbacks.advance import Advance, Interruption, Limits
from tf_transformer.callbacks.board.about import About, about_run
from tf_transformer.callbacks.checkpointing import (
    Checkpointing,
    raw_weights,
    split_variables,
    training_variables,
)
from tf_transformer.callbacks.health import DivergenceError, Health, HealthRules
from tf_transformer.callbacks.input_clock import InputClock
from tf_transformer.callbacks.plateau import Plateau, PlateauRules
from tf_transformer.callbacks.profiling import Profiling
from tf_transformer.callbacks.records import Records
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.symptoms import Symptoms
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.callbacks.validation import Listener, Validation
from tf_transformer.checkpoints import Checkpoint, CheckpointStore, step_name
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import Plan, Position, Shares, training_dataset
from tf_transformer.data.training_sample import training_sample
from tf_transformer.devices import LOST, Devices
from tf_transformer.errors import RunError
from tf_transformer.evaluation import Evaluated, EvaluationSet, Evaluator, Outcome, over_sets
from tf_transformer.evaluation.signs import Sign
from tf_transformer.replicas import draw_apart
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.task import Task
from tf_transformer.training_step import AdjustableRate, TrainingModel

KEPT_ON_RESET = ("loss_scale",)
"""Beginnings of the paths of optimizer variables that a reset of the optimizer leaves alone."""
_DRAWS = "seed_generator/seed_generator_state"
"""End of the paths of what random numbers of layers are drawn from."""


@dataclass(frozen=True)
class Fitting:
    """Everything that the updates of one training need.

    Args:
        folder: The run.
        problem: What is learnt.
        store: The run's checkpoints.
        state: Where the training stands; moved on in place.
        terminal: Shows it.
        model: The model in training, compiled.
        rate: Its learning rate.
        task: Answers the dev sets, in float32.
        evaluator: Says how good it is.
        dev: Dev sets.
        encoded: The training data as tensors.
        plan: Its batches.
        devices: What it runs on; only on the chief of several hosts are there files of the run.
        report: What a person was told of the data.
    """

    folder: RunFolder
    problem: Problem[Any]
    store: CheckpointStore
    state: TrainingState
    terminal: Terminal
    model: TrainingModel
    rate: AdjustableRate
    task: Task
    evaluator: Evaluator
    dev: Sequence[EvaluationSet]
    encoded: EncodedCorpus
    plan: Plan
    devices: Devices
    report: Sequence[str] = ()

    @property
    def recipe(self) -> Any:
        """The recipe, as resolved."""
        return self.problem.recipe

    @cached_property
    def sample(self) -> Callable[[], Any]:
        """A batch from all over the training data, made when it is first asked for."""
        return cache(lambda: training_sample(self.encoded, self.plan, self.task.side.assemble))

    @property
    def limits(self) -> Limits:
        """What ends the training."""
        training = self.recipe.training
        return Limits(training.steps, training.epochs, training.minutes)

    def is_complete(self) -> bool:
        """Whether a limit of the recipe, as it stands now, was reached before."""
        early, state = self.recipe.training.early_stopping, self.state
        if state.step == 0:
            return False
        if early is not None and state.waited >= early.patience:
            state.ended = "early stopping"
        else:
            state.ended = self.limits.reached(state, self.plan.num_batches(state.epoch))
        return state.ended is not None

    def restore(self, checkpoint: Checkpoint) -> None:
        """Puts back everything that training changes, so that it goes on as if it had never stopped.

        Raises:
            RunError: When the checkpoint is of another model or optimizer; names what does not fit.
        """
        where = str(checkpoint.folder)
        sizes = self.problem.side_sizes(self.task.side)
        set_weights(self.model.model, raw_weights(checkpoint), where, sizes)
        if self.model.average is not None:
            self.model.average.restore(checkpoint.weights)
        for path, variable in training_variables(self.model).items():
            if path in checkpoint.training:
                variable.assign(checkpoint.training[path])
            elif not path.endswith(_DRAWS):  # of a dropout that was 0 until now: it begins to draw
                raise RunError(f"{where}: has no {path}, which continuing needs: another optimizer wrote it")
        self.state.restore(checkpoint.state)
        self.folder.truncate_metrics(self.state.step)
        factor = float(self.model.rate_factor.numpy())
        times = f", the learning rate times {factor:g}" if factor != 1.0 else ""
        self.terminal.say(f"continuing at update {self.state.step:,}{times} ({where})")

    def begin(self) -> None:
        """Makes all devices of all hosts equal, but for the dropouts that they will draw."""
        state, count = self.state, self.devices.count
        state.restore(self.devices.from_chief(state.to_json()))
        self.devices.copy_from_chief([*self.model.model.weights, *training_variables(self.model).values()])
        if self.model.average is not None:
            self.devices.copy_from_chief(self.model.average.weights)
        if state.step and state.devices != count:
            self._event("other devices", f"{count} in place of {state.devices}, at update {state.step:,}")
        state.devices = count
        draw_apart(self.model.model)

    def reset(self, names: Collection[Reset]) -> None:
        """Begins some things anew while the weights go on."""
        optimizer = self.model.optimizer
        if "optimizer" in names:
            iterations = optimizer.iterations
            for variable in optimizer.variables:
                # The count of updates is the run's, not the optimizer's; a loss scale finds itself again.
                if variable is not iterations and variable.path.split("/")[0] not in KEPT_ON_RESET:
                    variable.assign(tf.zeros_like(variable))
        if "schedule" in names:
            self.model.rate_start.assign(self.state.step)
            self.model.rate_factor.assign(1.0)
        if "data" in names:
            self.state.epoch = self.state.batch = 0
        for name in sorted(names):
            self._event("reset", f"{name} begun anew at update {self.state.step:,}")

    def run(self, interruption: Interruption) -> None:
        """Trains until a limit is reached or an interruption asks for an end.

        Where the loss runs away and the recipe says so, it goes on from the best checkpoint.

        Args:
            interruption: Asked after each update.

        Raises:
            RunError: When bad numbers, a full disk or too little memory end it; checkpoints stay whole.
        """
        while True:
            try:
                self._fit(interruption)
                return
            except DivergenceError as error:
                self._fall_back(error)
            except OSError as error:
                raise RunError(
                    f"{error.filename or self.folder.path}: cannot be written after update "
                    f"{self.state.step:,} ({error.strerror or error}); {self._whole()}. "
                    "The same command continues once that is mended"
                ) from None
            except tf.errors.ResourceExhaustedError as error:
                raise self._too_large(error) from None
            except LOST as error:
                if self.devices.num_hosts == 1:
                    raise
                raise self.devices.lost(error) from None

    def _whole(self) -> str:
        """What is left to continue from; read and verified, since the index may be what was not written."""
        with suppress(RunError, OSError):
            checkpoint, _ = self.store.newest()
            if checkpoint is not None:
                return f"the checkpoint of update {checkpoint.state['step']:,} is whole"
        return "there is no checkpoint yet"

    def _too_large(self, error: tf.errors.ResourceExhaustedError) -> RunError:
        """The error that names the batch which did not fit, and what to lower."""
        batch = self.problem.describe_batch(self.plan.epoch(self.state.epoch)[self.state.batch])
        training = self.recipe.training
        return RunError(
            f"out of memory after update {self.state.step:,}, at a batch of {batch}: lower "
            f"{self.problem.smaller_updates()}, or have it taken in pieces with "
            f"training.micro_{training.BUDGET} (now {training.micro_budget or 'null'}); TensorFlow says: "
            f"{_first_line(error)}"
        )

    def _fall_back(self, error: DivergenceError) -> None:
        """Takes up the best checkpoint at a lower rate; what came after it is dropped."""
        rules, best, restored = self.recipe.training.divergence, self.state.best_step, self.state.restored
        if best is None or restored >= rules.restores:
            why = "no checkpoint was validated yet" if best is None else f"{restored} restores did not help"
            raise RunError(f"stopped, {why}: {error}")
        factor = float(self.model.rate_factor.numpy()) * rules.rate_factor
        if self.devices.is_chief:
            self.restore(self.store.read(step_name(best)))
            self.model.rate_factor.assign(factor)
            self.state.restored = restored + 1
            self.store.drop_after(best)
            weights, training = split_variables(self.model)
            self.store.write(step_name(best), weights, training, self.state.to_json())
        self.begin()
        self._event("restored", f"update {best:,}, its learning rate times {factor:g}")

    def _place(self) -> Position:
        """Where the data goes on: exactly there, unless the batches are others than they were."""
        state, digest = self.state, self.plan.digest()
        if state.plan not in (None, digest):
            place = Position(state.epoch + (state.batch > 0), 0)
            what = f"{self.problem.WORDS.data} or batch size"
            self._event("new batches", f"{what} has changed; going on with epoch {place.epoch}")
        else:
            place = Position(state.epoch, 0).advance(self.plan, state.batch)
        state.epoch, state.batch, state.plan = place.epoch, place.batch, digest
        return place

    def _fit(self, interruption: Interruption) -> None:
        assemble, augment = self.task.side.assemble, self.problem.augment
        place, devices, limits, batches_in = self._place(), self.devices, self.limits, self.plan.num_batches
        # The batches of one device leave one pipeline, which can be watched.
        clock = InputClock() if devices.count == 1 else None

        def batches(shares: Shares) -> tf.data.Dataset:
            made = training_dataset(self.encoded, self.plan, assemble, place, augment=augment, shares=shares)
            return made if clock is None else clock.watch(made)

        self.terminal.limits, self.terminal.batches_in_epoch = limits, batches_in(0)
        alone, is_chief = devices.num_hosts == 1, devices.is_chief
        callbacks: list[keras.callbacks.Callback] = [
            self._health(),
            Advance(self.state, batches_in, limits, interruption, alone=alone, is_chief=is_chief),
        ]
        if is_chief:
            events = TensorBoardEvents(self.state, self.folder.tensorboard, self._about(), self._event)
            events.probe.clock = clock
            symptoms = self._symptoms(events)
            callbacks += [*self._profiling(), events.probe, symptoms, self._validation(symptoms, events)]
            callbacks += [*self._plateau(), self._checkpointing(), events, self.terminal]
        else:
            callbacks += [self._validation(), *self._plateau()]
        # One call of `fit`, without end: the callbacks stop it. Keras' epochs have no part in it.
        self.model.fit(devices.feed(batches), epochs=1, verbose=0, shuffle=False, callbacks=callbacks)

    def _about(self) -> About:
        model, side = self.model.model, self.task.side
        batches = self.plan.num_batches(0)
        return about_run(
            self.folder.path.name,
            self.recipe,
            self.report,
            self.encoded,
            model,
            self.rate,
            batches,
            lambda: self.problem.embeddings(model, side),
        )

    def _profiling(self) -> list[Profiling]:
        """What traces some updates, where the recipe asks for it."""
        updates = self.recipe.training.profile
        return [Profiling(self.state, self.folder.tensorboard / "train", *updates)] if updates else []

    def _checkpointing(self) -> Checkpointing:
        training = self.recipe.training
        return Checkpointing(
            self.state,
            self.store,
            training.checkpoint_every,
            training.checkpoint_minutes,
            training.keep,
            self._ranked if training.average_by == "best" else list,
        )

    def _plateau(self) -> list[Plateau]:
        """What changes the rate by validations, where the recipe asks for it."""
        schedule = self.problem.recipe.training.schedule
        if schedule.name != "reduce_on_plateau":
            return []
        rules = PlateauRules(
            factor=schedule.factor,
            patience=schedule.patience,
            lowest=schedule.lowest,
            rise=schedule.rise,
            highest=schedule.highest,
        )
        return [Plateau(self.state, rules, self._event)]

    def _ranked(self, steps: list[int]) -> list[int]:
        return self.problem.measure.ranked(steps, self.folder.metrics())

    def _health(self) -> Health:
        training, rules = self.recipe.training, self.recipe.training.divergence
        return Health(
            self.state,
            HealthRules(training.max_skipped, rules.above, rules.patience, rules.action),
            lambda epoch, batch: self.encoded.where(self.plan.epoch(epoch)[batch].rows),
            self._event,
            self.problem.WORDS.row,
            self.problem.WORDS.data,
        )

    def _symptoms(self, events: TensorBoardEvents) -> Symptoms:
        def signs(evaluated: Evaluated) -> Iterator[Sign]:
            return self.evaluator.signs(self.dev[0], evaluated)

        return Symptoms(self.state, events.probe, self._event, self.sample, self.task.model, signs)

    def _validation(self, *listeners: Listener) -> Validation:
        training, task, answering = self.recipe.training, self.task, self.model.answering
        is_chief, sample = self.devices.is_chief, self.sample

        def validate() -> Outcome:
            found = evaluate() if is_chief else None
            figures = self.devices.from_chief(found and found.figures)
            return found or Outcome(figures)

        def evaluate() -> Outcome:
            if task.model is not answering:
                for mine, theirs in zip(task.model.weights, answering.weights, strict=True):
                    mine.assign(theirs)
            try:
                return over_sets(self.dev, self.evaluator.quick, "val")
            except tf.errors.ResourceExhaustedError as error:
                raise RunError(
                    f"out of memory in the validation of update {self.state.step:,}: lower "
                    f"{self.problem.smaller_validation()}; TensorFlow says: {_first_line(error)}"
                ) from None

        return Validation(
            self.state,
            training.validate_every,
            validate,
            self.problem.measure,
            rate=lambda step: float(self.rate(step - 1)),
            patience=training.early_stopping.patience if training.early_stopping else None,
            of_training=(lambda: self.evaluator.of_training([sample()])) if is_chief else dict,
            listeners=(Records(self.folder), self.terminal, *listeners) if is_chief else (),
        )

    def _event(self, kind: str, line: str) -> None:
        """Keeps an event in the run and tells it to the person who waits."""
        if self.devices.is_chief:
            self.folder.log_event(kind, line)
        self.terminal.say(f"{kind}: {line}")


def _first_line(error: Exception) -> str:
    return str(error).split("\n")[0][:200]
