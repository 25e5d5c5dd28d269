"""Every verb stands in the README, and every command there, and in the help, is one that the program takes.

Those that are quick are run as they are written, on a run that is kept for tests; slow tests run the others.
"""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tf_transformer.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROGRAM = "tf-transformer"
# What stands for a value in the README, and what the tests put there.
NAMES = {
    **{name: "recipe.yaml" for name in ("RECIPE", "RECIPE_OR_RUN")},
    **{name: "runs/kept" for name in ("RUN", "OLD", "A", "B")},
    **{
        "TEXT": "the cat sees a dog",
        "TASK": "translate",
        "DIR": "exports",
        "NEW": "exports",
        "FOLDER": "theirs",
        "FILE": "in.txt",
    },
}
# What does not end, needs more than this run has, or takes minutes: tests of their own run them.
ELSEWHERE = ("serve", "prepare", "adapter", "doctor", "import", "train recipe.yaml --overfit-one-batch")
QUICK = ("check", "recipe", "schema", "runs", "average", "plot curves", "plot schedule", "plot lengths")


def verbs() -> dict[str, typer.main.TyperCommand]:
    """The commands of the program by their words."""
    found = {}
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        own = inner.items() if inner else [("", command)]
        # A group's listing is what the group does by itself.
        found |= {f"{name} {kind}".removesuffix(" list").strip(): each for kind, each in own}
    return found


def plain(command: str) -> list[str]:
    """The words of a command with values in place of names, without what is in brackets or left open."""
    command = re.sub(r"\[[^\]]*\]", "", command).replace("…", "").split("|")[0].split("#")[0]
    return [NAMES.get(word, word) for word in shlex.split(command)]


def refuse(words: list[str]) -> None:
    """Has the real parser read a command, with all of its rules that need no file to be there.

    Raises:
        Exception: When it does not take it.
    """
    known = verbs()
    verb = next(name for name in (" ".join(words[1:3]), words[1]) if name in known)
    known[verb].make_context(verb, words[1 + len(verb.split()) :])


def shell_commands() -> Iterator[str]:
    """The commands of this program in the README's shell blocks."""
    for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL):
        for line in block.replace("\\\n", " ").split("\n"):
            for part in re.split(r"&&|\|", line):
                if (at := part.find(f"{PROGRAM} ")) >= 0 and "pip install" not in part:
                    yield part[at:].strip()


def named_commands() -> Iterator[str]:
    """The commands that stand in the README's sentences and tables."""
    text = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
    found = re.findall(rf"`({PROGRAM} [^`]+)`", text)
    yield from (command for command in found if "--help" not in command)


def examples() -> Iterator[tuple[str, str]]:
    """The commands under "Example:" in each verb's help, with the verb."""
    for verb, command in verbs().items():
        for line in (command.help or "").partition("Example:")[2].split("\n\n")[0].split("\n"):
            if (at := line.find(f"{PROGRAM} ")) >= 0:
                yield verb, line[at:].strip()


def test_every_verb_stands_in_the_readme_and_has_an_example() -> None:
    rows = "".join(re.findall(r"^\| `.*$", README, re.MULTILINE))
    assert [verb for verb in verbs() if not re.search(rf"`({PROGRAM} )?{verb}[` ]", rows)] == []
    assert sorted({verb for verb, _ in examples()}) == sorted(verbs())


@pytest.mark.parametrize("command", dict.fromkeys([*shell_commands(), *named_commands()]))
def test_a_command_of_the_readme_is_one(command: str) -> None:
    refuse(plain(command))


@pytest.mark.parametrize(("verb", "command"), list(examples()))
def test_an_example_of_the_help_is_a_command(verb: str, command: str) -> None:
    refuse(shlex.split(command.split(" | ")[0].split(" > ")[0].split(" < ")[0]))


def test_a_command_that_is_none_would_be_found() -> None:
    for wrong in ("tf-transformer trian x", "tf-transformer check", "tf-transformer runs --loud"):
        with pytest.raises(Exception):  # noqa: B017 - whatever the parser says of it
            refuse(plain(wrong))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a kept run lies with its recipe and its data, and a text; the current folder."""
    newest = sorted((ROOT / "tests" / "kept").glob("*-translate.zip"))[-1]
    shutil.unpack_archive(newest, tmp_path)
    (tmp_path / "runs").mkdir()
    run = (tmp_path / "run").rename(tmp_path / "runs" / "kept")
    resolved = (run / "recipe.yaml").read_text().replace("/phrases/", f"{tmp_path}/")
    there = resolved.replace("  test: null", f"  test: {{table: {tmp_path}/dev.tsv}}")
    (run / "recipe.yaml").write_text(there)
    (tmp_path / "in.txt").write_text("the cat sees a dog\na bird\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def as_written(*quick: str) -> list[list[str]]:
    """The table's commands, those of some verbs."""
    found = [plain(command) for command in dict.fromkeys(named_commands())]
    return [words[1:] for words in found if " ".join(words[1:]).startswith(quick)]


def test_quick_verbs_run_as_the_readme_writes_them(folder: Path) -> None:
    from tf_transformer.cli import main

    commands = as_written(*QUICK)
    assert {words[0] for words in commands} == {verb.split()[0] for verb in QUICK}
    for words in commands:
        assert main(words) == 0, words


@pytest.mark.slow
def test_all_other_verbs_run_as_the_readme_writes_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tf_transformer.cli import main

    others = [verb for verb in verbs() if not verb.startswith(QUICK)]
    there = as_written(*others)
    commands = [words for words in there if not " ".join(words).startswith(ELSEWHERE)]
    for words in sorted(commands, key=lambda words: words[0] != "export"):  # compare needs what it writes
        with (folder / "in.txt").open(encoding="utf-8") as lines:
            monkeypatch.setattr("sys.stdin", lines)
            assert main(words) == 0, (words, capsys.readouterr().err)
