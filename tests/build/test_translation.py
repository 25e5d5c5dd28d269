"""From a recipe of a translation to text, ids, a model and a translator."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import Problem, problem_of
from tf_transformer.build.text_data import build_normalizer
from tf_transformer.data.batching import Batch
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.evaluation.measure import Measure
from tf_transformer.presets import END_ID, START_ID
from tf_transformer.recipe import load_recipe

TRAIN = ["a\tx", "a b\tx y", "a b c\tx y z", "\tx", "a b\tx y", "c c c c c\tz"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text("source\ttarget\n" + "\n".join(TRAIN) + "\n")
    (tmp_path / "more.en").write_text("b\nc\n")
    (tmp_path / "more.fr").write_text("y\nz\n")
    (tmp_path / "dev.en").write_text("a\nb b b b b\na b\n")
    (tmp_path / "dev.1").write_text("x\ny y\nx y\n")
    (tmp_path / "dev.2").write_text("x x\ny\ny x\n")
    (tmp_path / "other.tsv").write_text("c\tz\nc a\tz x\n")
    return tmp_path


def problem(folder: Path, data: str, text: str = "{tokenizer: words, vocabulary_size: 20}") -> Problem[Any]:
    path = folder / "recipe.yaml"
    path.write_text(f"task: translate\ndata: {data}\ntext: {text}\ntraining: {{steps: 5}}\n")
    return problem_of(load_recipe(path))


SETS = """
  train:
    - {table: train.tsv, on_bad_row: skip}
    - {source: more.en, target: more.fr, weight: 2.5, deduplicate: true}
  dev:
    first: {source: dev.en, target: [dev.1, dev.2]}
    second: {table: other.tsv, columns: {source: 1, target: 2}}
  max_source_length: 4
  max_target_length: 5
"""


def test_every_entry_is_read_cleaned_and_reported(folder: Path) -> None:
    text = problem(folder, SETS).read()
    assert [corpus.columns["source"] for corpus in text.train] == [
        ["a", "a b", "a b c", "a b", "c c c c c"],
        ["b", "c"],
    ]
    assert text.weights == [1.0, 2.5]
    first, second = text.dev
    assert first.name == "first" and first.columns == {
        "source": ["a", "b b b b b", "a b"],
        "target": ["x", "y y", "x y"],
        "target_2": ["x x", "y", "y x"],
    }
    assert (second.name, second.columns) == ("second", {"source": ["c", "c a"], "target": ["z", "z x"]})
    assert text.test == []
    assert "first: 3 rows read, 3 kept" in text.report
    overlap = "first: 2 of 3 rows (66.7%) have a source that is in train too (first: line 1)"
    assert overlap in text.report
    assert any(line.startswith("second: 1 of 2 rows (50.0%) have a pair") for line in text.report)


def test_a_fraction_of_train_becomes_dev_and_leaves_train(folder: Path) -> None:
    text = problem(folder, "{train: {source: more.en, target: more.fr}, dev: {fraction: 0.5}}").read()
    assert [dev.name for dev in text.dev] == ["dev"]
    assert sorted([*text.train[0].columns["source"], *text.dev[0].columns["source"]]) == ["b", "c"]
    assert len(text.dev[0].columns["source"]) == 1


def test_one_split_is_read_without_the_others(folder: Path) -> None:
    (folder / "train.tsv").write_text("no table")
    found = problem(folder, SETS)
    dev = found.read_split("dev")
    assert [one.name for one in dev.dev] == ["first", "second"] and dev.test == []
    assert dev.report == ["first: 3 rows read, 3 kept", "second: 2 rows read, 2 kept"]
    carved = "{train: {source: more.en, target: more.fr}, dev: {fraction: 0.5}}"
    (one,) = problem(folder, carved).read_split("dev").dev
    assert one.columns == problem(folder, carved).read().dev[0].columns
    assert problem(folder, SETS).read_split("test").test == []


def test_training_text_becomes_ids_within_the_limits(folder: Path) -> None:
    wanted = problem(folder, SETS)
    text = wanted.read()
    side = wanted.make_side(text)
    encoded = wanted.encode(text, side)
    # "a b c" and its end take the 4 positions there are; five words do not fit and are dropped.
    assert len(encoded) == 6
    assert encoded.lengths["source"].max() == 4
    assert encoded.corpora.tolist() == [0, 0, 0, 0, 1, 1]
    assert "  dropped: source over 4 positions: 1 (line 7)" in encoded.reports[0].to_lines()
    narrow = problem_of(wanted.recipe.replaced("data", max_source_length=2))
    assert len(narrow.encode(text, side)) == 3  # a, b and c
    with pytest.raises(DataError, match=r"train: no rows are left of 2"):
        narrow.encode(replace(text, train=[text.train[0].select(np.array([1, 2]))]), side)


def test_what_there_is_to_learn_from_on_one_line(folder: Path) -> None:
    wanted = problem(folder, SETS)
    text = wanted.read()
    side = wanted.make_side(text)
    encoded = wanted.encode(text, side)
    plan = wanted.batches(encoded, text.weights, 5)
    assert plan.batch_tokens == 5 and wanted.update_size == 4096
    # 15 target positions of four pairs, and 2.5 times the 4 of two.
    assert wanted.epoch_size(encoded, text.weights) == 2 + 3 + 4 + 3 + int(2.5 * (2 + 2))
    described = wanted.describe(encoded, plan)
    assert re.fullmatch(r"6 pairs · \d+ updates an epoch · padding [\d.]+% source, [\d.]+% target", described)
    batch = Batch(np.arange(3), {"source": 4, "target": 5}, 12)
    assert wanted.describe_batch(batch) == "3 pairs, padded to 4 source and 5 target pieces"
    assert wanted.side_sizes(side) == "vocabularies of 10 and 10"


def test_what_is_cut_in_training_is_cut_alike_in_answering(folder: Path) -> None:
    wanted = problem(folder, f"{SETS}  on_long: truncate\n")
    text = wanted.read()
    side = wanted.make_side(text)
    encoded = wanted.encode(text, side)
    report = encoded.reports[0].to_lines()
    assert "  noted: truncated: source over 4 positions: 1 (line 7)" in report
    task = wanted.task(wanted.model(side, "float32"), side)
    sources = text.train[0].columns["source"]
    assert sources[-1] == "c c c c c" and task.count_cut(sources) == 1
    assert encoded.columns["source"].to_list()[:5] == task.encode(sources).to_list()
    assert [len(row) for row in task.encode(sources[-1:]).to_list()] == [4]
    assert task.encode(sources[-1:]).to_list()[0][-1] == END_ID


TWO = """
  train:
    - {table: two.tsv, columns: {source: [1, 2], target: 3}, tag: up}
    - {source: [more.en, more.fr], target: names, tag: down}
  dev: {source: [dev.en, dev.1], target: [dev.2], tag: down}
"""


def test_columns_are_normalised_apart_and_joined(folder: Path) -> None:
    (folder / "two.tsv").write_text("a  b\tup \x01 c\tz\nb\t c\tz\n")
    (folder / "names").write_text("up\ndown\n")
    for shared in ("true", "false"):
        wanted = problem(folder, TWO, f"{{tokenizer: words, shared: {shared}}}")
        text = wanted.read()
        assert [corpus.columns for corpus in text.train] == [
            {"source": ["up\ta b\tup c", "up\tb\tc"], "target": ["z", "z"]},
            {"source": ["down\tb\ty", "down\tc\tz"], "target": ["up", "down"]},
        ]
        side = wanted.make_side(text)
        # A tag is no word of the text, whose own "up" is one; no word has a tab.
        words = side.source_tokenizer.tokens[4:]
        assert set(words) == {"a", "b", "c", "up", "y", "z", *(["down"] if shared == "true" else [])}
        assert side.source_tokens[-3:] == ["<|>", "<down>", "<up>"]
        ids = wanted.encode(text, side).columns["source"].to_list()
        spelled = [" ".join(side.source_tokens[number] for number in row) for row in ids]
        assert spelled == [
            "<up> a b <|> up c </s>", "<up> b <|> c </s>", "<down> b <|> y </s>", "<down> c <|> z </s>",
        ]  # fmt: skip
        side.save(folder / "side")
        again = wanted.load_side(folder / "side")
        assert again.source_form == side.source_form
        assert again.encode_source(text.train[0].columns["source"]).to_list() == ids[:2]
        answers_end = len(side.target_tokenizer.tokens)
        assert side.unanswerable_ids == tuple(range(answers_end, answers_end + 3 * (shared == "true")))
        wanted.model(side, "float32")


def test_rouge_may_choose_and_must_be_installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = problem(folder, SETS)
    stopping = type(wanted.recipe.training).STOPPING(metric="rouge_l")
    recipe = wanted.recipe.replaced("training", early_stopping=stopping)
    wanted = problem_of(recipe.replaced("evaluation", rouge="plain"))
    assert wanted.measure == Measure("val_rouge_l", higher_is_better=True)
    assert wanted.measured_by == ("evaluation.rouge",)
    assert wanted.manifest_facts() == {"tokenize": "13a", "rouge": "plain"}
    wanted.read()
    monkeypatch.setitem(sys.modules, "rouge_score", None)
    with pytest.raises(RecipeError, match=r"^evaluation\.rouge: needs the library rouge-score: pip install "):
        wanted.read()


def test_a_dev_set_is_whole_in_batches_a_long_sentence_cut(folder: Path) -> None:
    wanted = problem(folder, SETS)
    text = wanted.read()
    dev = wanted.dev_sets(text, wanted.make_side(text))[0]
    assert (dev.name, len(dev), list(dev.columns)) == ("first", 3, ["source", "target", "target_2"])
    ((inputs, labels),) = dev.batches
    source = inputs["source_ids"].numpy()
    assert source.shape == (3, 4)  # longest first: "b b b" and its end
    assert source[0, -1] == END_ID and len(set(source[0, :3])) == 1
    assert (inputs["target_ids"].numpy()[:, 0] == START_ID).all()
    # Teacher-forced on the first reference: x, "y y", "x y", each with its end.
    assert sorted((labels.numpy() != 0).sum(axis=1)) == [2, 3, 3]
    np.testing.assert_array_equal(
        labels.numpy()[:, :-1][labels.numpy()[:, 1:] != 0], _shifted(inputs, labels)
    )


def _shifted(inputs: dict[str, np.ndarray], labels: np.ndarray) -> np.ndarray:
    return inputs["target_ids"].numpy()[:, 1:][labels.numpy()[:, 1:] != 0]


def test_one_vocabulary_or_two(folder: Path) -> None:
    text = problem(folder, SETS).read()
    shared = problem(folder, SETS).make_side(text)
    assert shared.source_vocabulary_size == shared.target_vocabulary_size == 4 + 6
    wanted = problem(folder, SETS, "{tokenizer: words, vocabulary_size: 20, shared: false}")
    separate = wanted.make_side(text)
    assert set(separate.source_tokenizer.tokens[4:]) == {"a", "b", "c"}
    assert set(separate.target_tokenizer.tokens[4:]) == {"x", "y", "z"}


def test_an_existing_vocabulary_is_taken_as_it_is(folder: Path) -> None:
    (folder / "words.txt").write_text("c\nb\na\n")
    wanted = problem(folder, SETS, "{tokenizer: words, model: words.txt, unknown: drop}")
    preprocessor = wanted.make_side(wanted.read())
    assert preprocessor.source_tokenizer.tokens[4:] == ["c", "b", "a"]
    assert preprocessor.decode_target([[4, 1, 6]]).numpy().tolist() == [b"c a"]


def test_the_normal_form_is_the_recipes(folder: Path) -> None:
    text = problem(folder, SETS, "{tokenizer: words, lowercase: true, normal_form: nfkc}").recipe.text
    assert build_normalizer(text).normalize_texts(["  Ａ  B "]) == ["a b"]
    text = problem(folder, SETS, "{tokenizer: words, normal_form: none}").recipe.text
    assert build_normalizer(text).normalize_texts(["Ａ  B"]) == ["Ａ B"]


def test_sentencepiece_is_trained_by_the_recipes_options(folder: Path) -> None:
    text = "{tokenizer: sentencepiece, vocabulary_size: 14, byte_fallback: false, sentencepiece_type: bpe}"
    wanted = problem(folder, SETS, text)
    preprocessor = wanted.make_side(wanted.read())
    assert preprocessor.target_vocabulary_size <= 14
    assert "<0x00>" not in preprocessor.source_tokenizer.tokens
