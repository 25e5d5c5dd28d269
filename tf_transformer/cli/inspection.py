"""What a model is fed with, for eyes: a real batch in text, pieces, ids, mask and shifted targets."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from tf_transformer.build import load_run
from tf_transformer.build.data import TextData, build_preprocessor, encode_training, read_text
from tf_transformer.build.model import build_transformer
from tf_transformer.build.plan import build_plan
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.pipeline import columns_in
from tf_transformer.errors import counted
from tf_transformer.models import Transformer
from tf_transformer.presets import PAD_ID, UNKNOWN_ID
from tf_transformer.recipe import Recipe, TranslateRecipe
from tf_transformer.text import Preprocessor

_WIDTH = 14


def inspect_recipe(recipe: Recipe, rows: int) -> Iterator[str]:
    """The first batch and the model that a recipe would train.

    Args:
        recipe: A resolved recipe.
        rows: How many rows of the batch to show.

    Yields:
        Lines.
    """
    assert isinstance(recipe, TranslateRecipe)  # there is no other yet
    text = read_text(recipe)
    yield from text.report
    preprocessor = build_preprocessor(recipe.text, text.train)
    encoded = encode_training(text.train, preprocessor, recipe.data)
    yield from _batch(recipe, preprocessor, encoded, text, rows)
    yield from _summary(build_transformer(recipe, preprocessor, "float32"))


def inspect_run(folder: Path, rows: int) -> Iterator[str]:
    """The first batch and the model of a run, with the tokenizer and data that it has."""
    loaded = load_run(folder)
    recipe = loaded.recipe
    text = read_text(recipe)
    yield from text.report
    encoded = encode_training(text.train, loaded.task.preprocessor, recipe.data)
    yield from _batch(recipe, loaded.task.preprocessor, encoded, text, rows)
    yield from _summary(loaded.task.model)


def _batch(
    recipe: TranslateRecipe, preprocessor: Preprocessor, encoded: EncodedCorpus, text: TextData, rows: int
) -> Iterator[str]:
    plan = build_plan(recipe, text, encoded, preprocessor)
    batch, columns = plan.epoch(0)[0], columns_in(0, encoded, plan)
    inputs, labels = preprocessor.assemble(
        tf.gather(columns["source"], batch.rows),
        tf.gather(columns["target"], batch.rows),
        source_length=batch.lengths["source"],
        target_length=batch.lengths["target"],
    )
    shares = plan.padding()
    yield ""
    if recipe.training.batch_tokens == "auto":
        yield f"training.batch_tokens is found when training begins; here it is {plan.batch_tokens:,}"
    shapes = counted(len(plan.shapes), "shape")
    updates = counted(plan.num_batches(0), "update")
    yield f"{counted(len(encoded), 'pair')}, {updates} an epoch, {shapes} of batches"
    yield f"padding: {shares['source']:.1%} of source positions, {shares['target']:.1%} of target positions"
    for name in ("source", "target"):
        ids = columns[name].flat_values.numpy()
        yield f"unknown pieces: {np.mean(ids == UNKNOWN_ID):.3%} of {name}"
    shapes = f"source_ids {list(inputs['source_ids'].shape)}, target_ids {list(inputs['target_ids'].shape)}"
    tokens = counted(batch.tokens, "real target token")
    yield f"first batch: {shapes}, labels {list(labels.shape)}, {tokens}"
    for row in range(min(rows, len(batch.rows))):
        yield ""
        yield from _row(preprocessor, encoded.where(batch.rows[[row]])[0], inputs, labels, row)


def _row(
    preprocessor: Preprocessor, where: str, inputs: dict[str, tf.Tensor], labels: tf.Tensor, row: int
) -> Iterator[str]:
    source, target = preprocessor.source_tokenizer, preprocessor.target_tokenizer
    sides = (
        ("source_ids", source, inputs["source_ids"]),
        ("target_ids", target, inputs["target_ids"]),
        ("labels", target, labels),
    )
    yield where
    for name, tokenizer, ids in sides:
        numbers = ids[row].numpy()
        real = numbers[numbers != PAD_ID]
        text = tokenizer.detokenize(tf.constant(real[np.newaxis]))[0].numpy().decode(errors="replace")
        yield f"  {name:<{_WIDTH}}{text}"
        yield f"  {'pieces':<{_WIDTH}}{' '.join(tokenizer.tokens[number] for number in real)}"
        yield f"  {'ids':<{_WIDTH}}{' '.join(map(str, numbers))}"
        if name == "source_ids":
            yield f"  {'mask':<{_WIDTH}}{''.join('1' if number != PAD_ID else '.' for number in numbers)}"


def _summary(model: Transformer) -> Iterator[str]:
    yield ""
    width = max(len(variable.path) for variable in model.trainable_variables)
    for variable in model.trainable_variables:
        size = int(np.prod(variable.shape))
        yield f"{variable.path:<{width}}  {list(variable.shape)!s:<18}{size:>12,}"
    yield f"{'all weights':<{width}}  {'':<18}{model.count_params():>12,}"
