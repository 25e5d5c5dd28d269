"""What tests of tokenizers share: one of each kind."""

import pytest
from tokenizer_kinds import CORPUS, KINDS

from tf_transformer.text import Tokenizer, train_tokenizer


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Tokenizer]:
    """One of each kind."""
    return {kind: train_tokenizer(kind, CORPUS, 420) for kind in KINDS}


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    """Each of them, one after the other."""
    return tokenizers[request.param]
