"""Pictures for TensorBoard: figures that are drawn when there is time for them."""

import io
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tf_transformer.callbacks.board.event_files import EventFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[[], "Figure"]
DOTS = 80
"""Of an inch: a screen's, not a printer's."""
SECONDS, SIZE = 0.6, 60_000
"""What a picture takes before one was drawn, in time and in bytes."""


class Pictures:
    """Draws pictures as the allowance permits: first those that were never drawn, or not for long.

    Args:
        file: Where they go.
        once: Those of the whole run, by tag, each drawn once.
        report: Told of one that cannot be drawn, which no training ends for: its kind and one line.
    """

    def __init__(
        self, file: EventFile, once: Mapping[str, Draw], report: Callable[[str, str], None] | None = None
    ) -> None:
        self.file = file
        self.once = dict(once)
        self.report = report or (lambda kind, line: None)
        self._failed: set[str] = set()
        self._drawn: dict[str, int] = {}
        self._seconds, self._size = SECONDS, float(SIZE)

    def draw(self, step: int, pictures: Mapping[str, Draw]) -> None:
        """Draws as many as there is room for.

        Args:
            step: The update that the pictures show.
            pictures: Those of this moment, by tag; what is not drawn now comes at another one.

        Raises:
            OSError: When the disk takes no more.
        """
        wanted = self.once | dict(pictures)
        for tag in sorted(wanted, key=lambda tag: self._drawn.get(tag, -1)):
            if not self.file.allowance.has_room_for(self._seconds, self._size):
                return
            self._draw(tag, 0 if tag in self.once else step, wanted[tag])
            self.once.pop(tag, None)
            self._drawn[tag] = step

    def draw_rest(self, step: int, pictures: Mapping[str, Draw]) -> None:
        """Draws those that never were, whatever they take; for the end of a training.

        Args:
            step: The update that the pictures show.
            pictures: Those of the last validation, by tag.

        Raises:
            OSError: When the disk takes no more.
        """
        for tag, draw in (self.once | dict(pictures)).items():
            if tag not in self._drawn:
                self._draw(tag, 0 if tag in self.once else step, draw)

    def _draw(self, tag: str, step: int, draw: Draw) -> None:
        if tag in self._failed:
            return
        begin = time.perf_counter()
        with self.file.allowance.spending():
            try:
                png = to_png(draw())
            except Exception as error:  # whatever it is: the training is worth more than the picture
                self._failed.add(tag)
                self.report("picture", f"{tag} cannot be drawn: {' '.join(str(error).split())[:200]}")
                return
            self.file.image(step, tag, png)
            from tf_transformer.plots.fonts import missing_note  # now that Matplotlib is there

            if note := missing_note():
                self.report("picture", note)
        # The first one also imports what draws: half of what it seemed to take is enough to go by.
        self._seconds = 0.5 * (self._seconds + time.perf_counter() - begin)
        self._size = 0.5 * (self._size + len(png))


def to_png(figure: "Figure") -> bytes:
    """The contents of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DOTS)
    return buffer.getvalue()
