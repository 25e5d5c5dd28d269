"""Versions come and go: whole ones only, beside the old one, and nothing that was begun is lost."""

import os
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from toy_server import Toys, write_version

from tf_transformer.errors import ExportError
from tf_transformer.manifest import read_manifest, write_manifest
from tf_transformer.serving.fault import Code, Fault
from tf_transformer.serving.model_host import ModelHost, Phase


class Hosted:
    """A host of toys, and what it has said."""

    def __init__(self, folder: Path) -> None:
        self.toys = Toys()
        self.said: list[str] = []
        self.host = ModelHost("toy", folder, self.toys.load, self.said.append)

    @property
    def number(self) -> int:
        assert self.host.current is not None
        return self.host.current.number

    def phases(self) -> dict[int, Phase]:
        return {number: status.phase for number, status in self.host.statuses("toy", None).items()}


@pytest.fixture
def hosted(tmp_path: Path) -> Hosted:
    write_version(tmp_path, 1)
    found = Hosted(tmp_path)
    found.host.open()
    return found


def test_the_newest_by_number_is_opened_and_warm(tmp_path: Path) -> None:
    for number in (2, 10, 9):
        write_version(tmp_path, number)
    (tmp_path / "notes").mkdir()
    found = Hosted(tmp_path)
    assert found.host.open().number == 10
    assert found.said == ["version 10 is served: checkpoint step-10"]
    assert list(found.toys.loaded) == [10]
    assert found.toys.loaded[10].signatures["serving_default"].sizes == [2]
    assert found.host.find("toy", None) is found.host.find("toy", 10)


def test_a_version_is_served_by_itself(tmp_path: Path) -> None:
    write_version(tmp_path, 3)
    write_version(tmp_path, 4)
    found = Hosted(tmp_path / "3")
    assert found.host.open().number == 3
    found.host.look()
    assert found.number == 3


@pytest.mark.parametrize("content", ["nothing", "broken", "cut"])
def test_without_any_version_nothing_is_opened(tmp_path: Path, content: str) -> None:
    found = Hosted(tmp_path)
    messages = {"nothing": "no exported model is here", "broken": "a broken toy", "cut": "has 7 of 9 bytes"}
    if content != "nothing":
        write_version(tmp_path, 1)
    if content == "broken":
        found.toys.broken.add(1)
    if content == "cut":
        manifest = read_manifest(tmp_path / "1")
        files = {**manifest.files, "variables/data": 9}
        write_manifest(tmp_path / "1", manifest.model_copy(update={"files": files}))
    with pytest.raises(ExportError, match=messages[content]):
        found.host.open()


def test_a_new_version_takes_over_and_the_old_one_ends_what_it_has_begun(
    hosted: Hosted, tmp_path: Path
) -> None:
    old = hosted.host.find("toy", None)
    old.begin()
    write_version(tmp_path, 2)
    hosted.host.look()
    assert hosted.number == 2
    assert hosted.phases() == {2: Phase.AVAILABLE, 1: Phase.UNLOADING}
    with pytest.raises(Fault, match=r"toy is served in version 2\. Received: 1"):
        hosted.host.find("toy", 1)
    old.end()
    hosted.host.look()
    assert hosted.phases() == {2: Phase.AVAILABLE, 1: Phase.END}
    assert hosted.said[1:] == ["version 2 is served: checkpoint step-2", "version 1 is unloaded"]


@pytest.mark.parametrize("order", ["manifest last", "manifest first"])
def test_a_version_that_is_being_copied_is_not_loaded(hosted: Hosted, tmp_path: Path, order: str) -> None:
    whole = write_version(tmp_path / "elsewhere", 2, b"w" * 90)
    names = ["saved_model.pb", "variables/data", "manifest.json"]
    part = tmp_path / "2"
    (part / "variables").mkdir(parents=True)
    for name in names if order == "manifest last" else reversed(names):
        content = (whole / name).read_bytes()
        (part / name).write_bytes(content[: len(content) // 2])
        hosted.host.look()
        assert hosted.number == 1
        (part / name).write_bytes(content)
        hosted.host.look()
    assert hosted.number == 2 and list(hosted.toys.loaded) == [1, 2]
    notes = [line for line in hosted.said if "is not whole yet, version 1 is served: " in line]
    assert len(notes) == 1  # and not one a look


def test_an_export_that_does_not_say_its_sizes_must_have_come_to_rest(hosted: Hosted, tmp_path: Path) -> None:
    version = write_version(tmp_path, 2)
    write_manifest(version, read_manifest(version).model_copy(update={"files": {}}))
    hosted.host.look()
    assert hosted.number == 1
    (version / "variables" / "data").write_bytes(b"more")
    hosted.host.look()
    assert hosted.number == 1
    hosted.host.look()
    assert hosted.number == 2


def test_a_broken_version_is_told_once_and_tried_again_when_it_changes(
    hosted: Hosted, tmp_path: Path
) -> None:
    hosted.toys.broken = {3}
    write_version(tmp_path, 2)
    version = write_version(tmp_path, 3)
    for _ in range(3):
        hosted.host.look()
    assert hosted.number == 2
    (note,) = [line for line in hosted.said if "is not loaded" in line]
    assert re.fullmatch(r"version 3 is not loaded, version 1 is served: .*/3: cannot be .*toy\)", note)
    assert hosted.host.statuses("toy", 3)[3].fault.endswith("(a broken toy)")
    hosted.toys.broken = set()
    hosted.host.look()
    assert hosted.number == 2
    os.utime(version / "saved_model.pb", ns=(1, 1))
    hosted.host.look()
    assert hosted.number == 3


def test_a_version_whose_graph_fails_is_not_served(hosted: Hosted, tmp_path: Path, monkeypatch: Any) -> None:
    from toy_server import Toy

    def fail(self: Toy, text: Any) -> Any:
        import tensorflow as tf

        raise tf.errors.DataLossError(None, None, "a file is damaged")

    monkeypatch.setattr(Toy, "answer", fail)
    write_version(tmp_path, 2)
    hosted.host.look()
    assert hosted.number == 1
    assert hosted.said[-1] == "version 2 is not loaded, version 1 is served: a file is damaged"


def test_what_was_made_up_to_warm_it_says_nothing_against_a_version(
    hosted: Hosted, tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("tf_transformer.serving.warm_up.TEXT", b"poison")
    write_version(tmp_path, 2)
    hosted.host.look()
    assert hosted.number == 2
    assert hosted.said[1] == "version 2 is not warmed up: poison is no word"


def test_a_version_that_is_taken_away_goes_back_to_the_one_before(hosted: Hosted, tmp_path: Path) -> None:
    write_version(tmp_path, 2)
    hosted.host.look()
    shutil.rmtree(tmp_path / "2")
    hosted.host.look()
    assert hosted.number == 1
    shutil.rmtree(tmp_path / "1")
    hosted.host.look()
    shutil.rmtree(tmp_path)
    hosted.host.look()
    assert hosted.number == 1  # the last one serves on


def test_what_is_remembered_of_versions_is_bounded(
    hosted: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tf_transformer.serving.model_host._REMEMBERED", 2)
    for number in range(2, 7):
        write_version(tmp_path, number)
        hosted.host.look()
        shutil.rmtree(tmp_path / str(number - 1))
    hosted.host.look()
    assert list(hosted.phases()) == [6, 5, 4]


def test_what_is_not_there_is_not_found(hosted: Hosted) -> None:
    for ask in (hosted.host.find, hosted.host.statuses):
        with pytest.raises(Fault, match=r"the model here is toy\. Received: other") as found:
            ask("other", None)
        assert found.value.code is Code.NOT_FOUND
        with pytest.raises(Fault, match="Received: 5") as found:
            ask("toy", 5)
        assert found.value.code is Code.NOT_FOUND


def test_a_fault_of_a_look_does_not_end_the_watch(hosted: Hosted, tmp_path: Path, monkeypatch: Any) -> None:
    from toy_server import until

    from tf_transformer.serving import model_host

    good = model_host.versions_in
    faults = [RuntimeError("odd"), RuntimeError("odd")]

    def look(folder: Path) -> Any:
        if faults:
            raise faults.pop()
        return good(folder)

    monkeypatch.setattr(model_host, "versions_in", look)
    write_version(tmp_path, 2)
    hosted.host.watch(0.01)
    until(lambda: hosted.number == 2)
    hosted.host.close()
    assert hosted.said[1] == f"{tmp_path}: cannot be looked through (odd)"


def test_a_version_may_fail_in_any_way(hosted: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(folder: Path) -> Any:
        raise ValueError("what nobody\nhas thought of")

    monkeypatch.setattr(hosted.host, "_load", broken)
    write_version(hosted.host.folder, 2)
    for _ in range(3):
        hosted.host.look()
    told = "version 2 is not loaded, version 1 is served: what nobody"
    assert hosted.said[1:] == [told] and hosted.number == 1  # and it is not tried again and again
    assert hosted.phases() == {2: Phase.END, 1: Phase.AVAILABLE}


def recorded(version: Path, content: bytes | None = None) -> None:
    """Puts a request beside a version, as an export does."""
    from tf_transformer.export.warm_up_requests import prediction_log
    from tf_transformer.tasks.example_inputs import WARM_UP

    (version / WARM_UP).parent.mkdir()
    path = str(version / WARM_UP)
    with tf.io.TFRecordWriter(path) as file:
        inputs = {"text": np.array([b"one", b"two", b"three"], object)}
        file.write(prediction_log("any", "serving_default", inputs) if content is None else content)


def test_requests_beside_a_version_are_played(hosted: Hosted, tmp_path: Path) -> None:
    recorded(write_version(tmp_path, 2))
    hosted.host.look(patient=False)
    assert hosted.number == 2
    signatures = hosted.toys.loaded[2].signatures
    assert signatures["serving_default"].sizes == [3]
    assert signatures["twice"].sizes == [2]  # made up, since there is no request for it


def test_damaged_requests_say_nothing_against_a_version(hosted: Hosted, tmp_path: Path) -> None:
    recorded(write_version(tmp_path, 2), content=b"\xff\xff")
    hosted.host.look(patient=False)
    assert hosted.number == 2
    assert hosted.said[1].startswith("version 2 is not warmed up: assets.extra/tf_serving_warmup_requests")
