"""The program: help, exit codes, and errors on one line."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tf_transformer.cli import main
from tf_transformer.errors import DataError
from tf_transformer.recipe import RECIPES

VERBS = (
    *("train", "evaluate", "predict", "score", "compare", "average", "adapter", "export", "serve"),
    *("check", "schema", "recipe", "inspect", "prepare", "runs", "doctor"),
)
PLOTS = (
    *("curves", "attention", "confusion", "rollout"),
    *("schedule", "lr-range", "positions", "lengths"),
)
PROGRAM = Path(sys.executable).with_name("tf-transformer")


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from tf_transformer.cli import main\n"
        "code = main(['--help'])\n"
        "heavy = {'tensorflow', 'keras', 'numpy', 'pydantic', 'yaml', 'rich'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else code)\n"
    )
    seconds = []
    for _ in range(3):
        start = time.monotonic()
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
        seconds.append(time.monotonic() - start)
        assert done.returncode == 0, done.stderr
    assert all(verb in done.stdout for verb in VERBS)
    assert min(seconds) < 0.5


@pytest.mark.parametrize("verb", [*VERBS, "runs diff", *(f"plot {kind}" for kind in PLOTS)])
def test_each_verb_has_help_with_an_example(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*verb.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"Usage: tf-transformer {verb}" in shown
    assert "Example:" in shown and f"tf-transformer {verb}" in shown.partition("Example:")[2]
    assert "--debug" in shown


def test_the_verbs_are_those_that_work(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    listed = capsys.readouterr().out.partition("Commands:\n")[2].split("\n\n")[0]
    groups = ["import", "plot"]
    assert sorted(line.split()[0] for line in listed.split("\n")) == sorted([*VERBS, *groups])
    main(["plot", "--help"])
    listed = capsys.readouterr().out.partition("Commands:\n")[2].split("\n\n")[0]
    assert tuple(line.split()[0] for line in listed.split("\n") if line) == PLOTS


def test_no_verb_at_all_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Commands:" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["trian"], "No such command 'trian'"),
        (["check"], "Missing argument 'RECIPE'"),
        (["check", "--loud", "x"], "No such option: --loud"),
        (["predict", "r", "--beam", "0"], "Invalid value for '--beam'"),
        (["predict", "r", "--beam", "2", "--n-best", "3"], "must be at most --beam, which is 2"),
        (["predict", "r", "--louder"], "No such option: --louder"),
        (["train", "r", "--dry-run"], "No such option: --dry-run"),
        (["train", "r", "--reset", "all"], "'all' is not one of 'optimizer', 'schedule', 'data'"),
        (["evaluate", "r", "--target", "x"], "--source and --target must be given together"),
        (["evaluate", "r", "--split", "train"], "'train' is not one of"),
        (["train", "r", "--fresh", "--reset", "data"], "give --fresh or --reset, not both"),
        (["average", "r", "--last", "2", "--best", "2"], "give --last or --best, not both"),
        (["export", "r", "d", "--format", "onnx"], "'onnx' is not one of 'savedmodel'"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and shown.err.count("\n") == 1
    assert message in shown.err


def failing(error: BaseException) -> Callable[..., NoReturn]:
    def fail(*_: object, **__: object) -> NoReturn:
        raise error

    return fail


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (DataError("a.en:3: bad"), 1, "a.en:3: bad"),
        (FileNotFoundError(2, "No such file or directory", "x.txt"), 1, "x.txt: No such file or directory"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (ValueError("two\n  lines"), 1, "ValueError: two lines (--debug shows where)"),
        (ValueError("x" * 999), 1, f"ValueError: {'x' * 400} … (--debug shows where)"),
    ],
)
def test_errors_are_one_line(
    error: Exception,
    code: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("tf_transformer.recipe.json_schema", failing(error))
    assert main(["schema"]) == code
    assert capsys.readouterr() == ("", line + "\n")


def test_debug_shows_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tf_transformer.recipe.json_schema", failing(DataError("bad")))
    with pytest.raises(DataError, match="bad"):
        main(["schema", "--debug"])


def test_a_verb_says_the_exit_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").touch()
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.1}}\ntraining: {steps: 5}\n"
    )
    monkeypatch.chdir(tmp_path)
    calls: list[Any] = []

    class Trainer:
        @staticmethod
        def train(*arguments: Any, **options: Any) -> int:
            calls.append((arguments, options))
            return 143

    import tf_transformer

    monkeypatch.setitem(sys.modules, "tf_transformer.trainer", Trainer)
    monkeypatch.setattr(tf_transformer, "trainer", Trainer, raising=False)
    assert main(["train", "recipe.yaml", "training.seed=2", "--fresh", "--quiet"]) == 143
    assert (
        main(["train", "recipe.yaml", "--run", "elsewhere", "--reset", "data", "--reset", "optimizer"]) == 143
    )
    (first, first_options), (second, second_options) = calls
    assert first[0].training.seed == 2 and first[0].files[0].relative == "a.tsv"
    assert first[1] == Path("runs") / f"{tmp_path.name}-seed=2"
    assert first_options == {"fresh": True, "reset": [], "quiet": True, "wait": 300}
    assert second[1] == Path("elsewhere")
    assert second_options == {"fresh": False, "reset": ["data", "optimizer"], "quiet": False, "wait": 300}
    assert "training.schedule.warmup_steps (1000) is more than training.steps (5)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seed", "overrides", "name"),
    [
        ("1", [], "recipe.json"),
        ("1", ["training.seed=2"], "recipe-2.json"),
        ("2", ["training.seed=2", "training.steps=7"], "recipe.json"),
        ("-1", ["training.seed=2"], "recipe-2.json"),
    ],
)
def test_figures_are_recorded_under_the_seed_where_it_is_not_the_files(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, seed: str, overrides: list[str], name: str
) -> None:
    import tf_transformer

    class Trainer:
        @staticmethod
        def train(recipe: Any, folder: Path, **_: Any) -> int:
            folder.mkdir()
            (folder / "results.json").write_text(f'{{"seed": {recipe.training.seed}}}')
            (tmp_path / "recipe.yaml").unlink()  # whoever trains for days may lose it
            return 0

    monkeypatch.setitem(sys.modules, "tf_transformer.trainer", Trainer)
    monkeypatch.setattr(tf_transformer, "trainer", Trainer, raising=False)
    (tmp_path / "a.tsv").touch()
    (tmp_path / "recipe.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.1}}\n"
        f"training: {{steps: 5, seed: {seed}}}\n"
    )
    words = ["train", str(tmp_path / "recipe.yaml"), *overrides, "--run", str(tmp_path / "run"), "--record"]
    assert main(words) == 0
    assert [path.name for path in (tmp_path / "results").iterdir()] == [name]


def test_check_tells_what_is_right_and_what_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.tsv").touch()
    monkeypatch.chdir(tmp_path)
    Path("r.yaml").write_text(
        "task: translate\ndata: {train: {table: a.tsv}, dev: {fraction: 0.1}}\ntraining: {steps: 5000}\n"
    )
    assert main(["check", "r.yaml"]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("r.yaml: right; SHA-256 of the resolved recipe ") and shown.err == ""
    assert main(["check", "r.yaml", "model.droput=1", "training.steps=-1"]) == 2
    assert capsys.readouterr() == (
        "",
        "command line: model.droput: unknown key; received 1; nearest valid key is model.dropout\n"
        "command line: training.steps: must be at least 1; received -1\n",
    )


def test_schema_and_recipe_print_to_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0 and main(["recipe"]) == 0
    shown = capsys.readouterr()
    assert '"$schema"' in shown.out and "\ntask: translate\n" in shown.out and shown.err == ""
    assert main(["recipe", "juggle"]) == 2
    assert capsys.readouterr().err == f"task must be one of {', '.join(RECIPES)}; received juggle\n"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{PROGRAM}" schema | head -n 1; exit ${{PIPESTATUS[0]}}'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{\n" and done.stderr == ""
    assert done.returncode in (0, 1)  # 0 where the whole output fitted into the pipe


def test_output_that_cannot_be_written_to_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"{PROGRAM}" schema > /dev/full'], capture_output=True, text=True, check=False
    )
    if not os.path.exists("/dev/full"):  # macOS
        return
    assert done.returncode == 1 and "No space left on device" in done.stderr


def test_it_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tf_transformer", "check", "nowhere.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2 and done.stderr == "nowhere.yaml: there is no such recipe\n"


def test_ctrl_c_while_waiting_for_input_is_130(tmp_path: Path) -> None:
    script = (
        "import signal, sys\n"
        # A shell starts background jobs with the signal ignored, and children inherit that.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from tf_transformer.cli import main\n"
        "import tf_transformer.recipe\n"
        "def wait():\n"
        "    print('waiting', flush=True)\n"
        "    sys.stdin.read()\n"
        "tf_transformer.recipe.json_schema = wait\n"
        "sys.exit(main(['schema']))\n"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 130 and errors == ""
