"""TensorBoard events of a run: training and validation on one axis, the optimizer updates.

Three runs lie under ``tensorboard/``: ``train`` and ``dev``, whose curves of the same tag share a chart, and
``results`` with the figures that runs are compared by. `board.tags` lists what is written.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import keras

from tf_transformer.callbacks.board.about import About
from tf_transformer.callbacks.board.allowance import SHARE, Allowance
from tf_transformer.callbacks.board.event_files import EventFile, bytes_in
from tf_transformer.callbacks.board.hparams import Results
from tf_transformer.callbacks.board.layout import layout
from tf_transformer.callbacks.board.pictures import Draw, Pictures
from tf_transformer.callbacks.board.projector import write_projector
from tf_transformer.callbacks.board.texts import code, data_report, samples_table
from tf_transformer.callbacks.probe import Probe, curves_of
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.evaluation import Outcome

MINUTES_BETWEEN_VECTORS = 10.0
WORTH_DRAWING = 10.0
"""Seconds of a training from which on each picture is drawn once, at its end if not before."""
_HISTOGRAM = 0.003, 1_500
"""What the histograms of one part take, in seconds and bytes."""
_VECTORS = 0.5
_PEAK = 1.0


class TensorBoardEvents(keras.callbacks.Callback):
    """Writes what the probe has found every few updates, and all figures at each validation.

    Args:
        state: Read for the step and the time.
        folder: ``tensorboard/`` of the run.
        about: What belongs to the whole run.
        report: Told of what cannot be shown: its kind and one line.
        share: Of the time of the training that may be taken.

    Attributes:
        allowance: What may be taken, and has been.
        probe: Gathers the figures of updates; to be put before `Validation` in the list of callbacks.

    Raises:
        OSError: From all methods, when the disk takes no more.
    """

    def __init__(
        self,
        state: TrainingState,
        folder: Path,
        about: About | None = None,
        report: Callable[[str, str], None] | None = None,
        *,
        every: int = 20,
        share: float = SHARE,
    ) -> None:
        super().__init__()
        self.state = state
        self.folder = folder
        self.about = about or About()
        self.allowance = Allowance(lambda: state.seconds, bytes_in(folder), share)
        self.probe = Probe(state, self.allowance, every=every)
        self.train, self.dev = (EventFile(folder / name, self.allowance) for name in ("train", "dev"))
        self.results = Results(folder, self.allowance)
        self._pictures = Pictures(self.dev, self.about.pictures, report)
        self._last_pictures: tuple[int, Mapping[str, Draw]] = (state.step, {})
        self._answers: dict[str, str] = {}
        self._vectors_at: float | None = None
        self._has_histograms = False
        self._is_laid_out = False

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        about = self.about
        self.results.begin(about.name, about.values)
        if self.state.step == 0:
            if self.probe.changes is not None:
                self.train.scalars(0, {"update/weights": self.probe.changes.length})
            self.train.text(0, "recipe", code(about.recipe))
            self.train.text(0, "data", data_report(about.report, about.lengths))
        for file in (self.train, self.results.file):
            file.flush()

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        point = self.probe.point
        if point is not None:
            with self.allowance.spending():
                self.train.scalars(self.state.step, point)

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Writes the figures of one validation, its samples, and what there is time for."""
        step, state = self.state.step, self.state
        with self.allowance.spending():
            known = self.probe.point or {}
            figures = training_scalars(record)
            self.train.scalars(step, {tag: value for tag, value in figures.items() if tag not in known})
            named = {name.removeprefix("val_"): value for name, value in outcome.figures.items()}
            self.dev.scalars(step, {f"quality/{name}": value for name, value in named.items()})
            if state.best_step == step:
                self.results.figures(step, outcome.figures)
            if outcome.samples and self.allowance.has_room():
                self.dev.text(step, "answers", samples_table(outcome.samples, self._answers))
                self._answers = {one.source: one.output for one in outcome.samples}
            self._histograms()
            if "update/ratio" in self.train.tags:  # what an update tells is there, and a validation's figures
                self._lay_out()
        self._last_pictures = step, outcome.pictures
        self._pictures.draw(step, outcome.pictures)
        self._vectors()
        self._measure_peak()
        for file in (self.train, self.dev):
            file.flush()
        self.probe.on_validation(record, outcome)

    def _lay_out(self) -> None:
        """Says which curves belong together, once all are there."""
        if not self._is_laid_out:
            self._is_laid_out = True
            self.results.file.raw(self.state.step, layout(self.train.tags | self.dev.tags))
            self.results.file.flush()

    def _histograms(self) -> None:
        changes = self.probe.changes
        if changes is None or not changes.parts:
            return
        seconds, size = (each * 2 * len(changes.parts) for each in _HISTOGRAM)
        # A run that is over has them once, however short it was.
        is_last_chance = self.state.ended is not None and not self._has_histograms
        if is_last_chance or self.allowance.has_room_for(seconds, size):
            self._has_histograms = True
            self.train.histograms(self.state.step, changes.samples())

    def _vectors(self) -> None:
        """Writes the vectors of tokens anew, now and then."""
        before, now = self._vectors_at, self.state.seconds
        late = before is None or now - before >= 60 * MINUTES_BETWEEN_VECTORS
        if late and self.allowance.has_room_for(_VECTORS, 0):
            with self.allowance.spending():
                self._write_vectors()

    def _write_vectors(self) -> None:
        self._vectors_at = self.state.seconds
        write_projector(self.results.file.folder, self.about.embeddings())

    def _measure_peak(self) -> None:
        measure = self.about.measure_peak
        if self.probe.peak is None and measure is not None and self.allowance.has_room_for(_PEAK, 0):
            with self.allowance.spending():
                self.probe.peak = measure()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        if self.state.ended is not None:  # who has interrupted it does not want to wait
            if self.state.seconds >= WORTH_DRAWING:
                self._pictures.draw_rest(*self._last_pictures)
            self._write_vectors()
        self._lay_out()
        for file in (self.train, self.dev, self.results.file):
            file.close()


def training_scalars(record: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of the training side in a line of ``metrics.jsonl``, by tag."""
    names = {
        "loss": "quality/loss",
        "train_perplexity": "quality/perplexity",
        "train_accuracy": "quality/accuracy",
        "learning_rate": "update/learning_rate",
        "gradient_norm": "update/gradient_norm",
        "skipped_updates": "update/skipped",
    }
    found = {tag: record[name] for name, tag in names.items() if name in record}
    return found | curves_of(
        {name: value for name, value in record.items() if name.endswith(("_padding", "_per_second"))}
    )
