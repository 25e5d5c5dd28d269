"""Training: from a recipe and a folder to a run, begun or continued, and scored when it ends."""

import gc
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from tf_transformer import __version__
from tf_transformer.batch_size import BatchSizeChoice, find_batch_tokens, find_micro_batch
from tf_transformer.beginning import Beginning, Reset, follow
from tf_transformer.build import Problem, problem_of
from tf_transformer.build.optimization import build_schedule, build_training_model
from tf_transformer.build.problem import Examples
from tf_transformer.callbacks.advance import Interruption
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.checkpoints import Checkpoint, CheckpointStore
from tf_transformer.closing import Closing
from tf_transformer.cluster import WAIT_SECONDS, Cluster, find_cluster, meet
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.devices import LOST, Devices, num_gpus, open_devices
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
    wait: float = WAIT_SECONDS,
) -> int:
    """Trains a recipe in a run folder, from where it stands, until one of its limits is reached.

    Where the environment names several hosts (see `tf_transformer.cluster`), each of them makes this call at
    the same time, and the first one, the chief, has the run folder. Then, and for several devices of one
    CPU, TensorFlow must not have been used before.

    Args:
        recipe: A checked recipe with records of its files.
        path: The run folder; begun when it is not there, continued when it is.
        fresh: Start over; the old folder is moved aside.
        reset: What is begun anew while the weights go on: the optimizer's means, the schedule, or the order
            of the data (which also takes changed files as new data).
        quiet: Nothing on stderr but errors.
        wait: Seconds that hosts wait for each other at the start.

    Returns:
        The exit code: 0 when training is complete, 128 plus the signal's number when it was interrupted
        (saved, to be continued by the same call).

    Raises:
        ProjectError: When recipe, data or folder do not allow it, or a host is missing; nothing of the run is
            lost then.
    """
    folder, cluster = RunFolder(path), find_cluster(os.environ)
    try:
        if cluster is not None and not cluster.is_chief:
            return _together(folder, recipe, frozenset(reset), True, cluster, wait)
        if fresh:
            folder.move_aside()
        with folder.lock():
            return _together(folder, recipe, frozenset(reset), quiet, cluster, wait)
    except OSError as error:
        raise RunError(
            f"{error.filename or path}: {error.strerror or error}; the same command continues once that is "
            "mended"
        ) from None


def _together(
    folder: RunFolder,
    recipe: Recipe,
    reset: frozenset[Reset],
    quiet: bool,
    cluster: Cluster | None,
    wait: float,
) -> int:
    """Trains on all devices of all hosts, which this process meets first."""
    problem = problem_of(recipe)
    terminal = Terminal(TrainingState(), problem.HEADINGS, measure=problem.measure.name, quiet=quiet)
    if cluster is not None:
        greeting = {
            "recipe or data": recipe_digest(recipe),
            "version": __version__,
            "--reset": sorted(reset),
            "number of GPUs": num_gpus(),
        }
        meet(cluster, greeting, terminal.say, wait)
    devices = open_devices(recipe.training.devices, cluster)
    try:
        code = _Training(folder, recipe, reset, terminal, devices).run()
        return int(devices.from_chief(code))  # nobody leaves before the chief is done
    except LOST as error:
        if cluster is None:
            raise
        raise devices.lost(error) from None


class _Training:
    """One call of ``train``: what it reads and builds, in order."""

    def __init__(
        self,
        folder: RunFolder,
        recipe: Recipe,
        reset: frozenset[Reset],
        terminal: Terminal,
        devices: Devices,
    ) -> None:
        self.folder = folder
        self.reset = reset
        self.terminal = terminal
        self.state = terminal.state
        self.devices = devices
        self.store = CheckpointStore.of(folder)
        self.beginning: Beginning = follow(folder, recipe, self.store, devices, terminal.say, reset)
        self.problem: Problem[Any] = problem_of(self.beginning.recipe)

    def run(self) -> int:
        """Prepares, trains, and scores."""
        checkpoint = self.beginning.checkpoint
        is_scored = checkpoint is not None and self._is_scored(checkpoint)
        if self.devices.from_chief(is_scored):
            if self.devices.is_chief:
                self.beginning.write()
            self.terminal.say(f"{self.folder.path}: is complete, its figures are in results.json")
            return EXIT_DONE
        examples = self.problem.read()
        side = self._side(examples)
        encoded = self.problem.encode(examples, side)
        updated = self._updated(examples, side)
        report = [*updated, *self.problem.report(examples, encoded)]
        if checkpoint is None and self.devices.is_chief:
            report += [f"warning: {sign.line}" for sign in self.problem.signs(examples, side)]
        for line in report:
            self.terminal.say(line)
        self._find_sizes(examples, side, encoded)
        fitting = self._fitting(examples, side, encoded, report)
        # Whatever can be refused is refused: the folder changes now, and not before.
        if self.devices.is_chief:
            if checkpoint is None:
                self.beginning.write()
                side.save(self.folder.tokenizer)
                if (origin := self.problem.origin) is not None:
                    self.folder.log_event("begun from a run", str(origin.checkpoint.folder))
                for line in updated:
                    self.folder.log_event("vocabulary updated", line)
            else:
                fitting.restore(checkpoint)
                self.beginning.write()
                fitting.reset(self.reset)
            self.state.side = self.folder.tokenizer_digest()
        fitting.begin()
        if not fitting.is_complete():
            with Interruption() as interruption:
                fitting.run(interruption)
            if self.state.ended is None:
                self.terminal.say(f"interrupted at update {self.state.step:,}; the same command continues")
                return 128 + (interruption.signal or 0)
        if not self.devices.is_chief:
            return EXIT_DONE
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

    def _updated(self, examples: Examples, side: Any) -> list[str]:
        """What has become of the vocabulary that a training begins from; the chief knows."""
        if self.beginning.checkpoint is not None or not self.devices.is_chief:
            return []
        return list(self.problem.update_lines(examples, side))

    def _side(self, examples: Examples) -> Any:
        """The text or image side: the run's own, or a new one; the chief's on all hosts."""
        side = self.beginning.side
        if side is None and self.devices.is_chief:
            side = self.problem.make_side(examples)
        if self.devices.num_hosts == 1:
            return side
        with TemporaryDirectory() as name:
            folder = Path(name, "side")
            content = {}
            if side is not None:
                side.save(folder)
                files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
                content = {str(path.relative_to(folder)): path.read_bytes().hex() for path in files}
            for path, text in self.devices.from_chief(content).items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(bytes.fromhex(text))
            return side or self.problem.load_side(folder)

    def _find_sizes(self, examples: Examples, side: Any, encoded: EncodedCorpus) -> None:
        """Finds the sizes that the recipe leaves open; the run keeps them."""
        training = self.problem.recipe.training
        searches = {training.BUDGET: find_batch_tokens, f"micro_{training.BUDGET}": find_micro_batch}
        for key, find in searches.items():
            if getattr(training, key, None) != "auto":
                continue
            if self.devices.num_hosts > 1:
                raise RunError(
                    f"training.{key}: auto is found by one host alone, and here are "
                    f"{self.devices.num_hosts}: write a number"
                )
            self._keep_size(key, self._found(find, examples, side, encoded))

    def _found(
        self, find: Callable[..., BatchSizeChoice], examples: Examples, side: Any, encoded: EncodedCorpus
    ) -> BatchSizeChoice:
        """Finds a size with a model that is thrown away."""
        trained, _ = self._training_model(side)
        choice = find(self.problem, trained, encoded, examples.weights, side, self.devices)
        del trained
        gc.collect()  # before the model that is trained takes its place
        return choice

    def _keep_size(self, key: str, choice: BatchSizeChoice) -> None:
        self.terminal.say(f"{key} {choice.tokens:,}: {choice.reason}")
        recipe = self.problem.recipe.replaced("training", **{key: choice.tokens})
        self.problem, self.beginning = problem_of(recipe), replace(self.beginning, recipe=recipe)

    def _training_model(self, side: Any, batches: int | None = None) -> tuple[Any, Any]:
        """A compiled ``TrainingModel`` and its rate.

        Args:
            side: Says how large the vocabularies are.
            batches: Updates of an epoch, which schedules may need; None for trials, at a rate of 0.
        """
        with self.devices.scope():
            return self._made_model(side, batches)

    def _made_model(self, side: Any, batches: int | None) -> tuple[Any, Any]:
        recipe, training = self.problem.recipe, self.problem.recipe.training
        model = self.problem.model(side, training.precision)
        if self.beginning.checkpoint is None and batches and self.devices.is_chief:
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
        with self.devices.scope():
            task = problem.task(model if same else problem.model(side, "float32"), side)
        if on := self.devices.describe():
            self.terminal.say(f"on {on}")
        parameters, moved = model.count_params(), sum(int(np.prod(one.shape)) for one in trained.trained)
        share = f", {moved:,} of them trained" if training.freeze or training.lora else ""
        self.terminal.say(f"{parameters:,} parameters{share} · {problem.describe(encoded, plan)}")
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
            devices=self.devices,
            report=report,
        )
