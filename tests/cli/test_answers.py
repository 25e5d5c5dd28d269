"""``predict``, ``evaluate``, ``average``, ``export`` and ``inspect`` on a run of random weights."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import sacrebleu

from tf_transformer.cli import answering, main
from tf_transformer.devices import Devices, open_devices

Give = Callable[[bytes], None]
Captured = pytest.CaptureFixture[str]


def predict(run: Path, give: Give, capsys: Captured, content: bytes, *options: str) -> tuple[list[str], str]:
    give(content)
    capsys.readouterr()
    assert main(["predict", str(run), *options]) == 0
    shown = capsys.readouterr()
    return shown.out.split("\n")[:-1], shown.err


def test_one_line_in_one_line_out(run: Path, stdin: Give, capsys: Captured) -> None:
    lines, notes = predict(run, stdin, capsys, b"ab\n\nefg hi\r\n \n")
    assert len(lines) == 4 and lines[1] == lines[3] == "" and lines[0] and lines[2]
    assert f"{run}: checkpoint step-00000005, 5 updates\n" in notes
    alone, _ = predict(run, stdin, capsys, b"efg hi")
    assert alone == [lines[2]]
    twice, _ = predict(run, stdin, capsys, b"ab\n\nefg hi\n", "--n-best", "2")
    assert [twice[0], twice[2:4], twice[4]] == [lines[0], ["", ""], alone[0]] and len(twice) == 6
    nothing, _ = predict(run, stdin, capsys, b"")
    assert nothing == []


def test_the_checkpoint_is_chosen_and_printed(run: Path, stdin: Give, capsys: Captured) -> None:
    best, _ = predict(run, stdin, capsys, b"abcdefg\n")
    last, notes = predict(run, stdin, capsys, b"abcdefg\n", "--checkpoint", "last")
    assert "checkpoint step-00000010, 10 updates" in notes and last != best
    by_step, _ = predict(run, stdin, capsys, b"abcdefg\n", "--checkpoint", "5")
    assert by_step == best
    stdin(b"a\n")
    capsys.readouterr()
    assert main(["predict", str(run), "--checkpoint", "7"]) == 1
    assert "no checkpoint 7. Steps there: 5, 10" in capsys.readouterr().err


def test_a_run_answers_on_the_devices_that_are_named(
    run: Path, stdin: Give, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[tuple[str, str]] = []

    def opened(wanted: str, named: str) -> Devices:
        found.append((wanted, named))
        return open_devices(wanted, named=named)

    monkeypatch.setattr(answering, "open_devices", opened)
    lines, _ = predict(run, stdin, capsys, b"ab\n")
    assert predict(run, stdin, capsys, b"ab\n", "--devices", "cpu:1")[0] == lines
    assert found == [("auto", "--devices"), ("cpu:1", "--devices")]
    assert main(["evaluate", str(run), "--devices", "gpu:9"]) == 1
    assert "--devices: gpu:9: TensorFlow finds 0 GPUs on this machine" in capsys.readouterr().err


def test_n_best_scores_and_json(run: Path, stdin: Give, capsys: Captured) -> None:
    lines, _ = predict(run, stdin, capsys, b"ab\n\n", "--n-best", "3", "--scores")
    assert len(lines) == 6 and lines[3:] == ["0.0000\t"] * 3
    scores = [float(line.split("\t")[0]) for line in lines[:3]]
    assert scores == sorted(scores, reverse=True)
    objects, _ = predict(run, stdin, capsys, b"ab\n\n", "--n-best", "3", "--json")
    first, second = (json.loads(line) for line in objects)
    assert [f"{answer['score']:.4f}\t{answer['text']}" for answer in first["answers"]] == lines[:3]
    assert first["source"] == "ab" and len(second["answers"]) == 3
    single, _ = predict(run, stdin, capsys, b"ab\n", "--json")
    assert json.loads(single[0]) == {"source": "ab", **first["answers"][0]}
    assert json.loads(single[0])["log_probability"] < 0


def test_more_answers_than_the_recipes_beam_widen_it(run: Path, stdin: Give, capsys: Captured) -> None:
    lines, _ = predict(run, stdin, capsys, b"ab\n", "--n-best", "4")
    assert len(lines) == 4 and len(set(lines)) == 4


def test_search_options_reach_the_search(run: Path, stdin: Give, capsys: Captured) -> None:
    from tf_transformer.cli.answering import load_run

    texts = ["abcd", "hi"]
    expected = load_run(run, "best").task.translate(
        texts, beam_size=2, length_penalty=0.0, max_length_factor=0.0, max_length_margin=2
    )
    lines, _ = predict(
        run, stdin, capsys, b"abcd\nhi\n", "--beam", "2", "--length-penalty", "0", "--max-length", "2"
    )
    assert lines == expected and all(len(line) <= 2 for line in lines)


def test_notes_of_what_was_cut_and_quiet(run: Path, stdin: Give, capsys: Captured) -> None:
    content = b"ab\n" + b"abcdefgh" * 1250 + b"\nhi\n"
    lines, notes = predict(run, stdin, capsys, content)
    assert [lines[0], lines[2]] == predict(run, stdin, capsys, b"ab\nhi\n")[0] and len(lines) == 3
    assert "the end of 1 line was not read: the model does not read that far" in notes
    found, _ = predict(run, stdin, capsys, content, "--json")
    unfinished = sum(not json.loads(line)["finished"] for line in found)
    assert unfinished and f"{unfinished} answers reached the longest length allowed" in notes
    _, notes = predict(run, stdin, capsys, content, "--quiet")
    assert notes == ""


def test_files_in_and_out(run: Path, stdin: Give, tmp_path: Path, capsys: Captured) -> None:
    lines, _ = predict(run, stdin, capsys, b"ab\n\nhi\n")
    (tmp_path / "in.txt").write_bytes(b"ab\n\nhi\n")
    out = tmp_path / "out.txt"
    assert main(["predict", str(run), "--input", str(tmp_path / "in.txt"), "--output", str(out)]) == 0
    assert out.read_text().split("\n")[:-1] == lines
    packed = [out.with_suffix(".gz"), tmp_path / "again.GZ"]
    for path in packed:
        assert main(["predict", str(run), "--input", str(tmp_path / "in.txt"), "--output", str(path)]) == 0
        assert gzip.decompress(path.read_bytes()) == out.read_bytes()
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert main(["predict", str(run), "--input", str(tmp_path / "no.txt")]) == 1
    assert capsys.readouterr().err.endswith("no.txt: No such file or directory\n")


def test_evaluate_scores_the_sets_of_the_recipe(run: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["evaluate", str(run), "--json", "--output", str(tmp_path / "out.txt")]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert {"test_bleu", "test_chrf", "test_exact_match", "test_two_bleu"} <= set(shown["metrics"])
    assert "tok:13a" in shown["signatures"]["test_bleu"]
    assert len((tmp_path / "out.txt").read_text().split("\n")[:-1]) == 2 + 4
    assert main(["evaluate", str(run), "--split", "dev"]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == "dev: 2 sentences" and lines[1].startswith("  BLEU ") and "tok:13a" in lines[1]


def test_evaluate_scores_given_files_against_what_predict_gives(
    run: Path, stdin: Give, tmp_path: Path, capsys: Captured
) -> None:
    lines, _ = predict(run, stdin, capsys, b"abcd efg\nhi\n")
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_bytes(b"abcd efg\nhi\n")
    # Odd white space is no error: references pass the same normalisation as sources.
    target.write_text(f"\u00a0{lines[0]}\t \nsomething else\n", encoding="utf-8")
    assert main(["evaluate", str(run), "--source", str(source), "--target", str(target), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["metrics"]
    assert found["exact_match"] == 50.0
    # Of text, whatever the pieces: here they are characters.
    assert found["bleu"] == pytest.approx(sacrebleu.corpus_bleu(lines, [[lines[0], "something else"]]).score)
    target.write_text("one\n")
    assert main(["evaluate", str(run), "--source", str(source), "--target", str(target)]) == 1
    assert "b.txt" in capsys.readouterr().err


def test_what_is_neither_run_nor_export(tmp_path: Path, capsys: Captured) -> None:
    assert main(["evaluate", str(tmp_path)]) == 1
    assert "is no run" in capsys.readouterr().err
    assert main(["evaluate", str(tmp_path / "no")]) == 1
    assert "there is no such run folder" in capsys.readouterr().err


@pytest.fixture
def copy(run: Path, tmp_path: Path) -> Path:
    """A copy of the run that a test may write to."""
    return Path(shutil.copytree(run, tmp_path / "copy"))


@pytest.mark.parametrize(
    ("options", "steps"),
    [([], "5, 10"), (["--last", "1"], "10"), (["--best", "1"], "5"), (["--best", "2"], "5, 10")],
)
def test_average_takes_the_last_or_the_best(
    copy: Path, options: list[str], steps: str, capsys: Captured
) -> None:
    from tf_transformer.checkpoints import CheckpointStore

    assert main(["average", str(copy), *options]) == 0
    assert capsys.readouterr().out.endswith(f"/average: the mean of the checkpoints at {steps}\n")
    store = CheckpointStore(copy / "checkpoints")
    numbers = [int(step) for step in steps.split(", ")]
    expected = store.average(numbers)
    found = store.read("average")
    assert found.state["averaged"] == numbers
    assert all((found.weights[name] == value).all() for name, value in expected.items())


def test_average_refuses_more_than_there_are(copy: Path, capsys: Captured) -> None:
    assert main(["average", str(copy), "--last", "3"]) == 1
    assert "has 2 kept checkpoints. Received: 3 to average" in capsys.readouterr().err
    index = json.loads((copy / "checkpoints" / "index.json").read_text())
    (copy / "checkpoints" / "index.json").write_text(json.dumps({**index, "kept": []}))
    assert main(["average", str(copy)]) == 1
    assert "has kept no checkpoint of a validation yet" in capsys.readouterr().err


def test_an_export_answers_as_the_run(run: Path, tmp_path: Path, stdin: Give, capsys: Captured) -> None:
    folder = tmp_path / "exported"
    assert main(["export", str(run), str(folder)]) == 0
    shown = capsys.readouterr()
    assert shown.out == f"{folder / '1'}\n" and "answers verified; needs TensorFlow alone" in shown.err
    card = (folder / "1" / "README.md").read_text(encoding="utf-8")
    assert "pipeline_tag: translation\n" in card and "\n# run\n" in card and str(run.parent) not in card
    assert "| val_bleu | 3 |  |\n" in card and "- It reads the first 12 pieces of a source" in card
    assert "README.md" not in json.loads((folder / "1" / "manifest.json").read_text())["files"]
    content = b"abcd\n\nhi\nefg cab\na\nbad\nhi fee\nx\ndeaf hid a cab\ng\n"
    lines, _ = predict(run, stdin, capsys, content, "--scores")
    exported, notes = predict(folder, stdin, capsys, content, "--scores")
    assert exported == lines and len(lines) == 10
    assert predict(folder, stdin, capsys, b"a\n", "--scores")[0] == [lines[4]]
    assert f"{folder / '1'}: exported checkpoint step-00000005" in notes
    lines, _ = predict(run, stdin, capsys, content, "--n-best", "2")
    assert predict(folder, stdin, capsys, content, "--n-best", "2")[0] == lines
    source, target = tmp_path / "a.txt", tmp_path / "b.txt"
    source.write_bytes(b"abcd\nhi\n")
    target.write_bytes(b"dcba\nih\n")
    given = ["--source", str(source), "--target", str(target), "--json"]
    figures = []
    for model in (run, folder):
        assert main(["evaluate", str(model), *given]) == 0
        figures.append(json.loads(capsys.readouterr().out)["metrics"])
    assert figures[0] == figures[1]
    for options, message in ((["--n-best", "4"], "--n-best must be at most 3, the beam of the export"),):
        stdin(content)
        assert main(["predict", str(folder), *options]) == 2
        assert message in capsys.readouterr().err


def test_a_run_without_a_checkpoint_is_not_exported(copy: Path, tmp_path: Path, capsys: Captured) -> None:
    shutil.rmtree(copy / "checkpoints")
    (tmp_path / "empty").mkdir()
    for folder, message in ((copy, "this run holds no checkpoint; train it first"), ("empty", "is no run")):
        assert main(["export", str(tmp_path / folder), str(tmp_path / "out")]) == 1
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_inspect_shows_what_the_model_gets(run: Path, capsys: Captured) -> None:
    assert main(["inspect", str(run), "--rows", "9"]) == 0
    of_run = capsys.readouterr().out
    assert "first batch: source_ids [4, " in of_run and "train:2" in of_run
    row = of_run.split("train:4\n")[1].split("\n")[:10]  # "hi" -> "ih"
    shown = [line.split(None, 1) for line in row]
    assert shown[0] == ["source_ids", "hi"] and shown[1] == ["pieces", "h i </s>"]
    assert shown[3][1].startswith("111") and set(shown[3][1]) <= {"1", "."}
    assert shown[4] == ["target_ids", "ih"] and shown[5] == ["pieces", "<s> i h"]
    assert shown[7] == ["labels", "ih"] and shown[8] == ["pieces", "i h </s>"]
    ids = [list(map(int, line[1].split())) for line in (shown[6], shown[9])]
    assert ids[0][1:3] == ids[1][:2] and ids[0][0] == 2 and 3 in ids[1]
    assert "all weights" in of_run
    # What the tokenizer does not know, what dev and test share with train, and the shift, side by side.
    assert "dev, source: 0 of 6 characters unknown (0.000%)\n" in of_run
    assert "two: 4 of 4 rows are in train\n  two:2 is train:2: ab cd | dc ba\n" in of_run
    side_by_side = of_run.split("  position  source_ids  target_ids  labels\n")[1].split("\n")
    assert [line.split()[0] for line in side_by_side[:2]] == ["0", "1"]
    assert "labels are target_ids one position on; " in of_run
    assert main(["inspect", str(run.parent / "recipe.yaml"), "--rows", "9"]) == 0
    assert capsys.readouterr().out == of_run
    assert main(["inspect", str(run), "--json", "--rows", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["task"] == "translate" and found["labels_are_shifted"] is True and found["rows"] == 4
    assert [each["count"] for each in found["shared"] if each["what"] == "whole row"] == [0, 0, 4]
    first = found["batch"]["rows"][0]
    assert len(found["batch"]["rows"]) == 2 and first["where"].startswith("train:")
    pieces, labels = first["target_ids_pieces"], first["labels_pieces"]
    assert pieces[0] == "<s>" and pieces[1:] == labels[:-1] and labels[-1] == "</s>"
    assert found["parameters"] >= sum(int(np.prod(shape)) for shape in found["weights"].values()) > 0
    assert main(["inspect", str(run), "model.dropout=0.1"]) == 2
    assert "overrides are for a recipe" in capsys.readouterr().err
