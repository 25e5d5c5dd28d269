"""What cannot work is refused before TensorFlow is imported, with what the user wrote; and odd streams."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest
from pydantic import ValidationError

from tf_transformer.cli import answers, exports, main, prediction, scores, training
from tf_transformer.cli.texts import _write
from tf_transformer.manifest import Manifest, write_manifest
from tf_transformer.presets import LONGEST_ANSWER, MOST_HYPOTHESES
from tf_transformer.recipe.translate import TranslateDecoding, TranslateTraining

Captured = pytest.CaptureFixture[str]


def heavy() -> NoReturn:
    raise AssertionError("this comes too late")


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A folder with a file, a folder that is no run, a run and a sound recipe; TensorFlow is out of reach."""
    for module in (answers, exports, prediction, scores, training):
        monkeypatch.setattr(module, "quiet_import", heavy)
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    Path("thesis").mkdir()
    Path("thesis/chapter").touch()
    Path("run").mkdir()
    Path("b").mkdir()
    Path("b/results").touch()
    for name in ("recipe.yaml", "versions.json"):
        Path("run", name).touch()
    Path("exp/1").mkdir(parents=True)
    Path("exp/1/saved_model.pb").touch()
    manifest = Manifest(task="translate", signatures=("serving_default",), verification={})
    write_manifest(Path("exp/1"), manifest)
    Path("a.tsv").write_text("source\ttarget\n")
    Path("r.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.1}}\ntraining: {steps: 5}\n"
    )

    Path("b/r.yaml").write_text(Path("r.yaml").read_text().replace("a.tsv", "../a.tsv"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train r.yaml --run file", "Invalid value for --run: file is a file"),
        ("train r.yaml --run file/x", "file/x must be a folder or not there yet, and file is a file"),
        ("train r.yaml --run thesis", "thesis: is no run and not empty (chapter is in it)"),
        ("train r.yaml --run thesis --fresh", "thesis: is no run and not empty (chapter is in it)"),
        ("train b/r.yaml --record", "Invalid value for --record: b/results is a file"),
        (
            "predict run --checkpoint bogus",
            "'--checkpoint': checkpoint must be best, last, average or a step",
        ),
        (
            "predict run --devices gpu:0",
            "must be auto, or a kind and a number such as cpu:2 and gpu:4. Received:",
        ),
        ("evaluate exp --devices gpu:2", "--devices: is for runs, and exp is an exported model"),
        ("evaluate run --checkpoint -1", "must be best, last, average or a step. Received: -1"),
        ("export run out --checkpoint 1e3", "must be best, last, average or a step. Received: 1e3"),
        ("predict run --output no/such/dir/o", "'--output': no/such/dir/o: there is no folder no/such/dir"),
        ("predict run --output .", "'--output': . is a folder, and answers go to a file"),
        ("evaluate run --output file/o", "file/o: there is no folder file"),
        ("evaluate run --output no/o.gz", "no/o.gz: there is no folder no"),
        ("predict run --beam 1001", "'--beam': must be from 1 to 1000. Received: 1001"),
        ("predict run --n-best 100000", "'--n-best': must be from 1 to 1000. Received: 100000"),
        ("predict run --length-penalty nan", "'--length-penalty': must be from 0 to 100. Received: nan"),
        ("predict run --length-penalty inf", "must be from 0 to 100. Received: inf"),
        ("predict run --max-length 1000001", "must be from 1 to 1000000. Received: 1000001"),
        ("average run --last 0", "'--last': must be from 1 to 1000. Received: 0"),
        ("export run file", "Invalid value for DIR: file is a file"),
        ("export run run", "Invalid value for DIR: run: is the folder of a run"),
        ("export run exp/1", "Invalid value for DIR: exp/1: is an exported version; name the folder that"),
        ("predict exp --beam 2", "Invalid value for --beam: is for runs, and exp is an exported model"),
        ("predict exp/1 --length-penalty 0", "--length-penalty: is for runs, and exp/1 is an exported model"),
        ("predict exp --max-length 5", "--max-length: is for runs, and exp is an exported model"),
        ("evaluate exp --checkpoint last", "--checkpoint: is for runs, and exp is an exported model"),
        ("evaluate exp", "exp: an exported model has no data: name --source and --target"),
    ],
)
def test_a_command_that_cannot_work(words: str, message: str, capsys: Captured) -> None:
    assert main(words.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1 and message in shown.err
    assert sorted(os.listdir()) == ["a.tsv", "b", "exp", "file", "r.yaml", "run", "thesis"]


def test_the_bounds_of_the_search_are_the_recipes() -> None:
    for name, most in (
        ("beam", MOST_HYPOTHESES),
        ("max_length_margin", LONGEST_ANSWER),
        ("length_penalty", 100),
    ):
        assert getattr(TranslateDecoding(**{name: most}), name) == most
        with pytest.raises(ValidationError, match=f"less than or equal to {most}"):
            TranslateDecoding(**{name: most + 1})
    assert TranslateTraining(keep=training.MOST_KEPT).keep == training.MOST_KEPT
    with pytest.raises(ValidationError, match="less than or equal to 1000"):
        TranslateTraining(keep=training.MOST_KEPT + 1)


def test_quiet_keeps_the_notes_of_a_recipe_back(capsys: Captured) -> None:
    assert main(["train", "r.yaml"]) == 1
    assert "r.yaml: note: training.schedule.warmup_steps (1000)" in capsys.readouterr().err
    assert main(["train", "r.yaml", "--quiet"]) == 1
    assert capsys.readouterr().err == "AssertionError: this comes too late (--debug shows where)\n"


def test_what_a_terminal_would_obey_is_written_out(capsys: Captured) -> None:
    assert main(["check", "no\x1b[31m\u202e.yaml"]) == 2
    assert capsys.readouterr().err == "no\\x1b[31m\\u202e.yaml: there is no such recipe\n"
    assert main(["check", "r.yaml", "model.dro\x9bp=\x07", "text.model=\x7f"]) == 2
    shown = capsys.readouterr().err
    assert "model.dro\\x9bp" in shown and "\\x7f" in shown
    assert shown.replace("\n", "").isprintable()
    assert main(["ver\x1bb"]) == 2
    assert "No such command 'ver\\x1bb'" in capsys.readouterr().err
    assert main(["evaluate", "run\n\x1b"]) == 1  # comes too late, and is a path with a line end
    assert capsys.readouterr().err.count("\n") == 1


def test_the_end_of_a_file_is_an_error_and_no_person_who_gives_up(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def cut() -> NoReturn:
        raise EOFError("Compressed file ended")

    monkeypatch.setattr("tf_transformer.recipe.json_schema", cut)
    assert main(["schema"]) == 1
    assert capsys.readouterr().err.strip() == "EOFError: Compressed file ended (--debug shows where)"


def shell(command: str) -> subprocess.CompletedProcess[str]:
    program = f"{sys.executable} -m tf_transformer"
    return subprocess.run(
        ["bash", "-c", command.replace("PROGRAM", program)], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("command", "code", "out", "err"),
    [
        ("PROGRAM schema >&-", 1, "", "standard output: is closed\n"),
        ("PROGRAM predict run < file >&-", 1, "", "standard output: is closed\n"),
        ("PROGRAM predict run <&-", 1, "", "standard input: is closed\n"),
        ("PROGRAM check nowhere.yaml <&- >&- 2>&-", 2, "", ""),
        ("PROGRAM recipe 2>&- | head -n 1; exit ${PIPESTATUS[0]}", 0, "# A complete recipe. Keys that", ""),
    ],
)
def test_standard_streams_that_are_closed(command: str, code: int, out: str, err: str) -> None:
    done = shell(command)
    assert (done.returncode, done.stderr) == (code, err)
    assert done.stdout.startswith(out) and bool(done.stdout) == bool(out)


def test_closed_descriptors_are_not_given_to_files_and_a_closed_stdin_says_so() -> None:
    script = (
        "import os, sys\n"
        "from tf_transformer.cli.streams import hold_standard_streams\n"
        "hold_standard_streams()\n"
        "file = open('file')\n"
        "try:\n"
        "    sys.stdin.buffer.readline()\n"
        "except OSError as error:\n"
        "    print(error.filename, error.strerror, file.fileno() > 2, sys.stdin.isatty(), file=sys.stdout)\n"
        "print('lost', file=sys.stderr)\n"
    )
    done = subprocess.run(
        ["bash", "-c", '"$0" -c "$1" <&- 2>&-', sys.executable, script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "standard input is closed True False\n")


def test_a_file_that_is_cut_is_named(capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("cut.gz").write_bytes(gzip.compress(b"a\n" * 999)[:-12])
    from tf_transformer.cli.texts import reading

    def read() -> None:
        with reading(Path("cut.gz")) as groups:
            list(groups)

    monkeypatch.setattr("tf_transformer.recipe.json_schema", read)
    assert main(["schema"]) == 1
    assert capsys.readouterr().err.startswith("cut.gz: must be a whole gzip file, as its name says; ")


@pytest.mark.parametrize(
    "module", ["typer", "tensorflow"], ids=["while it starts", "while TensorFlow starts"]
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_during_an_import_is_quiet(tmp_path: Path, module: str, number: int) -> None:
    # A module in the place of the real one, which says that it is being imported and takes its time.
    (tmp_path / f"{module}.py").write_text(
        "import sys, time\nprint('importing', flush=True)\nprint('noise', file=sys.stderr)\ntime.sleep(60)\n"
    )
    script = (
        "import signal, sys\n"
        # A shell starts background jobs with the signal ignored, and children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.path.insert(0, sys.argv.pop(1))\n"
        "from tf_transformer.cli import main\n"
        "sys.exit(main(['predict', 'run', '--input', 'file']))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "importing\n"
        time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert errors == ("noise\n" if module == "typer" else "")


def test_sigterm_leaves_no_half_written_file(tmp_path: Path) -> None:
    script = (
        "import sys, tf_transformer.recipe\n"
        "from pathlib import Path\n"
        "from tf_transformer.cli import main\n"
        "from tf_transformer.cli.texts import writing\n"
        "def write():\n"
        "    with writing(Path('out.txt')) as lines:\n"
        "        lines(['half'])\n"
        "        print('waiting', flush=True)\n"
        "        sys.stdin.read()\n"
        "tf_transformer.recipe.json_schema = write\n"
        "sys.exit(main(['schema']))\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (143, "")
    assert not [path for path in tmp_path.iterdir() if "out.txt" in path.name]


def test_a_full_disk_is_told_with_the_files_name() -> None:
    class Full:
        def write(self, content: bytes) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as caught:
        _write(Full(), ["a"], "out.txt")
    assert caught.value.filename == "out.txt"
