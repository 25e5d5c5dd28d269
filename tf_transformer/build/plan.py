"""From a recipe to the batches of its training."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tf_transformer.build.data import TextData, length_limits, plan_batches
from tf_transformer.data.pipeline import EncodedCorpus, Plan, SampledPlan
from tf_transformer.data.sampled_plan import Sampler
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import RecipeError, TextError
from tf_transformer.presets import END_ID
from tf_transformer.recipe import TranslateRecipe
from tf_transformer.recipe.translate import TranslateSampling
from tf_transformer.text import Preprocessor
from tf_transformer.text.sentencepiece_tokenizer import SentencePieceTokenizer


def build_plan(
    recipe: TranslateRecipe, text: TextData, encoded: EncodedCorpus, preprocessor: Preprocessor
) -> Plan:
    """The batches of all epochs.

    Args:
        recipe: Its ``training`` and, for sampled text, the limits in ``data`` are read.
        text: The corpora that ``encoded`` was made of.
        encoded: Training text as ids.
        preprocessor: What has made them.

    Raises:
        RecipeError: When the tokenizer cannot be sampled from as ``training.subword_sampling`` says.
    """
    training = recipe.training
    usual = plan_batches(encoded, training, text.weights)
    if training.subword_sampling is None:
        return usual
    samplers, settings = _samplers(training.subword_sampling, text.train, encoded, preprocessor)
    return SampledPlan(
        encoded,
        samplers,
        length_limits(recipe.data),
        settings,
        usual.batch_tokens,
        seed=training.seed,
        weights=text.weights,
    )


def _samplers(
    sampling: TranslateSampling,
    corpora: Sequence[Corpus],
    encoded: EncodedCorpus,
    preprocessor: Preprocessor,
) -> tuple[dict[str, Sampler], str]:
    """What draws the ids of each sampled column, and a digest of them."""
    tokenizers = {"source": preprocessor.source_tokenizer, "target": preprocessor.target_tokenizer}
    samplers: dict[str, Sampler] = {}
    digests = []
    for name in ("source", "target") if sampling.sides == "both" else (sampling.sides,):
        tokenizer = tokenizers[name]
        assert isinstance(tokenizer, SentencePieceTokenizer)  # a rule of recipes
        try:
            sampler = tokenizer.sampler(_texts(name, corpora, encoded), sampling.alpha)
        except TextError as error:
            raise RecipeError(f"training.subword_sampling: {error}") from None
        samplers[name] = _ended(sampler) if name == "source" else sampler
        digests.append(f"{name} {sampler.digest}")
    return samplers, ", ".join(digests)


def _ended(sampler: Sampler) -> Sampler:
    """Adds what `Preprocessor.encode_source` adds: the end."""

    def draw(seed: Sequence[int]) -> Any:
        values, sizes = sampler(seed)
        return np.insert(values, np.cumsum(sizes), END_ID), sizes + 1

    return draw


def _texts(name: str, corpora: Sequence[Corpus], encoded: EncodedCorpus) -> list[str]:
    """The texts of a column, row for row."""
    texts = [dict(zip(corpus.lines.tolist(), corpus.columns[name], strict=True)) for corpus in corpora]
    rows = zip(encoded.corpora.tolist(), encoded.lines.tolist(), strict=True)
    return [texts[corpus][line] for corpus, line in rows]
