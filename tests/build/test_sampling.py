"""From a recipe to the batches of its training: the same text each epoch, or other pieces for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.build import problem_of
from tf_transformer.data.pipeline import BatchPlan, SampledPlan
from tf_transformer.errors import RecipeError
from tf_transformer.presets import END_ID
from tf_transformer.recipe import load_recipe

TRAIN = ["low\tlower", "lower low\tnew", "\tlow", "newer newest\tnew", f"{'low ' * 10}\tlow", "new\tlow"]
MORE = ["newest new\tlower newer", "lower low\tlow low low low low low"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, rows in (("train", TRAIN), ("more", MORE), ("dev", TRAIN[:1])):
        (tmp_path / f"{name}.tsv").write_text("\n".join(["source\ttarget", *rows]) + "\n")
    return tmp_path


def built(folder: Path, sampling: str, limits: str = "") -> Any:
    path = folder / "recipe.yaml"
    train = "[{table: train.tsv, on_bad_row: skip}, {table: more.tsv, weight: 2}]"
    data = f"train: {train}, dev: {{table: dev.tsv}}{limits}"
    text = "{vocabulary_size: 40, byte_fallback: false, shared: false}"
    training = f"{{steps: 5, seed: 3, batch_tokens: 30, subword_sampling: {sampling}}}"
    path.write_text(f"task: translate\ndata: {{{data}}}\ntext: {text}\ntraining: {training}\n")
    problem = problem_of(load_recipe(path))
    found = problem.read()
    side = problem.make_side(found)
    encoded = problem.encode(found, side)
    return problem.plan(found, encoded, side), encoded, side, found


def rows_of(plan: SampledPlan, epoch: int, name: str) -> list[list[int]]:
    values, splits = plan.ids(epoch)[name]
    return [part.tolist() for part in np.split(values, splits[1:-1])]


def test_without_sampling_it_is_the_plan_of_the_lengths(folder: Path) -> None:
    plan, encoded, _, _ = built(folder, "null")
    assert isinstance(plan, BatchPlan)
    expected = BatchPlan(encoded.lengths, 30, seed=3, corpora=encoded.corpora, weights=[1.0, 2.0])
    assert plan.digest() == expected.digest()


def test_sampled_rows_are_those_of_the_files_in_other_pieces(folder: Path) -> None:
    limits = ", max_source_length: 9"  # the row of ten words falls
    plan, encoded, preprocessor, found = built(folder, "{alpha: 0.9}", limits)
    assert isinstance(plan, SampledPlan)
    sources = ["low", "lower low", "newer newest", "new", "newest new", "lower low"]
    targets = ["lower", "new", "new", "low", "lower newer", "low low low low low low"]
    assert encoded.where(range(6))[-2:] == ["more:2", "more:3"]
    drawn: set[str] = set()
    for epoch in range(4):
        ends = rows_of(plan, epoch, "source")
        assert all(row.count(END_ID) == 1 and row[-1] == END_ID and len(row) <= 9 for row in ends)
        texts = [preprocessor.source_tokenizer.detokenize([row])[0].numpy().decode() for row in ends]
        assert texts == sources
        drawn.add(str(ends))
        ids = rows_of(plan, epoch, "target")
        assert [preprocessor.decode_target([row])[0].numpy().decode() for row in ids] == targets
        used = np.bincount(np.concatenate([batch.rows for batch in plan.epoch(epoch)]))
        assert used.tolist() == [1, 1, 1, 1, 2, 2]
    assert len(drawn) == 4
    assert plan.digest() == built(folder, "{alpha: 0.9}", limits)[0].digest()
    assert plan.digest() != built(folder, "{alpha: 0.8}", limits)[0].digest()
    assert found.dev[0].columns["source"] == ["low"]


@pytest.mark.parametrize("side", ["source", "target"])
def test_one_side_alone(folder: Path, side: str) -> None:
    plan, encoded, _, _ = built(folder, f"{{alpha: 0.9, sides: {side}}}")
    for name in ("source", "target"):
        usual = encoded.columns[name].to_list()
        assert (rows_of(plan, 0, name) == usual) == (name != side)


def test_a_model_that_cannot_be_sampled_is_a_fault_of_the_recipe(folder: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("tf_transformer.text.subword_sampling._KINDS", {})
    with pytest.raises(RecipeError, match=r"training\.subword_sampling: `model` must be a BPE or a unigram"):
        built(folder, "{}")
