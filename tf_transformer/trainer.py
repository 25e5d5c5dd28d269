"""Training: from a recipe and a folder to a run, begun or continued, and scored when it ends."""

import gc
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tf_transformer.batch_size import find_batch_tokens
from tf_transformer.beginning import Reset, begin
from tf_transformer.build import Problem, problem_of
from tf_transformer.build.optimization import build_schedule, build_training_model
from tf_transformer.build.problem import Examples
from tf_transformer.callbacks.advance import Interruption
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.closing import Closing
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.errors import RunError
from tf_transformer.fitting import Fitting
from tf_transformer.recipe import Recipe, recipe_digest
from tf_transformer.run_folder import RunFolder

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
            return _Training(folder, recipe, frozenset(reset), quiet).run()
    except OSError as error:
        raise RunError(
            f"{error.filename or path}: {error.strerror or error}; the same command continues once that is "
            "mended"
        ) from None


class _Training:
    """One call of ``train``: what it reads and builds, in order."""

    def __init__(self, folder: RunFolder, recipe: Recipe, reset: frozenset[Reset], quiet: bool) -> None:
        self.folder = folder
        self.reset = reset
        self.state = TrainingState()
        self.store = CheckpointStore(folder.checkpoints)
        problem = problem_of(recipe)
        self.terminal = Terminal(self.state, problem.HEADINGS, measure=problem.measure.name, quiet=quiet)
        self.beginning = begin(folder, recipe, self.store, self.terminal.say, reset)
        self.problem: Problem[Any] = problem_of(self.beginning.recipe)

    def run(self) -> int:
        """Prepares, trains, and scores."""
        checkpoint = self.beginning.checkpoint
        if checkpoint is not None and self._is_scored(checkpoint):
            self.beginning.write()
            self.terminal.say(f"{self.folder.path}: is complete, its figures are in results.json")
            return EXIT_DONE
        examples = self.problem.read()
        side = self.beginning.side or self.problem.make_side(examples)
        encoded = self.problem.encode(examples, side)
        report = list(self.problem.report(examples, encoded))
        for line in report:
            self.terminal.say(line)
        if self.problem.recipe.training.budget == "auto":
            self._find_batch_size(examples, side, encoded)
        fitting = self._fitting(examples, side, encoded, report)
        # Whatever can be refused is refused: the folder changes now, and not before.
        if checkpoint is None:
            self.beginning.write()
            side.save(self.folder.tokenizer)
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
        tests = self.problem.test_sets(examples, side)
        closing = Closing(
            self.folder, self.problem, self.store, fitting.task, fitting.evaluator, self.terminal.say
        )
        closing.run(fitting.dev, tests, self.state)
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
            and results.get("recipe_sha256") == recipe_digest(self.problem.recipe)
        )

    def _find_batch_size(self, examples: Examples, side: Any, encoded: EncodedCorpus) -> None:
        """Finds the batch size with a model that is thrown away; the run keeps it."""
        trained, _ = self._training_model(side)
        choice = find_batch_tokens(self.problem, trained, encoded, examples.weights, side)
        del trained
        gc.collect()  # before the model that is trained takes its place
        key = self.problem.recipe.training.BUDGET
        self.terminal.say(f"{key} {choice.tokens:,}: {choice.reason}")
        recipe = self.problem.recipe.replaced("training", **{key: choice.tokens})
        self.problem, self.beginning = problem_of(recipe), replace(self.beginning, recipe=recipe)

    def _training_model(self, side: Any, batches: int | None = None) -> tuple[Any, Any]:
        """A compiled ``TrainingModel`` and its rate.

        Args:
            side: Says how large the vocabularies are.
            batches: Updates of an epoch, which schedules may need; None for trials, at a rate of 0.
        """
        recipe, training = self.problem.recipe, self.problem.recipe.training
        model = self.problem.model(side, training.precision)
        if self.beginning.checkpoint is None and batches:
            for line in self.problem.first_weights(model, side):
                self.terminal.say(line)
        schedule = build_schedule(training, recipe.model.hidden_dim, batches) if batches else None
        return build_training_model(self.problem, model, schedule)

    def _fitting(
        self, examples: Examples, side: Any, encoded: EncodedCorpus, report: Sequence[str]
    ) -> Fitting:
        problem, training = self.problem, self.problem.recipe.training
        plan = problem.plan(examples, encoded, side)
        trained, rate = self._training_model(side, plan.num_batches(0))
        model = trained.model
        # Decoding and validation are in float32 and of averaged weights, whatever training is in and of.
        same = training.precision == "float32" and training.ema is None
        task = problem.task(model if same else problem.model(side, "float32"), side)
        self.terminal.say(f"{model.count_params():,} parameters · {problem.describe(encoded, plan)}")
        return Fitting(
            folder=self.folder,
            problem=problem,
            store=self.store,
            state=self.state,
            terminal=self.terminal,
            model=trained,
            rate=rate,
            task=task,
            evaluator=problem.evaluator(task),
            dev=problem.dev_sets(examples, side),
            encoded=encoded,
            plan=plan,
            report=report,
        )
