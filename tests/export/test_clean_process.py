"""A process without this package answers as the run does: any batch size, any neighbours."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tf_transformer.export.clean_process import _Refuse
from tf_transformer.export.saved_model import export_saved_model
from tf_transformer.export.verification import run_clean

Pairs = list[tuple[str, str]]


def batches(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def given(order: list[list[str]]) -> list[dict[str, list[str]]]:
    return [{"text": batch} for batch in order]


def test_every_batch_size_gives_the_answers_of_the_run(
    exported: Any, translator: Any, reversal_pairs: Pairs
) -> None:
    texts = [source for source, _ in reversal_pairs]
    texts[50:50] = ["", "  ", "9 unheard 8"]
    shuffled = random.Random(3).sample(texts, len(texts))
    orders = [batches(texts, 1), batches(texts, 7), batches(texts, 64), batches(shuffled, 64)]
    calls: list[dict[str, Any]] = [
        {"signature": "serving_default", "batches": given(order)} for order in orders
    ]
    calls.append({"signature": "n_best", "batches": given(batches(texts, 64))})
    outcome = run_clean(exported.version, calls, [])

    expected = dict(zip(texts, translator.n_best(texts), strict=True))
    assert expected[""][0].text == ""
    for order, answers in zip(orders, outcome["answers"][:4], strict=True):
        for batch, answer in zip(order, answers, strict=True):
            best = [expected[text][0] for text in batch]
            assert answer["text"] == [hypothesis.text for hypothesis in best]
            for name in ("score", "log_probability"):
                wanted = [getattr(hypothesis, name) for hypothesis in best]
                np.testing.assert_allclose(answer[name], wanted, rtol=1e-3, atol=1e-4)
    for batch, answer in zip(batches(texts, 64), outcome["answers"][4], strict=True):
        assert answer["text"] == [[h.text for h in expected[text]] for text in batch]
    assert outcome["custom_ops"] == []


def test_a_sentencepiece_export_names_the_ops_it_needs(tmp_path: Path) -> None:
    from tf_transformer.models import Transformer
    from tf_transformer.tasks import Translator
    from tf_transformer.text import Preprocessor

    corpus = ["the cat sat on the mat", "a dog and a rat", "日本 ist weit"] * 3
    text = Preprocessor.train(corpus, corpus, "sentencepiece", 300, model_type="bpe")
    sizes = {"num_layers": 1, "hidden_dim": 8, "intermediate_dim": 8, "num_heads": 2}
    model = Transformer(text.target_vocabulary_size, seed=5, **sizes)
    search = {"beam_size": 1, "max_length_factor": 0.5, "max_length_margin": 3}
    task = Translator(model, text, **search)
    # Random weights say random bytes too: what is no UTF-8 must be told alike by both processes.
    version, manifest = export_saved_model(task, tmp_path / "out", samples=["the dog", "日本 😀"], facts={})
    ops = ("SentencepieceDetokenizeOp", "SentencepieceOp", "SentencepieceTokenizeOp")
    assert manifest.custom_ops == ops
    assert manifest.python_modules == ("tensorflow_text",)
    assert manifest.verification == {"sentences": 7, "alone": 7, "equal": True}
    assert version == tmp_path / "out" / "1"


def test_the_package_itself_is_kept_out() -> None:
    for name in ("tf_transformer", "tf_transformer.tasks.translate"):
        with pytest.raises(ImportError, match=f"{name} must not be needed by an exported model"):
            _Refuse().find_spec(name)
    assert _Refuse().find_spec("tf_transformers") is None
