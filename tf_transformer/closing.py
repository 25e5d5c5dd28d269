"""The end of a training: the best checkpoint by dev, its scores on test, and ``results.json``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tf_transformer.build import Problem
from tf_transformer.build.weights import set_weights
from tf_transformer.callbacks.board.hparams import write_final
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.checkpoints import AVERAGE, CheckpointStore
from tf_transformer.errors import RunError, clock, counted
from tf_transformer.evaluation import Evaluated, EvaluationSet, Evaluator, Outcome, over_sets
from tf_transformer.farewell import farewell
from tf_transformer.results import final_results
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.task import Task


class Closing:
    """Scores a complete training. Dev decides which checkpoint; test is scored once, with that one.

    Args:
        folder: The run.
        problem: What was learnt.
        store: The run's checkpoints.
        task: The task in float32, which takes the checkpoints' weights.
        evaluator: Says how good it is.
        say: Prints a line for the person who waits.
    """

    def __init__(
        self,
        folder: RunFolder,
        problem: Problem[Any],
        store: CheckpointStore,
        task: Task,
        evaluator: Evaluator,
        say: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self.problem = problem
        self.recipe = problem.recipe
        self.store = store
        self.task = task
        self.evaluator = evaluator
        self.say = say
        self._examples: list[str] = []
        self._has_test = False

    def run(self, dev: Sequence[EvaluationSet], tests: Sequence[EvaluationSet], state: TrainingState) -> None:
        """Averages where the recipe says so, chooses, scores, and writes the results.

        Args:
            dev: Dev sets; the first decides.
            tests: Test sets.
            state: Of the complete training.
        """
        outcomes = {name: self._on_dev(name, dev) for name in self._candidates(state)}
        chosen = next(iter(outcomes))
        for name, outcome in outcomes.items():
            if self._is_better(outcome.figures, outcomes[chosen].figures):
                chosen = name
            self.say(f"dev, {name}: {outcome.sets[0].brief}")
        index = self.store.index()
        index.average_is_best = chosen == AVERAGE
        self.store.write_index(index)
        self._take(chosen)
        self._examples = _examples(dev[0], outcomes[chosen])
        self._has_test = bool(tests)

        def score(test: EvaluationSet) -> Evaluated:
            evaluated = self.evaluator.full(test)
            self.say(f"{test.name}, {chosen}: {evaluated.brief}")
            return evaluated

        found = over_sets(tests, score, "test")
        metrics = outcomes[chosen].figures | found.figures
        facts = {"checkpoint": chosen, "step": state.step, "seconds": state.seconds, "ended_by": state.ended}
        results = final_results(self.folder, self.recipe, metrics, found.signatures, facts)
        self.folder.write_results(results)
        write_final(self.folder.tensorboard, state.step, metrics)
        self._point_the_way(state)

    def _is_better(self, average: Mapping[str, float], best: Mapping[str, float]) -> bool:
        """Whether the average is to be preferred: by the measure, or by the loss.

        The best checkpoint was picked out of many by the measure, whose luck on dev flatters it; neither was
        picked by the loss, which is less noisy.
        """
        measure, loss = self.problem.measure, "val_loss"
        return measure.improves(average[measure.name], best[measure.name]) or average[loss] < best[loss]

    def _candidates(self, state: TrainingState) -> list[str]:
        index = self.store.index()
        index.average_is_best = False  # that of an earlier, shorter training says nothing of this one
        self.store.write_index(index)
        names = [self._best()]
        wanted, kept = self.recipe.training.average, index.kept
        if self.recipe.training.average_by == "best":
            kept = self.problem.measure.ranked(kept, self.folder.metrics())
        kept = sorted(kept[-wanted:]) if wanted else []
        if kept and self._has_averaged(kept, state):
            names.append(AVERAGE)
        return names

    def _has_averaged(self, kept: list[int], state: TrainingState) -> bool:
        try:
            weights = self.store.average(kept)
        except RunError as error:
            self._tell_damage(f"{error}; so there is no average")
            return False
        self.store.write(AVERAGE, weights, state={"step": state.step, "averaged": kept, "side": state.side})
        return True

    def _best(self) -> str:
        """The best checkpoint; the newest whole one where that is damaged."""
        name = self.store.resolve("best")
        try:
            return self.store.read(name).name
        except RunError as error:
            newest = self.store.newest()[0]
            if newest is None or newest.name == name:
                raise
            self._tell_damage(f"{error}; {newest.name} is scored in its place")
        return newest.name

    def _tell_damage(self, line: str) -> None:
        self.say(line)
        self.folder.log_event("damaged checkpoint", line)

    def _on_dev(self, name: str, dev: Sequence[EvaluationSet]) -> Outcome:
        """What dev says of one checkpoint."""
        self._take(name)
        return over_sets(dev, self.evaluator.choosing, "val")

    def _take(self, name: str) -> None:
        found, sizes = self.store.read(name), self.problem.side_sizes(self.task.side)
        set_weights(self.task.model, found.weights, str(found.folder), sizes)

    def _point_the_way(self, state: TrainingState) -> None:
        updates = counted(state.step, "update")
        self.say(f"\ncomplete ({state.ended}) after {updates} in {clock(state.seconds)}: {self.folder.path}")
        for line in farewell(self.folder, self.problem.WORDS, self._examples, self._has_test):
            self.say(line)


def _examples(dev: EvaluationSet, outcome: Outcome) -> list[str]:
    """Inputs to try a finished task with: those of the samples, or the beginnings of texts."""
    texts = dev.columns.get("text", ())[:100]
    return [each.source for each in outcome.samples] or [text for text in texts if isinstance(text, str)]
