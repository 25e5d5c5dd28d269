"""Pictures for TensorBoard, and what is said of them."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

from tf_transformer.callbacks.board.pictures import Pictures
from tf_transformer.plots import fonts


def test_letters_that_no_font_has_are_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "_families", {"中": None, "U": fonts.DEFAULT})
    monkeypatch.setattr(fonts, "_untold", {"中": None})
    drawn: list[tuple[int, str]] = []
    told: list[tuple[str, str]] = []
    allowance = SimpleNamespace(has_room_for=lambda seconds, size: True, spending=nullcontext)
    file: Any = SimpleNamespace(allowance=allowance, image=lambda step, tag, png: drawn.append((step, tag)))
    pictures = Pictures(file, {}, lambda kind, line: told.append((kind, line)))

    def titled() -> Figure:
        figure = Figure(figsize=(1, 1))
        fonts.put(figure.suptitle, "中")
        return figure

    pictures.draw(5, {"views/a": titled, "views/b": titled})
    pictures.draw(6, {"views/a": titled})
    assert drawn == [(5, "views/a"), (5, "views/b"), (6, "views/a")]
    ((kind, line),) = told
    assert kind == "picture" and line.startswith("no font of this machine has 中, so code points")
