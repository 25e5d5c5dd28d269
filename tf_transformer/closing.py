"""The end of a training: the best checkpoint by dev, its scores on test, and ``results.json``."""

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from tf_transformer.build.data import EvaluationSet
from tf_transformer.build.run import set_weights
from tf_transformer.callbacks.dev_sets import DevSets
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.terminal import clock
from tf_transformer.callbacks.validation import Measure
from tf_transformer.checkpoints import AVERAGE, CheckpointStore
from tf_transformer.errors import RunError, counted
from tf_transformer.evaluation import translate_and_score
from tf_transformer.recipe import TranslateRecipe
from tf_transformer.results import final_results
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.translate import Translator


class Closing:
    """Scores a complete training. Dev decides which checkpoint; test is scored once, with that one.

    Args:
        folder: The run.
        recipe: As resolved.
        store: The run's checkpoints.
        task: A float32 translator, which takes the checkpoints' weights.
        say: Prints a line for the person who waits.
    """

    def __init__(
        self,
        folder: RunFolder,
        recipe: TranslateRecipe,
        store: CheckpointStore,
        task: Translator,
        say: Callable[[str], None],
    ) -> None:
        self.folder = folder
        self.recipe = recipe
        self.store = store
        self.task = task
        self.say = say

    def run(
        self,
        dev: Sequence[EvaluationSet],
        tests: Sequence[EvaluationSet],
        state: TrainingState,
        measure: Measure,
    ) -> None:
        """Averages where the recipe says so, chooses, scores, and writes the results.

        Args:
            dev: Dev sets; the first decides.
            tests: Test sets.
            state: Of the complete training.
            measure: By which dev decides.
        """
        figures = {name: self._dev_figures(name, dev) for name in self._candidates(state, measure)}
        chosen = next(iter(figures))
        for name, values in figures.items():
            if measure.improves(values[measure.name], figures[chosen][measure.name]):
                chosen = name
            self.say(f"dev, {name}: BLEU {values['val_bleu']:.2f}, loss {values['val_loss']:.3f}")
        index = self.store.index()
        index.average_is_best = chosen == AVERAGE
        self.store.write_index(index)
        self._take(chosen)
        metrics: dict[str, Any] = dict(figures[chosen])
        signatures: dict[str, str] = {}
        for number, test in enumerate(tests):
            prefix = "test_" if number == 0 else f"test_{test.name}_"
            scores = translate_and_score(
                self.task, test.sources, test.references, tokenize=self.recipe.evaluation.tokenize
            )[1]
            metrics |= {f"{prefix}{name}": value for name, value in scores.values.items()}
            signatures |= {f"{prefix}{name}": value for name, value in scores.signatures.items()}
            self.say(
                f"{test.name}, {chosen}: BLEU {scores.values['bleu']:.2f} "
                f"[{scores.values['bleu_low']:.2f}, {scores.values['bleu_high']:.2f}], "
                f"exact {scores.values['exact_match']:.1f} %, {scores.signatures['bleu']}"
            )
        facts = {"checkpoint": chosen, "step": state.step, "seconds": state.seconds, "ended_by": state.ended}
        self.folder.write_results(final_results(self.folder, self.recipe, metrics, signatures, facts))
        self._point_the_way(state)

    def _candidates(self, state: TrainingState, measure: Measure) -> list[str]:
        index = self.store.index()
        index.average_is_best = False  # that of an earlier, shorter training says nothing of this one
        self.store.write_index(index)
        names = [self._best()]
        wanted, kept = self.recipe.training.average, index.kept
        if self.recipe.training.average_by == "best":
            kept = measure.ranked(kept, self.folder.metrics())
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
        self.store.write(AVERAGE, weights, state={"step": state.step, "averaged": kept})
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

    def _dev_figures(self, name: str, dev: Sequence[EvaluationSet]) -> dict[str, float]:
        """Dev figures of one checkpoint, by the recipe's own search."""
        self._take(name)
        measure = DevSets(
            self.task.model,
            self.task,
            dev,
            label_smoothing=self.recipe.training.label_smoothing,
            tokenize=self.recipe.evaluation.tokenize,
            beam=self.recipe.decoding.beam,
            samples=0,
        )
        return measure().figures

    def _take(self, name: str) -> None:
        found = self.store.read(name)
        set_weights(self.task.model, found.weights, str(found.folder), self.task.preprocessor)

    def _point_the_way(self, state: TrainingState) -> None:
        path, updates = shlex.quote(str(self.folder.path)), counted(state.step, "update")
        self.say(f"\ncomplete ({state.ended}) after {updates} in {clock(state.seconds)}: {self.folder.path}")
        self.say(f"  translate   tf-transformer predict {path} < FILE")
        self.say(f"  export      tf-transformer export {path} exported")
        self.say(f"  look        tensorboard --logdir {shlex.quote(str(self.folder.tensorboard))}")
