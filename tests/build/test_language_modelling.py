"""A recipe with ``task: generate``: what is read, carved, encoded and planned, by the unit of its texts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import problem_of
from tf_transformer.build.language_modelling import LanguageModellingProblem
from tf_transformer.data.pipeline import BatchPlan, WindowPlan
from tf_transformer.recipe import load_recipe

TRAIN = "One fish,\n  two  fish.\n\nRed fish,\r\nblue fish.\n\n\nOld\n"
RECIPE = """\
task: generate
data: {train: {text: train.txt}, dev: {text: dev.txt}, window: 8}
training: {steps: 10, batch_tokens: 40}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_bytes(TRAIN.encode())
    (tmp_path / "dev.txt").write_text("Old fish,\n\nnew?\n")
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    return tmp_path


def problem(folder: Path, *overrides: str) -> LanguageModellingProblem:
    found = problem_of(load_recipe(folder / "recipe.yaml", overrides))
    assert isinstance(found, LanguageModellingProblem)
    return found


@pytest.mark.parametrize(
    ("unit", "tokenizer", "texts"),
    [
        ("text", "characters", [TRAIN.replace("\r", "")]),
        ("text", "sentencepiece", ["One fish,\ntwo fish.\n\nRed fish,\nblue fish.\n\n\nOld\n"]),
        ("paragraph", "bytes", ["One fish,\n  two  fish.", "Red fish,\nblue fish.", "Old"]),
        ("line", "characters", ["One fish,", "two fish.", "Red fish,", "blue fish.", "Old"]),
        ("line", "words", ["One fish,", "two fish.", "Red fish,", "blue fish.", "Old"]),
    ],
)
def test_texts_by_unit_and_tokenizer(folder: Path, unit: str, tokenizer: str, texts: list[str]) -> None:
    size = {"sentencepiece": ["text.vocabulary_size=300"]}.get(tokenizer, [])
    found = problem(folder, f"data.unit={unit}", f"text.tokenizer={tokenizer}", *size)
    examples = found.read()
    assert examples.train[0].columns["text"] == texts
    side = found.make_side(examples)
    assert side.has_end is (unit != "text")
    assert [text.decode() for text in side.decode(side.encode_text(texts)).numpy()] == texts
    side.save(folder / "side")
    assert found.load_side(folder / "side").vocabulary_size == side.vocabulary_size


def test_long_texts_are_cut_into_windows_and_nothing_is_dropped(folder: Path) -> None:
    found = problem(
        folder, "data.train=[{text: train.txt}, {text: dev.txt, weight: 2}]", "data.dev={fraction: 0.2}"
    )
    examples = found.read()
    parts = [[*corpus.columns["text"]] for corpus in (*examples.train, *examples.dev[0].corpora)]
    assert parts[0][0] + parts[2][0] == TRAIN.replace("\r", "") and parts[2] == ["\n\nOld\n"]
    assert parts[1] + parts[3] == ["Old fish,\n\nne", "w?\n"]
    side = found.make_side(examples)
    encoded = found.encode(examples, side)
    plan = found.plan(examples, encoded, side)
    assert isinstance(plan, WindowPlan) and plan.batch_tokens == 40
    kept = [len(text) for corpus in examples.train for text in corpus.columns["text"]]
    labels = sum(batch.tokens for batch in plan.epoch(0))
    assert labels == kept[0] + 2 * kept[1] == found.epoch_size(encoded, examples.weights)
    assert found.describe(encoded, plan).startswith("2 texts · ")
    assert "windows of 8 pieces" in found.describe_batch(plan.epoch(0)[0])


def test_lines_that_are_too_long_are_dropped_or_cut_in_training_alone(folder: Path) -> None:
    lines = ("data.unit=line", "data.window=9")
    found = problem(folder, *lines)
    examples = found.read()
    side = found.make_side(examples)
    encoded = found.encode(examples, side)
    plan = found.plan(examples, encoded, side)
    assert isinstance(plan, BatchPlan)
    assert encoded.lengths["text"].tolist() == [4]  # the others are of 10 and 11 with their ends
    assert "  dropped: text over 9 positions: 4 (lines 1, 2, 4, …)" in list(found.report(examples, encoded))
    cut = problem(folder, *lines, "data.on_long=truncate").encode(examples, side)
    assert cut.lengths["text"].tolist() == [9, 9, 9, 9, 4]
    assert cut.columns["text"][0].numpy().tolist() == side.encode_prompt(["One fish,"]).numpy()[0].tolist()
    dev = found.dev_sets(examples, side)[0]
    assert sum(int(np.count_nonzero(labels)) for _, labels in dev.batches) == 10 + 5


def test_dev_carved_from_lines_is_whole_lines(folder: Path) -> None:
    found = problem(folder, "data.unit=line", "data.dev={fraction: 0.5}")
    examples = found.read()
    (train,), (dev,) = examples.train, examples.dev[0].corpora
    assert sorted(train.columns["text"] + dev.columns["text"]) == sorted(
        ["One fish,", "two fish.", "Red fish,", "blue fish.", "Old"]
    )
    split = found.read_split("dev")
    assert split.dev[0].columns == examples.dev[0].columns and not split.train


def test_model_task_and_measure_are_the_recipes(folder: Path) -> None:
    found = problem(
        folder,
        "model={num_layers: 1, hidden_dim: 8, intermediate_dim: 16, num_heads: 2, positions: learned}",
        "decoding={max_length: 5, temperature: 0.5, top_k: 3, top_p: 0.9, repetition_penalty: 1.2,"
        " no_repeat: 2, banned: [a], seed: 4, stride: 3}",
        "training.loss_chunk=64",
    )
    examples = found.read()
    side = found.make_side(examples)
    first, second = (found.model(side, "float32") for _ in range(2))
    np.testing.assert_array_equal(first.embedding.table, second.embedding.table)  # of the training's seed
    task = found.task(first, side)
    assert (task.window, task.stride) == (8, 3) and first.max_length == 8
    assert vars(task.options) == {
        "max_length": 5, "temperature": 0.5, "top_k": 3, "top_p": 0.9, "repetition_penalty": 1.2,
        "no_repeat": 2, "banned": ("a",), "seed": 4,
    }  # fmt: skip
    assert found.measure.name == "val_loss" and not found.measure.higher_is_better
    assert found.loss_options == {"loss_chunk": 64}
    plan: Any = found.plan(examples, found.encode(examples, side), side)
    batches = plan.epoch(0)
    dearest = batches[found.most_expensive(batches, side)]
    assert len(dearest.rows) == max(len(batch.rows) for batch in batches)
    for advice in (found.smaller_updates(), found.smaller_validation()):
        assert "data.window (now 8)" in advice


def test_samples_for_an_export_are_beginnings_of_dev(folder: Path) -> None:
    found = problem(folder)
    texts = found.read().dev[0].columns["text"][0]
    samples = found.samples(Any)  # type: ignore[arg-type]
    assert len(samples) == 8 and all(sample in texts for sample in samples)
    (folder / "dev.txt").unlink()
    assert found.samples(Any) == []  # type: ignore[arg-type]
