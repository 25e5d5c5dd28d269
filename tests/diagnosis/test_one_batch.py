"""One batch learnt by heart: a sound recipe has no sign, and six planted faults have each their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from keras import ops

from tf_transformer.cli import main
from tf_transformer.diagnosis.one_batch import OneBatch, overfit_one_batch, plain
from tf_transformer.models import transformer
from tf_transformer.recipe import load_recipe
from tf_transformer.text import Preprocessor, train_tokenizer

PHRASES = Path(__file__).parents[2] / "training/quickstart/train.tsv"
RECIPE = """\
task: translate
data:
  train: {table: train.tsv, columns: {source: english, target: french}}
  dev: {table: dev.tsv, columns: {source: english, target: french}}
text: {tokenizer: words, vocabulary_size: 300}
model: {num_layers: 1, hidden_dim: 32, intermediate_dim: 64, num_heads: 2, dropout: 0.3}
training:
  steps: 400
  batch_tokens: 100
  precision: float32
  ema: 0.999
  r_drop: 3.0
  schedule: {name: inverse_sqrt, peak: 0.01, warmup_steps: 40}
"""
PATCH = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe of phrases, with the words of another run beside it."""
    folder = tmp_path_factory.mktemp("phrases")
    rows = PHRASES.read_text(encoding="utf-8").split("\n")[1:-1]
    for name, part in (("train", rows[::3]), ("dev", rows[1::3])):
        (folder / f"{name}.tsv").write_text("\n".join(["english\tfrench", *part]) + "\n", encoding="utf-8")
    train_tokenizer("words", [f"{number} zu {number}" for number in range(200)], 300).save(folder / "other")
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")
    return folder / "recipe.yaml"


def tried(recipe: Path, *overrides: str) -> OneBatch:
    return overfit_one_batch(load_recipe(recipe, overrides))


def assembled(change: Callable[[Any, Any], Any]) -> Any:
    """How sides are put together, with other labels."""
    right = Preprocessor.assemble

    def assemble(self: Any, *arguments: Any, **keywords: Any) -> Any:
        inputs, labels = right(self, *arguments, **keywords)
        return inputs, change(inputs, labels)

    return assemble


def test_a_sound_recipe_learns_its_batch_and_has_no_sign(recipe: Path) -> None:
    seen = tried(recipe)
    assert seen.signs == [] and seen.rows == 14
    assert seen.floor is not None and seen.rate == pytest.approx(0.01, rel=1e-3)
    (attempt,) = seen.attempts
    assert attempt.learnt and attempt.losses[0] > seen.floor.frequencies
    assert seen.floor.lowest < attempt.losses[-1] <= seen.near < seen.floor.frequencies
    assert sorted(path.name for path in recipe.parent.iterdir()) == [
        "dev.tsv",
        "other",
        "recipe.yaml",
        "train.tsv",
    ]


def test_what_keeps_a_model_from_learning_by_heart_is_off(recipe: Path) -> None:
    found = plain(load_recipe(recipe, ("training.optimizer={name: adamw, weight_decay: 0.1}",)))
    assert found.model.dropout == found.model.attention_dropout == found.training.optimizer.weight_decay == 0
    assert found.training.ema is None and found.training.r_drop is None
    assert found.training.label_smoothing == 0.1


def shift(patch: PATCH, recipe: Path) -> list[str]:
    patch.setattr(Preprocessor, "assemble", assembled(lambda inputs, labels: inputs["target_ids"]))
    return []


def mask(patch: PATCH, recipe: Path) -> list[str]:
    def everything(length: Any, past: Any = 0) -> Any:
        return ops.ones((1, 1, length, past + length), "bool")

    patch.setattr(transformer, "causal_mask", everything)
    return []


def padding(patch: PATCH, recipe: Path) -> list[str]:
    patch.setattr(Preprocessor, "assemble", assembled(lambda inputs, labels: tf.zeros_like(labels)))
    return []


def rate(patch: PATCH, recipe: Path) -> list[str]:
    return ["training.schedule.peak=1.0"]


def sides(patch: PATCH, recipe: Path) -> list[str]:
    return ["data.train.columns={source: french, target: english}"]


def tokenizer(patch: PATCH, recipe: Path) -> list[str]:
    (file,) = (recipe.parent / "other").glob("*.txt")
    return [f"text.model={file}", "text.vocabulary_size=null"]


FAULTS = {
    shift: ("shift", "They are the inputs at their own place: there is no shift"),
    mask: ("mask", "The causal mask of the target is missing"),
    padding: ("labels", "all of them are padding"),
    rate: ("learning rate", "the learning rate is too high: at 1, its highest, the loss is "),
    sides: ("sides", "the sides of train and dev are exchanged"),
    tokenizer: ("tokenizer", "it was made of other text"),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_each_planted_fault_has_its_own_sign(
    fault: Any, recipe: Path, monkeypatch: PATCH, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", str(recipe), "--overfit-one-batch", "--quiet", *fault(monkeypatch, recipe)]
    name, line = FAULTS[fault]
    assert main(words) == 1
    (told,) = [line for line in capsys.readouterr().out.split("\n") if line.startswith("wrong: ")]
    assert told.startswith(f"wrong: {name}: ") and line in told


def test_options_of_runs_are_refused(recipe: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("--fresh", "--run=x", "--reset=data", "--record"):
        assert main(["train", str(recipe), "--overfit-one-batch", option]) == 2
        assert "is for a run, and --overfit-one-batch writes none" in capsys.readouterr().err
