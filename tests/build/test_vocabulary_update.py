"""Another vocabulary for a model: which rows stay, how new ones begin, and what a person is told."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import Problem, load_run, problem_of
from tf_transformer.build.vocabulary_update import begun_rows, carry_rows, update_lines, vocabulary_changes
from tf_transformer.build.weights import set_weights, vocabulary_tables
from tf_transformer.errors import RecipeError, TextError
from tf_transformer.recipe import load_recipe
from tf_transformer.text.vocabulary_change import VocabularyChange

PAIRS = ["a b c\tx y z", "b c a\ty x z z", "c c b\tx z", "a a\tz y"]
MORE = ["aa bb aa\txx yy", "bb aa bb\tyy xx xx", "a aa\txx z"]
LABELLED = ["a b <e> c\tup", "b c a <e>\tdown", "c <e> c b\tup", "<e> a a\tdown"]
RECIPES = {
    "shared": "task: translate\ntext: {tokenizer: words}",
    "separate": "task: translate\ntext: {tokenizer: words, shared: false}\nmodel: {tie_embeddings: none}",
    "tags": "task: translate\ntext: {tokenizer: words, shared: false}",
    "generate": "task: generate\ntext: {tokenizer: words}",
    "untied": "task: generate\ntext: {tokenizer: words}\nmodel: {tie_embeddings: false}",
    "classify": 'task: classify_text\ntext: {tokenizer: words, special_tokens: ["<e>"]}',
}
SIZES = {"num_layers": 1, "hidden_dim": 8, "num_heads": 2, "intermediate_dim": 8}


def data(name: str, table: str) -> str:
    if name in ("generate", "untied"):
        return f"{{train: {{text: {table}}}, dev: {{text: {table}}}, unit: line}}"
    columns = "text: text, label: label" if name == "classify" else "source: source, target: target"
    tag = ", tag: de" if name == "tags" else ""
    entry = f"{{table: {table}, columns: {{{columns}}}{tag}}}"
    return f"{{train: {entry}, dev: {entry}}}"


def problem(folder: Path, name: str, rows: list[str], **text: Any) -> Problem[Any]:
    head = "text\tlabel\n" if name == "classify" else "source\ttarget\n"
    is_plain = name in ("generate", "untied")
    lines = [row.replace("\t", " ") for row in rows] if is_plain else rows
    (folder / "t.tsv").write_text(("" if is_plain else head) + "\n".join(lines) + "\n")
    path = folder / "recipe.yaml"
    path.write_text(f"{RECIPES[name]}\ndata: {data(name, 't.tsv')}\ntraining: {{steps: 5}}\n")
    recipe = load_recipe(path).replaced("model", **SIZES)
    return problem_of(recipe.replaced("text", **text) if text else recipe)


def changed(found: Problem[Any], old: Any, new: Any) -> dict[str, VocabularyChange]:
    return vocabulary_changes(found.tokenizers(old), found.tokenizers(new))


def test_rows_by_hand() -> None:
    table = np.array([[0, 2], [1, 1], [5, 9], [9, 9], [4, 0], [0, 1], [2, -1]], "float32")
    change = VocabularyChange(((0,), (1,), (2,), (3,), (6,), (4, 6), (5,), (1,)), (5, 7), ("a",), ())
    kept = [[0, 2], [1, 1], [5, 9], [9, 9], [2, -1]]
    assert begun_rows(table, change, False).tolist() == [*kept, [3, -0.5], [0, 1], [1, 1]]
    # Padding lies along the second axis, and no ordinary row is further out than 1.
    assert begun_rows(table, change, True).tolist() == [*kept, [3, 1], [0, 1], [1, 1]]
    table[0] = 0  # as in a model that has never been trained
    assert begun_rows(table, change, True)[5].tolist() == [3, -0.5]


@pytest.mark.parametrize("name", RECIPES)
@pytest.mark.parametrize("update", ["merge", "replace"])
def test_a_model_takes_its_weights_under_another_vocabulary(name: str, update: str, tmp_path: Path) -> None:
    rows = LABELLED if name == "classify" else PAIRS
    before = problem(tmp_path, name, rows, vocabulary_size=30)
    old = before.make_side(before.read())
    more = [
        row.replace("\txx yy", "\tup").replace("\tyy xx xx", "\tdown").replace("\txx z", "\tup")
        for row in MORE
    ]
    after = problem(tmp_path, name, more if name == "classify" else MORE, vocabulary_size=30, update=update)
    examples = after.read()
    new = after.carried_side(old, examples)
    changes = changed(after, old, new)
    trained = before.model(old, "float32")
    weights = {variable.path: np.array(variable) for variable in trained.weights}
    carried = carry_rows(weights, changes)
    set_weights(after.model(new, "float32"), carried, "there")

    tables = dict(vocabulary_tables(weights))
    assert (
        len(tables)
        == {"shared": 1, "separate": 3, "tags": 2, "generate": 1, "untied": 2, "classify": 1}[name]
    )
    for path in weights.keys() - tables.keys():
        assert carried[path] is weights[path]
    for path, layer in tables.items():
        side = next(iter(changes)) if len(changes) == 1 else layer.split("_")[0].replace("output", "target")
        change = changes[side]
        assert len(carried[path]) == len(change.origins)
        kept = [index for index in range(len(change.origins)) if index not in change.new]
        assert len(kept) >= 5 and len(change.new) >= 1
        np.testing.assert_array_equal(
            carried[path][kept], weights[path][[change.origins[index][0] for index in kept]]
        )
        if update == "merge":
            size = before.tokenizers(old)[side].tokenizer.vocabulary_size
            assert kept[:size] == list(range(size)) and change.lost == ()
        else:
            assert change.lost != ()
    lines = list(update_lines(changes, lambda side: after.encode(examples, side), old, new))
    assert len(lines) == len(changes) + 1 and all("kept" in line for line in lines[:-1])
    assert lines[-1].startswith("pieces a row of t: ")


def test_special_tokens_keep_their_rows(tmp_path: Path) -> None:
    before = problem(tmp_path, "tags", PAIRS)
    old = before.make_side(before.read())
    after = problem(tmp_path, "tags", MORE, vocabulary_size=9, update="merge")
    new = after.carried_side(old, after.read())
    change = changed(after, old, new)["source"]
    assert old.source_tokens[-1] == new.source_tokens[-1] == "<de>"
    assert change.origins[-1] == (old.source_vocabulary_size - 1,) and len(change.origins) == 10


def test_nothing_changes_where_nothing_is_new(tmp_path: Path) -> None:
    before = problem(tmp_path, "shared", PAIRS)
    old = before.make_side(before.read())
    after = problem(tmp_path, "shared", PAIRS, vocabulary_size=50, update="merge")
    changes = changed(after, old, after.carried_side(old, after.read()))
    assert changes["shared"].is_none
    weights = {"a/embedding/table": np.random.default_rng(3).normal(size=(10, 4))}
    np.testing.assert_array_equal(
        carry_rows(weights, changes)["a/embedding/table"], weights["a/embedding/table"]
    )


def test_what_cannot_take_the_place_is_refused_by_key(tmp_path: Path) -> None:
    before = problem(tmp_path, "shared", PAIRS)
    examples = before.read()
    old = before.make_side(examples)

    def renewed(**text: Any) -> Any:
        return problem(tmp_path, "shared", PAIRS, **text).carried_side(old, examples)

    with pytest.raises(
        RecipeError, match=r"text\.tokenizer: must be words, as of training\.initialize_from, "
    ):
        renewed(tokenizer="characters", update="replace")
    with pytest.raises(
        RecipeError,
        match=r"text\.vocabulary_size: must be more than 10, the pieces of training\.initialize_from that "
        r"text\.update: merge adds to\. Received: 10",
    ):
        renewed(update="merge", vocabulary_size=10)
    bytes_before = problem(tmp_path, "shared", PAIRS, tokenizer="bytes", vocabulary_size=None)
    with pytest.raises(TextError, match="a vocabulary of bytes has its 260 pieces"):
        bytes_before.make_side(examples).source_tokenizer.grown(["a"], 1)


def test_a_run_answers_as_before(trained_run: Path, reversal_pairs: list[tuple[str, str]]) -> None:
    run = load_run(trained_run)
    side = run.task.side
    grown = side.source_tokenizer.grown(["zehn elf zehn", "elf zwölf zwölf"], 3)
    new = type(side)(grown, None, side.normalizer)
    changes = changed(run.problem, side, new)
    weights = {variable.path: np.array(variable) for variable in run.task.model.weights}
    model = run.problem.model(new, "float32")
    set_weights(model, carry_rows(weights, changes), "there")
    sources = [source for source, _ in reversal_pairs]
    sources, targets = zip(*reversal_pairs[:13], strict=True)
    inputs, labels = side(list(sources), list(targets))
    before, after = run.task.model(inputs).numpy(), model(inputs).numpy()
    np.testing.assert_allclose(after[..., : before.shape[-1]], before, rtol=1e-5, atol=1e-5)
    assert after.shape[-1] == before.shape[-1] + 3
    real = labels.numpy() > 0
    shares = np.exp(after) / np.exp(after).sum(-1, keepdims=True)
    assert shares[..., before.shape[-1] :][real].max() < 0.01  # nothing is taken from what was known
