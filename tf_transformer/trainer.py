"""Training: from a recipe and a folder to a run, begun or continued, and scored when it ends."""

import gc
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from tf_transformer.batch_size import find_batch_tokens
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
from tf_transformer.build.plan import build_plan
from tf_transformer.callbacks.advance import Interruption
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.closing import Closing
from tf_transformer.data.encoding import EncodedCorpus, token_warnings
from tf_transformer.errors import RunError, counted
from tf_transformer.fitting import Fitting
from tf_transformer.recipe import Recipe, TranslateRecipe, recipe_digest
from tf_transformer.run_folder import RunFolder
from tf_transformer.text import Preprocessor
from tf_transformer.training_step import TrainingModel

EXIT_DONE = 0


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
    try:
        if fresh:
            folder.move_aside()
        with folder.lock():
            assert isinstance(recipe, TranslateRecipe)  # there is no other yet
            return _Training(folder, recipe, frozenset(reset), quiet).run()
    except OSError as error:
        raise RunError(
            f"{error.filename or path}: {error.strerror or error}; the same command continues once that is "
            "mended"
        ) from None


class _Training:
    """One call of ``train``: what it reads and builds, in order."""

    def __init__(
        self, folder: RunFolder, recipe: TranslateRecipe, reset: frozenset[Reset], quiet: bool
    ) -> None:
        self.folder = folder
        self.reset = reset
        self.state = TrainingState()
        self.store = CheckpointStore(folder.checkpoints)
        self.terminal = Terminal(self.state, quiet=quiet)
        self.beginning = begin(folder, recipe, self.store, self.terminal.say, reset)
        assert isinstance(self.beginning.recipe, TranslateRecipe)
        self.recipe = self.beginning.recipe

    def run(self) -> int:
        """Prepares, trains, and scores."""
        checkpoint = self.beginning.checkpoint
        if checkpoint is not None and self._is_scored(checkpoint):
            self.beginning.write()
            self.terminal.say(f"{self.folder.path}: is complete, its figures are in results.json")
            return EXIT_DONE
        text = read_text(self.recipe)
        preprocessor = self.beginning.preprocessor or build_preprocessor(self.recipe.text, text.train)
        encoded = encode_training(text.train, preprocessor, self.recipe.data)
        self._report(text, encoded)
        if self.recipe.training.batch_tokens == "auto":
            self._find_batch_size(text, preprocessor, encoded)
        fitting = self._fitting(text, preprocessor, encoded)
        # Whatever can be refused is refused: the folder changes now, and not before.
        if checkpoint is None:
            self.beginning.write()
            preprocessor.save(self.folder.tokenizer)
        else:
            fitting.restore(checkpoint)
            self.beginning.write()
            fitting.reset(self.reset)
        if not fitting.is_complete():
            with Interruption() as interruption:
                fitting.run(interruption)
            if self.state.ended is None:
                self.terminal.say(f"interrupted at update {self.state.step:,}; the same command continues")
                return 128 + (interruption.signal or 0)
        tests = [EvaluationSet(test.name, test.sources, test.references, ()) for test in text.test]
        closing = Closing(self.folder, self.recipe, self.store, fitting.task, self.terminal.say)
        closing.run(fitting.dev, tests, self.state, fitting.measure)
        return EXIT_DONE

    def _is_scored(self, checkpoint: Checkpoint) -> bool:
        """Whether the final figures are those of this checkpoint under the recipe as it stands."""
        if self.reset:
            return False
        results = self.folder.results()
        return (
            results is not None
            and checkpoint.state.get("ended") is not None
            and results.get("step") == checkpoint.state.get("step")
            and results.get("recipe_sha256") == recipe_digest(self.recipe)
        )

    def _report(self, text: TextData, encoded: EncodedCorpus) -> None:
        for line in (*text.report, *(line for report in encoded.reports for line in report.to_lines())):
            self.terminal.say(line)
        for warning in token_warnings(encoded):
            self.terminal.say(f"warning: {warning}")

    def _find_batch_size(self, text: TextData, preprocessor: Preprocessor, encoded: EncodedCorpus) -> None:
        """Finds the batch size with a model that is thrown away; the run keeps it."""
        trained, _ = self._training_model(preprocessor)
        choice = find_batch_tokens(self.recipe, trained, encoded, text.weights, preprocessor)
        del trained
        gc.collect()  # before the model that is trained takes its place
        self.terminal.say(f"batch_tokens {choice.tokens:,}: {choice.reason}")
        self.recipe = self.recipe.replaced("training", batch_tokens=choice.tokens)
        self.beginning = replace(self.beginning, recipe=self.recipe)

    def _training_model(self, preprocessor: Preprocessor, batches: int | None = None) -> tuple[Any, Any]:
        """A compiled ``TrainingModel`` and its rate.

        Args:
            preprocessor: Says how large the vocabularies are.
            batches: Updates of an epoch, which schedules may need; None for trials, at a rate of 0.
        """
        recipe, training = self.recipe, self.recipe.training
        model = build_transformer(recipe, preprocessor, training.precision)
        trained = TrainingModel(
            model,
            training.label_smoothing,
            r_drop=training.r_drop,
            ema=training.ema,
            loss_chunk=training.loss_chunk,
        )
        rate = (
            trained.adjustable(build_schedule(training, recipe.model.hidden_dim, batches)) if batches else 0.0
        )
        trained.compile(optimizer=build_optimizer(training.optimizer, rate, training.precision))
        trained.optimizer.build(model.trainable_variables)
        return trained, rate

    def _fitting(self, text: TextData, preprocessor: Preprocessor, encoded: EncodedCorpus) -> Fitting:
        recipe, training = self.recipe, self.recipe.training
        plan = build_plan(recipe, text, encoded, preprocessor)
        batches, shares = plan.num_batches(0), plan.padding()
        trained, rate = self._training_model(preprocessor, batches)
        model = trained.model
        # Decoding and validation are in float32 and of averaged weights, whatever training is in and of.
        same = training.precision == "float32" and training.ema is None
        decoder = model if same else build_transformer(recipe, preprocessor, "float32")
        self.terminal.say(
            f"{model.count_params():,} parameters · {counted(len(encoded), 'pair')} · "
            f"{counted(batches, 'update')} an epoch · "
            f"padding {shares['source']:.1%} source, {shares['target']:.1%} target"
        )
        return Fitting(
            folder=self.folder,
            recipe=recipe,
            store=self.store,
            state=self.state,
            terminal=self.terminal,
            model=trained,
            rate=rate,
            task=build_translator(recipe, decoder, preprocessor),
            dev=[encode_evaluation(dev, preprocessor, recipe.data) for dev in text.dev],
            encoded=encoded,
            plan=plan,
        )
