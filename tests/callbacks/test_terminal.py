"""What a person sees: a table of validations, lines, and a bar on a terminal alone."""

import errno
import io
import os
import sys
from typing import Any

import pytest

from tf_transformer.build.translation import TranslationProblem
from tf_transformer.callbacks import terminal as module
from tf_transformer.callbacks.advance import Limits
from tf_transformer.callbacks.state import TrainingState
from tf_transformer.callbacks.terminal import Terminal
from tf_transformer.errors import clock
from tf_transformer.evaluation import Outcome

HEADINGS = TranslationProblem.HEADINGS
RECORD = {
    "step": 12000,
    "loss": 2.34567,
    "val_loss": 3.0,
    "val_perplexity": 12.345,
    "val_accuracy": 0.6789,
    "val_bleu": 31.415,
    "target_tokens_per_second": 9876.5,
    "seconds": 3725.0,
}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.9, "0:59"), (60, "1:00"), (754, "12:34"), (3600, "1:00:00"), (360005, "100:00:05")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text


def test_validations_are_rows_of_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(TrainingState(), HEADINGS)
    terminal.on_validation(RECORD, Outcome({}))
    terminal.on_validation({**RECORD, "step": 24000, "val_bleu": None}, Outcome({}))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.split("\n") == [
        "   update    loss dev loss dev ppl accuracy   BLEU tokens/s    time",
        "   12,000   2.346    3.000   12.35    67.9%  31.41    9,876 1:02:05",
        "   24,000   2.346    3.000   12.35    67.9%      -    9,876 1:02:05",
        "",
    ]


def test_text_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    line = "[red]a[/red] " + "long " * 60 + ":smile:"
    Terminal(TrainingState(), HEADINGS).say(line)
    assert capsys.readouterr().err == line + "\n"


def test_quiet_prints_nothing(
    training: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    terminal = Terminal(TrainingState(step=5), HEADINGS, quiet=True)
    terminal.set_model(training)
    terminal.on_train_begin()
    terminal.say("hello")
    terminal.on_train_batch_end(0, {"loss": 1.0})
    terminal.on_validation(RECORD, Outcome({}))
    terminal.on_train_end()
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ENOSPC, errno.EIO])
def test_nobody_who_looks_on_is_no_reason_to_stop(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            raise OSError(number, os.strerror(number))

    stream = Closed()
    monkeypatch.setattr(sys, "stderr", stream)
    terminal = Terminal(TrainingState(), HEADINGS)
    for _ in range(3):
        terminal.say("a line")
    assert stream.writes == 1


def test_without_a_terminal_there_is_no_bar(training: Any, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal(TrainingState(step=5), HEADINGS)
    terminal.set_model(training)
    terminal.on_train_begin()
    terminal.on_train_batch_end(0, {"loss": 1.0})
    terminal.on_train_end()
    assert capsys.readouterr() == ("", "")


def test_the_bar_says_loss_speed_and_time_left(training: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    state = TrainingState(step=0)
    terminal = Terminal(state, HEADINGS)
    terminal.limits, terminal.batches_in_epoch = Limits(steps=100, epochs=5), 10
    terminal.set_model(training)
    terminal.on_train_begin()
    assert terminal._bar is not None
    try:
        # A quarter of the updates, half of the epochs: the nearer limit counts, so 60 s are left.
        state.step, state.epoch, state.batch, state.seconds = 25, 2, 5, 60.0
        training.sums["target_tokens"], now[0] = 3000.0, 102.0
        terminal.on_train_batch_end(0, {"loss": 1.23456})
        (task,) = terminal._bar.tasks
        assert task.description == "update 25 · loss 1.235 · 1,500 tokens/s · 1:00 left"
        assert task.completed == 0.5
        # A validation clears the sums: the speed is never that of a negative number of tokens.
        terminal.on_validation(RECORD, Outcome({}))
        training.sums["target_tokens"], now[0], state.step = 500.0, 104.0, 30
        terminal.on_train_batch_end(0, {"loss": 1.0})
        assert "· 250 tokens/s ·" in terminal._bar.tasks[0].description
        # What was best before is known as soon as a training goes on.
        terminal.measure, state.best, state.step = "val_bleu", 31.415, 35
        terminal.on_train_batch_end(0, {"loss": 1.0})
        assert terminal._bar.tasks[0].description.startswith("update 35 · loss 1.000 · best BLEU 31.41 · 250")
        terminal.measure = "val_rouge_l"  # of which the table has no column
        assert terminal._best() == " · best rouge l 31.41"
    finally:
        terminal.on_train_end()
