"""Labels as lines: one a line in, whatever a label is made of, and few words about many empty lines."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tf_transformer.build import LoadedRun
from tf_transformer.cli.classification import TextClassificationFace
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks import Answer

LINES: dict[str, Any] = {"json": False, "scores": False}


class Task:
    """Stands for a classifier, a label of which is no line."""

    side = SimpleNamespace(special_tokens=())
    labels = ("up\nwards", "down")

    def answers(self, texts: list[str]) -> list[Answer]:
        return [
            Answer("up\nwards", 0.75, (0.75, 0.25)) if text else Answer("", 0.0, (0, 0)) for text in texts
        ]

    def count_cut(self, texts: list[str]) -> int:
        return 0


@pytest.fixture
def face(tmp_path: Path) -> TextClassificationFace:
    problem: Any = None
    return TextClassificationFace(LoadedRun(RunFolder(tmp_path), problem, Task(), "last", 7))


def test_a_label_is_one_line(face: TextClassificationFace) -> None:
    assert [*map(list, face.answers(["a"], LINES))] == [["up wards"]]
    assert [*map(list, face.answers(["a"], {**LINES, "scores": True}))] == [["0.7500\tup wards"]]


def test_many_lines_without_a_label_are_counted(face: TextClassificationFace) -> None:
    assert len(list(face.answers([""] * 13, LINES))) == 13
    *told, last = face.remarks()
    assert told == [f"line {number}: is empty: it has no label" for number in range(1, 11)]
    assert last == "and 3 further lines without a label"
