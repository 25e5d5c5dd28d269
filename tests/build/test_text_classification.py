"""From a recipe of a text classification to texts, labels, a model and a classifier."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import Problem, problem_of
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.recipe import load_recipe

TRAIN = ["one two\tup", "two three four\tdown", "three\tup", "four one five five\tup", "\tdown", "two\tdown"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.tsv").write_text("text\tlabel\n" + "\n".join(TRAIN) + "\n")
    (tmp_path / "dev.txt").write_text("three one\n\nTwo\n")
    (tmp_path / "dev.labels").write_text("down\nup\nup\n")
    (tmp_path / "other.tsv").write_text("up\tone\nsideways\ttwo\n")
    return tmp_path


def problem(folder: Path, data: str, rest: str = "", training: str = "{steps: 5}") -> Problem[Any]:
    path = folder / "recipe.yaml"
    text = "" if "text:" in rest else "text: {tokenizer: words, vocabulary_size: 20}\n"
    path.write_text(f"task: classify_text\ndata: {data}\n{text}{rest}\ntraining: {training}\n")
    return problem_of(load_recipe(path))


DATA = """
  train: {table: train.tsv, on_bad_row: skip}
  dev: {text: dev.txt, label: dev.labels}
  max_text_length: 5
"""


def test_texts_and_labels_are_read_and_cleaned(folder: Path) -> None:
    examples = problem(folder, DATA).read()
    assert examples.train[0].columns == {
        "text": ["one two", "two three four", "three", "four one five five", "two"],
        "label": ["up", "down", "up", "up", "down"],
    }
    assert examples.dev[0].columns == {"text": ["three one", "Two"], "label": ["down", "up"]}
    assert "dev: 3 rows read, 2 kept" in examples.report
    assert not any("label that is in train" in line for line in examples.report)


def test_labels_are_kept_as_they_are_written(folder: Path) -> None:
    (folder / "train.tsv").write_text("label\ttext\nYES\tA\nno\tB\nYES \tC\n")
    data = "{train: {table: train.tsv}, dev: {table: train.tsv}}"
    found = problem(folder, data, "text: {tokenizer: characters, vocabulary_size: 9, lowercase: true}")
    examples = found.read()
    assert examples.train[0].columns == {"text": ["a", "b", "c"], "label": ["YES", "no", "YES"]}
    assert found.make_side(examples).labels.names == ("YES", "no")


def test_ids_and_labels_of_training(folder: Path) -> None:
    found = problem(folder, DATA)
    examples = found.read()
    side = found.make_side(examples)
    assert side.labels.names == ("down", "up") and side.labels.counts == (2, 3)
    encoded = found.encode(examples, side)
    assert encoded.columns["label"].numpy().tolist() == [1, 0, 1, 1, 0]
    assert encoded.lengths["text"].tolist() == [4, 5, 3, 5, 3]  # the fourth was cut
    cut = encoded.columns["text"][3].numpy()
    assert cut[0] == 2 and cut[-1] == 3 and len(cut) == 5
    plan = found.plan(examples, encoded, side)
    assert sum(len(batch.rows) for batch in plan.epoch(0)) == 5
    assert found.describe(encoded, plan).startswith("5 examples · 1 update an epoch")


def test_a_dev_set_is_carved_by_the_text(folder: Path) -> None:
    data = "{train: {table: train.tsv, on_bad_row: skip}, dev: {fraction: 0.5}}"
    found = problem(folder, data, "evaluation: {unseen_labels: wrong}")
    examples = found.read()
    texts = [*examples.train[0].columns["text"], *examples.dev[0].columns["text"]]
    assert len(texts) == 5 and 0 < len(examples.dev[0].columns["text"]) < 5


OTHER = """
  train: {table: train.tsv, on_bad_row: skip}
  dev: {table: other.tsv, columns: {label: 1, text: 2}}
"""


def test_a_label_that_training_has_not_is_named_with_file_and_line(folder: Path) -> None:
    message = (
        r"other\.tsv, line 2: the label must be one that training has seen: down, up\. Received: 'sideways'"
    )
    with pytest.raises(DataError, match=message):
        problem(folder, OTHER).read()


def test_or_its_examples_are_answered_wrong(folder: Path) -> None:
    found = problem(folder, OTHER, "evaluation: {unseen_labels: wrong}")
    examples = found.read()
    assert "dev: 1 example with labels that training has not: sideways" in examples.report
    side = found.make_side(examples)
    task = found.task(found.model(side, "float32"), side)
    (dev,) = found.dev_sets(examples, side)
    evaluated = found.evaluator(task).quick(dev)
    assert evaluated.figures["accuracy"] <= 0.5
    assert np.isfinite(evaluated.figures["loss"])
    assert evaluated.answers[1] in ("down", "up")


MARKED = """
  train: {table: marked.tsv}
  dev: {table: marked.tsv, on_bad_row: skip}
"""
MARKS = """
text: {tokenizer: words, vocabulary_size: 20, special_tokens: [<a>, <b>]}
model: {pooling: [marks, max]}
"""


def test_marked_texts(folder: Path) -> None:
    (folder / "marked.tsv").write_text("text\tlabel\n<a>one <b>two\tup\ntwo<b>one<a>\tdown\n")
    found = problem(folder, MARKED, MARKS)
    examples = found.read()
    side = found.make_side(examples)
    first = side.tokenizer.vocabulary_size
    assert side.encode_text(examples.train[0].columns["text"]).to_list()[0] == [
        2, first, side.tokens.index("one"), first + 1, side.tokens.index("two"), 3,
    ]  # fmt: skip
    model = found.model(side, "float32")
    assert model.embedding.marked_ids == [first, first + 1]
    task = found.task(model, side)
    assert task.classify(["<a>one", "one <a> <b> <b>", "<b> one <a>"])[:2] == ["", ""]
    evaluated = found.evaluator(task).quick(found.dev_sets(examples, side)[0])
    assert evaluated.samples[0].source == "<a> one <b> two"


def test_a_text_that_is_not_marked_as_it_must_be(folder: Path) -> None:
    (folder / "marked.tsv").write_text("text\tlabel\n<a>one <b>two\tup\ntwo<b>one\tdown\n")
    message = r"marked\.tsv, line 3: the text must hold each of <a> <b> once\. Received: <a> 0 times"
    with pytest.raises(DataError, match=message):
        problem(folder, MARKED, MARKS).read()
    skipping = problem(
        folder, MARKED.replace("{table: marked.tsv}", "{table: marked.tsv, on_bad_row: skip}"), MARKS
    )
    assert len(skipping.read().train[0]) == 1


def test_weights_of_classes(folder: Path) -> None:
    def weights(value: str) -> Any:
        found = problem(folder, DATA, training=f"{{steps: 5, class_weights: {value}}}")
        side = found.make_side(found.read())
        return found.model(side, "float32").class_weights

    assert weights("null") is None
    assert weights("balanced") == [5 / 4, 5 / 6]  # the mean over training is 1
    assert weights("{down: 3, up: 0.5}") == [3.0, 0.5]
    with pytest.raises(
        RecipeError, match=r"class_weights: must have a weight for each .*received none for 'up'"
    ):
        weights("{down: 3}")
    with pytest.raises(RecipeError, match=r"received 'left', which is none"):
        weights("{down: 3, up: 1, left: 2}")
    with pytest.raises(RecipeError, match="must be above 0 for one label at least; received only 0"):
        weights("{down: 0, up: 0}")


@pytest.mark.parametrize("norm", ["pre", "post", "deep"])
def test_every_norm_of_a_recipe_has_a_model(folder: Path, norm: str) -> None:
    found = problem(folder, DATA, f"model: {{num_layers: 2, norm: {norm}}}")
    settings = found.model(found.make_side(found.read()), "float32").encoder.settings
    assert settings.norm == ("post" if norm == "deep" else norm)
    # alpha of two layers by themselves: (2 * 2)^(1/4)
    assert settings.residual_scale == pytest.approx(2**0.5 if norm == "deep" else 1.0)


def test_word_vectors_go_into_the_table(folder: Path) -> None:
    (folder / "vectors.txt").write_text("one 3 4\nTWO 1 1\nthree 0 5\n")
    model = "model: {preset: tiny, embedding_dim: 2, word_vectors: vectors.txt, freeze_embeddings: true}"
    found = problem(folder, DATA, model)
    side = found.make_side(found.read())
    made = found.model(side, "float32")
    table = made.embedding.tokens.table
    before = np.array(table)
    (line,) = found.first_weights(made, side)
    assert "3 vectors of 2 numbers; 2 of 5 pieces (40.0%) begin with one" in line
    one, three, four = (side.tokens.index(word) for word in ("one", "three", "four"))
    ratio = np.array(table)[one] / [3, 4]
    np.testing.assert_allclose(ratio[0], ratio[1], rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(np.mean(np.array(table)[[one, three]] ** 2)), 2**-0.5, rtol=1e-6)
    np.testing.assert_array_equal(np.array(table)[four], before[four])
    assert not any(variable is table for variable in made.trainable_variables)
    assert found.recipe.model.word_vectors == folder / "vectors.txt"


def test_word_vectors_of_another_length(folder: Path) -> None:
    (folder / "vectors.txt").write_text("one 3 4\n")
    found = problem(folder, DATA, "model: {word_vectors: vectors.txt}")
    side = found.make_side(found.read())
    message = r"its vectors have 2 numbers, and the table of pieces 128: set model\.embedding_dim to 2"
    with pytest.raises(DataError, match=message):
        list(found.first_weights(found.model(side, "float32"), side))
    (folder / "vectors.txt").write_text("other " + "1 " * 128 + "\n")
    with pytest.raises(DataError, match="has a vector for none of 5 pieces"):
        list(found.first_weights(found.model(side, "float32"), side))


def test_what_is_left_out_is_a_class(folder: Path) -> None:
    rows = ["one\tgoes(e1,e2)", "two\tgoes(e2,e1)", "three\tOther"]
    (folder / "train.tsv").write_text("text\tlabel\n" + "\n".join(rows) + "\n")
    data = "{train: {table: train.tsv}, dev: {table: train.tsv}}"

    def evaluator(options: str) -> Any:
        found = problem(folder, data, f"evaluation: {{{options}}}")
        side = found.make_side(found.read())
        return found.evaluator(found.task(found.model(side, "float32"), side))

    assert evaluator("directed: true, leave_out: [goes, Other]").leave_out == ("goes", "Other")
    assert evaluator("leave_out: ['goes(e1,e2)']").leave_out == ("goes(e1,e2)",)
    message = r"evaluation\.leave_out: must be among the classes of training, Other, goes; received 'other'"
    with pytest.raises(RecipeError, match=message):
        evaluator("directed: true, leave_out: [other]")
    with pytest.raises(RecipeError, match=r"training, Other, goes\(e1,e2\), goes\(e2,e1\); received 'goes'"):
        evaluator("leave_out: [goes]")
