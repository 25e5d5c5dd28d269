"""The validation of a translator: every dev set, whole, by loss and by real decoding."""

from collections.abc import Sequence
from typing import Any

from tf_transformer.build.data import EvaluationSet
from tf_transformer.callbacks.validation import Outcome, Sample
from tf_transformer.evaluation import TeacherForced, translate_and_score
from tf_transformer.tasks.translate import Translator

SHOWN = ("bleu", "chrf")
"""Scores of the translations that a validation records."""


class DevSets:
    """Measures the model in training on each dev set.

    Args:
        trained: The model in training, in any precision, or what else has its weights as ``weights``.
        task: The translator that measures, in float32; its model is ``trained`` itself where that is
            float32 too, else it takes over its weights each time.
        sets: Dev sets; the first one's figures are ``val_…``, another one's ``val_<name>_…``.
        label_smoothing: That of training.
        tokenize: sacreBLEU's tokenizer.
        beam: Beam of the decoding.
        samples: Sentences of the first set to show.
    """

    def __init__(
        self,
        trained: Any,
        task: Translator,
        sets: Sequence[EvaluationSet],
        *,
        label_smoothing: float,
        tokenize: str,
        beam: int,
        samples: int,
    ) -> None:
        self.trained = trained
        self.task = task
        self.sets = sets
        self.tokenize = tokenize
        self.beam = beam
        self.samples = samples
        self.teacher_forced = TeacherForced(task.model, label_smoothing)

    def __call__(self) -> Outcome:
        """Figures of all sets and samples of the first one."""
        if self.task.model is not self.trained:
            for mine, theirs in zip(self.task.model.weights, self.trained.weights, strict=True):
                mine.assign(theirs)
        figures: dict[str, float] = {}
        samples: list[Sample] = []
        for number, dev in enumerate(self.sets):
            prefix = "val_" if number == 0 else f"val_{dev.name}_"
            texts, scores = translate_and_score(
                self.task,
                dev.sources,
                dev.references,
                tokenize=self.tokenize,
                complete=False,
                beam_size=self.beam,
            )
            measured = {**self.teacher_forced(dev.batches), **{name: scores.values[name] for name in SHOWN}}
            figures |= {f"{prefix}{name}": value for name, value in measured.items()}
            if number == 0:
                rows = zip(dev.sources, dev.references[0], texts, strict=True)
                samples = [Sample(*row) for row in rows][: self.samples]
        return Outcome(figures, samples)
