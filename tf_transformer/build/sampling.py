"""Other pieces for the same training text each epoch, as a recipe asks for."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.sampled_plan import Sampler
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import RecipeError, TextError
from tf_transformer.recipe.text_section import SubwordSampling


class Samples(Protocol):
    """A tokenizer that can be sampled from, or what encloses one."""

    def sampler(self, texts: Sequence[str], alpha: float) -> Any:
        """A sampler of texts that has a ``digest``."""


def build_samplers(
    sampling: SubwordSampling,
    tokenizers: Mapping[str, Samples],
    corpora: Sequence[Corpus],
    encoded: EncodedCorpus,
) -> tuple[dict[str, Sampler], str]:
    """What draws the pieces of each sampled column, and a digest of them.

    Args:
        sampling: How much is sampled.
        tokenizers: What has made the ids of each column that is sampled.
        corpora: What ``encoded`` was made of.
        encoded: Says which rows are left.

    Raises:
        RecipeError: When a tokenizer cannot be sampled from.
    """
    samplers: dict[str, Sampler] = {}
    digests = []
    for name, tokenizer in tokenizers.items():
        try:
            sampler = tokenizer.sampler(_texts(name, corpora, encoded), sampling.alpha)
        except TextError as error:
            raise RecipeError(f"training.subword_sampling: {error}") from None
        samplers[name] = sampler
        digests.append(f"{name} {sampler.digest}")
    return samplers, ", ".join(digests)


def _texts(name: str, corpora: Sequence[Corpus], encoded: EncodedCorpus) -> list[str]:
    """The texts of a column, row for row."""
    texts = [dict(zip(corpus.lines.tolist(), corpus.columns[name], strict=True)) for corpus in corpora]
    rows = zip(encoded.corpora.tolist(), encoded.lines.tolist(), strict=True)
    return [texts[corpus][line] for corpus, line in rows]
