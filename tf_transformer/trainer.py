"""Training: from a recipe and a folder to a run, begun or continued, and scored when it ends."""

import shutil
from pathlib import Path

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
from tf_transformer.callbacks.checkpointing import Checkpointing, training_variables
from tf_transformer.callbacks.dev_sets import DevSets
from tf_transformer.callbacks.records import Records
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.tensorboard import TensorBoardEvents
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.callbacks.validation import Measure, Validation
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.closing import Closing
from tf_transformer.data.batching import BatchPlan
from tf_transformer.data.encoding import EncodedCorpus, token_warnings
from tf_transformer.data.pipeline import Position, training_dataset
from tf_transformer.errors import RunError
from tf_transformer.precision import choose_precision
from tf_transformer.recipe import Recipe, compare_recipes, dump_recipe, recipe_digest, replaced
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor
from tf_transformer.training_step import TrainingModel

EXIT_DONE = 0


def train(recipe: Recipe, path: Path, *, fresh: bool = False, quiet: bool = False) -> int:
    """Trains a recipe in a run folder, from where it stands, until one of its limits is reached.

    Args:
        recipe: A checked recipe with records of its files.
        path: The run folder; begun when it is not there, continued when it is.
        fresh: Start over; the old folder is moved aside.
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
        return _Training(folder, recipe, quiet).run()


class _Training:
    """One call of ``train``: what it reads and builds, in order."""

    def __init__(self, folder: RunFolder, recipe: Recipe, quiet: bool) -> None:
        self.folder = folder
        self.state = TrainingState()
        self.store = CheckpointStore(folder.checkpoints)
        self.terminal = Terminal(self.state, quiet=quiet)
        self.recipe = self._begin(recipe)

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
        if not self._is_complete():
            with Interruption() as interruption:
                self._fit(encoded, interruption)
            if self.state.ended is None:
                self.terminal.say(f"interrupted at update {self.state.step:,}; the same command continues")
                return 128 + (interruption.signal or 0)
        self._finish(text)
        return EXIT_DONE

    def _begin(self, recipe: Recipe) -> Recipe:
        """Writes the recipe of a new run, or weighs what has changed since an old one's."""
        folder = self.folder
        if not folder.exists():
            return self._begin_anew(recipe)
        folder.check_format()
        old = folder.recipe()
        if self.store.newest()[0] is None:
            # Nothing was trained yet, so nothing binds; a tokenizer of the old recipe must not be taken over.
            shutil.rmtree(folder.tokenizer, ignore_errors=True)
            return self._begin_anew(recipe)
        changes = compare_recipes(old, recipe)
        if changes.refused:
            listed = "; ".join(map(str, changes.refused))
            raise RunError(
                f"{folder.path}: a run cannot change midway in {listed}. "
                "To start over, keeping this run aside: the same command with --fresh"
            )
        if recipe.training.precision == "auto":
            recipe = replaced(recipe, "training", precision=old.training.precision)
        for change in changes.logged:
            self.terminal.say(f"changed midway: {change}")
            folder.log_event("recipe changed", str(change))
        folder.write_recipe(recipe)
        return recipe

    def _begin_anew(self, recipe: Recipe) -> Recipe:
        if recipe.training.precision == "auto":
            choice = choose_precision()
            self.terminal.say(f"precision {choice.policy}: {choice.reason}")
            recipe = replaced(recipe, "training", precision=choice.policy)
        self.folder.create(recipe)
        return recipe

    def _is_scored(self, checkpoint: Checkpoint) -> bool:
        """Whether the final figures are those of this checkpoint under the recipe as it stands."""
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
        self.schedule = build_schedule(training, recipe.model.hidden_dim, batches)
        self.model = TrainingModel(model, training.label_smoothing)
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

    def _fit(self, encoded: EncodedCorpus, interruption: Interruption) -> None:
        training, evaluation = self.recipe.training, self.recipe.evaluation
        start = Position(self.state.epoch, 0).advance(self.plan, self.state.batch)
        self.state.epoch, self.state.batch = start.epoch, start.batch
        dataset = training_dataset(encoded, self.plan, self.task.preprocessor.assemble, start)
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
        self.terminal.limits, self.terminal.batches_in_epoch = self.limits, self.plan.num_batches(0)
        callbacks = [
            Advance(self.state, self.plan.num_batches, self.limits, interruption),
            validation,
            Checkpointing(self.state, self.store, training.checkpoint_every, training.keep),
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
