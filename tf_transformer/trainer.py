"""Training: from a recipe and a folder to a run, begun or continued, and scored when it ends."""

from collections.abc import Collection
from pathlib import Path

import tensorflow as tf

from tf_transformer.beginning import Reset, begin
from tf_transformer.build.data import (
    EvaluationSet,
    TextData,
    build_preprocessor,
    encode_evaluation,
    encode_training,
    read_text,
)
from tf_transformer.build.model import build_optimizer, build_schedule, build_transformer, build_translator
from tf_transformer.build.run import set_weights
from tf_transformer.callbacks.advance import Advance, Interruption, Limits
from tf_transformer.callbacks.checkpointing import Checkpointing, split_variables, training_variables
from tf_transformer.callbacks.dev_sets import DevSets
from tf_transformer.callbacks.health import DivergenceError, Health, HealthRules
from tf_transformer.callbacks.records import Records
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.callbacks.validation import Measure, Validation
from tf_transformer.checkpoints import Checkpoint, CheckpointStore, step_name
from tf_transformer.closing import Closing
from tf_transformer.data.batching import BatchPlan
from tf_transformer.data.encoding import EncodedCorpus, token_warnings
from tf_transformer.data.pipeline import Position, training_dataset
from tf_transformer.errors import RunError
from tf_transformer.recipe import Recipe, dump_recipe, recipe_digest
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor
from tf_transformer.training_step import TrainingModel

EXIT_DONE = 0
KEPT_ON_RESET = ("loss_scale",)
"""Beginnings of the paths of optimizer variables that a reset of the optimizer leaves alone."""


def train(
    recipe: Recipe,
    path: Path,
    *,
    fresh: bool = False,
    reset: Collection[Reset] = (),
    quiet: bool = False,
) -> int:
    """Trains a recipe in a run folder, from where it stands, until one of its limits is reached.

    Args:
        recipe: A checked recipe with records of its files.
        path: The run folder; begun when it is not there, continued when it is.
        fresh: Start over; the old folder is moved aside.
        reset: What is begun anew while the weights go on: the optimizer's means, the schedule, or the order
            of the data (which also takes changed files as new data).
        quiet: Nothing on stderr but errors.

    Returns:
        The exit code: 0 when training is complete, 128 plus the signal's number when it was interrupted
        (saved, to be continued by the same call).

    Raises:
        ProjectError: When recipe, data or folder do not allow it; nothing of the run is lost then.
    """
    folder = RunFolder(path)
    if fresh:
        folder.move_aside()
    with folder.lock():
        return _Training(folder, recipe, frozenset(reset), quiet).run()


class _Training:
    """One call of ``train``: what it reads and builds, in order."""

    def __init__(self, folder: RunFolder, recipe: Recipe, reset: frozenset[Reset], quiet: bool) -> None:
        self.folder = folder
        self.reset = reset
        self.state = TrainingState()
        self.store = CheckpointStore(folder.checkpoints)
        self.terminal = Terminal(self.state, quiet=quiet)
        self.recipe = begin(folder, recipe, self.store, self.terminal.say, reset)

    def run(self) -> int:
        """Prepares, trains, and scores."""
        checkpoint = self._newest()
        if checkpoint is not None and self._is_scored(checkpoint):
            self.terminal.say(f"{self.folder.path}: is complete, its figures are in results.json")
            return EXIT_DONE
        text = read_text(self.recipe)
        preprocessor = self._preprocessor(text)
        encoded = encode_training(text.train, preprocessor, self.recipe.data)
        self._report(text, encoded)
        self._build(text, preprocessor, encoded)
        if checkpoint is not None:
            self._restore(checkpoint)
            self._reset()
        if not self._is_complete():
            with Interruption() as interruption:
                self._train(encoded, interruption)
            if self.state.ended is None:
                self.terminal.say(f"interrupted at update {self.state.step:,}; the same command continues")
                return 128 + (interruption.signal or 0)
        self._finish(text)
        return EXIT_DONE

    def _is_scored(self, checkpoint: Checkpoint) -> bool:
        """Whether the final figures are those of this checkpoint under the recipe as it stands."""
        if self.reset:
            return False
        results = self.folder.results()
        return (
            results is not None
            and checkpoint.state["ended"] is not None
            and results["step"] == checkpoint.state["step"]
            and results["recipe_sha256"] == recipe_digest(self.recipe)
        )

    def _newest(self) -> Checkpoint | None:
        checkpoint, damaged = self.store.newest()
        for line in damaged:
            self.terminal.say(f"{line}; the checkpoint before is used")
            self.folder.log_event("damaged checkpoint", line)
        return checkpoint

    def _preprocessor(self, text: TextData) -> Preprocessor:
        if self.folder.tokenizer.exists():
            return Preprocessor.load(self.folder.tokenizer)
        preprocessor = build_preprocessor(self.recipe.text, text.train)
        preprocessor.save(self.folder.tokenizer)
        return preprocessor

    def _report(self, text: TextData, encoded: EncodedCorpus) -> None:
        for line in (*text.report, *(line for report in encoded.reports for line in report.to_lines())):
            self.terminal.say(line)
        for warning in token_warnings(encoded):
            self.terminal.say(f"warning: {warning}")

    def _build(self, text: TextData, preprocessor: Preprocessor, encoded: EncodedCorpus) -> None:
        recipe, training = self.recipe, self.recipe.training
        self.dev = [encode_evaluation(dev, preprocessor, recipe.data) for dev in text.dev]
        self.plan = BatchPlan(
            encoded.lengths,
            training.batch_tokens,
            seed=training.seed,
            corpora=encoded.corpora,
            weights=text.weights,
        )
        precision = training.precision
        model = build_transformer(recipe, preprocessor, precision)
        # Decoding and validation are in float32, whatever training is in.
        decoder = model if precision == "float32" else build_transformer(recipe, preprocessor, "float32")
        self.task = build_translator(recipe, decoder, preprocessor)
        batches = self.plan.num_batches(0)
        self.model = TrainingModel(model, training.label_smoothing)
        schedule = build_schedule(training, recipe.model.hidden_dim, batches)
        self.schedule = self.model.adjustable(schedule)
        self.model.compile(optimizer=build_optimizer(training.optimizer, self.schedule, precision))
        self.model.optimizer.build(model.trainable_variables)
        self.limits = Limits(training.steps, training.epochs, training.minutes)
        shares = self.plan.padding()
        self.terminal.say(
            f"{model.count_params():,} parameters · {len(encoded):,} pairs · {batches:,} updates an epoch · "
            f"padding {shares['source']:.1%} source, {shares['target']:.1%} target"
        )

    def _restore(self, checkpoint: Checkpoint) -> None:
        """Puts back everything that training changes, so that it goes on as if it had never stopped."""
        where = str(checkpoint.folder)
        set_weights(self.model.model, checkpoint.weights, where, self.task.preprocessor)
        for path, variable in training_variables(self.model).items():
            if path not in checkpoint.training:
                raise RunError(f"{where}: has no {path}, which continuing needs: another optimizer wrote it")
            variable.assign(checkpoint.training[path])
        self.state.restore(checkpoint.state)
        self.folder.truncate_metrics(self.state.step)
        self.terminal.say(f"continuing at update {self.state.step:,} ({where})")

    def _reset(self) -> None:
        """Begins anew what ``--reset`` names."""
        optimizer = self.model.optimizer
        if "optimizer" in self.reset:
            iterations = optimizer.iterations
            for variable in optimizer.variables:
                # The count of updates is the run's, not the optimizer's; a loss scale finds itself again.
                if variable is not iterations and variable.path.split("/")[0] not in KEPT_ON_RESET:
                    variable.assign(tf.zeros_like(variable))
        if "schedule" in self.reset:
            self.model.rate_start.assign(self.state.step)
            self.model.rate_factor.assign(1.0)
        if "data" in self.reset:
            self.state.epoch = self.state.batch = 0
        for name in sorted(self.reset):
            self._event("reset", f"{name} begun anew at update {self.state.step:,}")

    def _is_complete(self) -> bool:
        """Whether a limit of the recipe, as it stands now, was reached before."""
        early, state = self.recipe.training.early_stopping, self.state
        if state.step == 0:
            return False
        if early is not None and state.waited >= early.patience:
            state.ended = "early stopping"
        else:
            state.ended = self.limits.reached(state, self.plan.num_batches(state.epoch))
        return state.ended is not None

    def _event(self, kind: str, line: str) -> None:
        """Keeps an event in the run and tells it to the person who waits."""
        self.folder.log_event(kind, line)
        self.terminal.say(f"{kind}: {line}")

    def _train(self, encoded: EncodedCorpus, interruption: Interruption) -> None:
        """Fits, again from the best checkpoint where the loss ran away and the recipe says so."""
        while True:
            try:
                self._fit(encoded, interruption)
                return
            except DivergenceError as error:
                self._fall_back(error)
            except OSError as error:
                last = self.store.index().last
                kept = f"the checkpoint of update {last:,} is whole" if last else "there is no checkpoint yet"
                raise RunError(
                    f"{error.filename or self.folder.path}: cannot be written after update "
                    f"{self.state.step:,} ({error.strerror or error}); {kept}. "
                    "The same command continues once that is mended"
                ) from None
            except tf.errors.ResourceExhaustedError as error:
                raise RunError(
                    f"out of memory after update {self.state.step:,}: lower training.batch_tokens (now "
                    f"{self.recipe.training.batch_tokens}) or data.max_source_length and max_target_length; "
                    f"TensorFlow says: {str(error).split(chr(10))[0][:200]}"
                ) from None

    def _fall_back(self, error: DivergenceError) -> None:
        """Takes up the best checkpoint at a lower rate; what came after it is dropped."""
        rules, best, restored = self.recipe.training.divergence, self.state.best_step, self.state.restored
        if best is None or restored >= rules.restores:
            why = "no checkpoint was validated yet" if best is None else f"{restored} restores did not help"
            raise RunError(f"stopped, {why}: {error}")
        factor = float(self.model.rate_factor) * rules.rate_factor
        self._restore(self.store.read(step_name(best)))
        self.model.rate_factor.assign(factor)
        self.state.restored = restored + 1
        self.store.drop_after(best)
        weights, training = split_variables(self.model)
        self.store.write(step_name(best), weights, training, self.state.to_json())
        self._event("restored", f"update {best:,}, its learning rate times {factor:g}")

    def _place(self) -> Position:
        """Where the data goes on: exactly there, unless the batches are others than they were."""
        state, digest = self.state, self.plan.digest()
        if state.plan not in (None, digest):
            place = Position(state.epoch + (state.batch > 0), 0)
            self._event("new batches", f"text or batch size has changed; going on with epoch {place.epoch}")
        else:
            place = Position(state.epoch, 0).advance(self.plan, state.batch)
        state.epoch, state.batch, state.plan = place.epoch, place.batch, digest
        return place

    def _fit(self, encoded: EncodedCorpus, interruption: Interruption) -> None:
        training, evaluation = self.recipe.training, self.recipe.evaluation
        dataset = training_dataset(encoded, self.plan, self.task.preprocessor.assemble, self._place())
        events = TensorBoardEvents(self.state, self.folder.tensorboard)
        if self.state.step == 0:
            events.write_text("recipe", dump_recipe(self.recipe))
        validate = DevSets(
            self.model.model,
            self.task,
            self.dev,
            label_smoothing=training.label_smoothing,
            tokenize=evaluation.tokenize,
            beam=evaluation.beam,
            samples=evaluation.samples,
        )
        early = training.early_stopping
        validation = Validation(
            self.state,
            training.validate_every,
            validate,
            self._measure(),
            rate=lambda step: float(self.schedule(step - 1)),
            patience=early.patience if early else None,
            listeners=(Records(self.folder), events, self.terminal),
        )
        rules = training.divergence
        health = Health(
            self.state,
            HealthRules(training.max_skipped, rules.above, rules.patience, rules.action),
            lambda epoch, batch: encoded.where(self.plan.epoch(epoch)[batch].rows),
            self._event,
        )
        self.terminal.limits, self.terminal.batches_in_epoch = self.limits, self.plan.num_batches(0)
        callbacks = [
            health,
            Advance(self.state, self.plan.num_batches, self.limits, interruption),
            validation,
            Checkpointing(
                self.state,
                self.store,
                training.checkpoint_every,
                training.checkpoint_minutes,
                training.keep,
            ),
            events,
            self.terminal,
        ]
        # One call of `fit`, without end: the callbacks stop it. Keras' epochs have no part in it.
        self.model.fit(dataset, epochs=1, verbose=0, shuffle=False, callbacks=callbacks)

    def _measure(self) -> Measure:
        early = self.recipe.training.early_stopping
        return Measure("val_loss", False) if early and early.metric == "loss" else Measure("val_bleu", True)

    def _finish(self, text: TextData) -> None:
        tests = [EvaluationSet(test.name, test.sources, test.references, ()) for test in text.test]
        closing = Closing(self.folder, self.recipe, self.store, self.task, self.terminal.say)
        closing.run(self.dev, tests, self.state, self._measure())
