"""Segmentations that are drawn: with the probabilities of their papers, and by the seed alone."""

import hashlib
import itertools
import math
import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest
import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import train_tokenizer
from tf_transformer.text.sentencepiece_model import special_piece
from tf_transformer.text.subword_sampling import SubwordSampler

TEXTS = ["the lower house", "a newer house is lower", "the newest", "low lows", "houses newly lowered"]
# Characters outside the alphabet, alone and in runs; U+2581, which is escaped; no text at all.
STRANGE = ["", "猫犬 low 犬", "a\u2581b \u2581", "😀😀newest😀", "<s> the </s>", "x"]
BPE, UNIGRAM = 2, 1


def trained(model_type: str, byte_fallback: bool = True) -> Any:
    size = 320 if byte_fallback else 40
    return train_tokenizer("sentencepiece", TEXTS, size, model_type=model_type, byte_fallback=byte_fallback)


def handmade(model_type: int, **scores: float) -> bytes:
    """A model of a few pieces, of which `_` stands for a space; the first one has the id 4."""
    model = sentencepiece_model_pb2.ModelProto()
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    model.pieces.extend(special_piece(kinds, index) for index in range(len(SPECIAL_TOKENS)))
    for piece, score in scores.items():
        model.pieces.add(piece=piece.replace("_", "\u2581"), score=score)
    spec = model.trainer_spec
    spec.model_type = model_type
    spec.pad_id, spec.unk_id, spec.bos_id, spec.eos_id = range(4)
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.name = "identity"
    content: bytes = model.SerializeToString()
    return content


def rows(sampler: SubwordSampler, *seed: int) -> list[list[int]]:
    ids, sizes = sampler(seed)
    assert (ids.dtype, sizes.dtype) == (np.int32, np.int64)
    assert len(ids) == sizes.sum()
    ends = [0, *np.cumsum(sizes).tolist()]
    return [ids[start:end].tolist() for start, end in itertools.pairwise(ends)]


def frequencies(model: bytes, text: str, alpha: float, count: int = 20_000) -> dict[tuple[int, ...], float]:
    drawn = Counter(map(tuple, rows(SubwordSampler(model, [text] * count, alpha), 5)))
    return {ids: number / count for ids, number in drawn.items()}


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
@pytest.mark.parametrize("byte_fallback", [True, False])
def test_every_segmentation_is_of_its_text(model_type: str, byte_fallback: bool) -> None:
    tokenizer = trained(model_type, byte_fallback)
    processor = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    texts = [*TEXTS, *STRANGE] * 20
    sampler = tokenizer.sampler(texts, 0.3)
    drawn = rows(sampler, 3)
    usual = tokenizer.tokenize(texts).to_list()
    assert [processor.decode(ids) for ids in drawn] == [processor.decode(ids) for ids in usual]
    assert drawn != usual
    assert len({tuple(ids) for ids in drawn[:: len(TEXTS) + len(STRANGE)]}) > 2  # one text, twenty times
    assert rows(sampler, 4) != drawn == rows(sampler, 3) == rows(tokenizer.sampler(texts, 0.3), 3)


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_bpe_without_dropout_is_the_library_and_with_all_of_it_characters(byte_fallback: bool) -> None:
    tokenizer, texts = trained("bpe", byte_fallback), [*TEXTS, *STRANGE]
    assert rows(tokenizer.sampler(texts, 0.0), 7) == tokenizer.tokenize(texts).to_list()
    pieces = [tokenizer.tokens[piece] for ids in rows(tokenizer.sampler(TEXTS, 1.0), 7) for piece in ids]
    assert {len(piece) for piece in pieces} == {1}


def test_bpe_leaves_out_each_merge_of_each_step() -> None:
    # a b, then ab c: without the first merge there is no second one. p = 0.3.
    model = handmade(BPE, a=-9.0, b=-9.0, c=-9.0, ab=-1.0, abc=-2.0)
    expected = {(4, 5, 6): 0.3, (7, 6): 0.7 * 0.3, (8,): 0.7 * 0.7}
    assert frequencies(model, "abc", 0.3) == pytest.approx(expected, abs=0.015)
    # Two merges apart: one that was left out is there again in the step after the other's.
    model = handmade(BPE, a=-9.0, b=-9.0, c=-9.0, d=-9.0, ab=-1.0, cd=-2.0)
    expected = {
        (4, 5, 6, 7): 0.3 * 0.3,
        (8, 6, 7): 0.7 * 0.3,
        (4, 5, 9): 0.3 * 0.7 * 0.3,
        (8, 9): 0.7 * 0.7 + 0.3 * 0.7 * 0.7,
    }
    assert frequencies(model, "abcd", 0.3) == pytest.approx(expected, abs=0.015)


def test_unigram_draws_by_powers_of_probability() -> None:
    # ab c: e^-2.5, a bc: e^-4, a b c: e^-4.5.
    model = handmade(UNIGRAM, a=-1.0, b=-2.0, c=-1.5, ab=-1.0, bc=-3.0)
    for alpha in (0.0, 0.4, 1.0):
        shares = {(7, 6): math.exp(-2.5 * alpha), (4, 8): math.exp(-4 * alpha)}
        shares[4, 5, 6] = math.exp(-4.5 * alpha)
        expected = {ids: share / sum(shares.values()) for ids, share in shares.items()}
        assert frequencies(model, "abc", alpha) == pytest.approx(expected, abs=0.015)


def test_unigram_agrees_with_the_library_on_every_probability() -> None:
    model = trained("unigram", byte_fallback=False).model
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    found = map(tuple, processor.nbest_encode("newer low", nbest_size=500, out_type=int))
    shares = {ids: math.exp(0.5 * sum(map(processor.get_score, ids))) for ids in found}
    drawn = frequencies(model, "newer low", 0.5)
    assert len(drawn) > 5
    assert set(drawn) <= set(shares)
    total = sum(shares.values())
    for ids, share in shares.items():
        assert drawn.get(ids, 0.0) == pytest.approx(share / total, abs=0.015)


def test_pieces_over_the_borders_of_words_are_found() -> None:
    pieces = {"a": -5.0, "b": -5.0, "_": -6.0, "_b": -3.0, "a_b": -1.0}
    assert set(frequencies(handmade(UNIGRAM, **pieces), "a b", 0.1)) == {(4, 6, 5), (4, 7), (8,)}
    assert set(frequencies(handmade(BPE, **pieces), "a b", 0.0)) == {(8,)}


def test_another_process_draws_the_same() -> None:
    # SentencePiece's own sampling does not, for all that its seed is set.
    code = """
import sys, hashlib
from tf_transformer.text.subword_sampling import SubwordSampler
model = bytes.fromhex(sys.stdin.read())
ids, _ = SubwordSampler(model, ["abcab cab"] * 50, 0.3)([7, 2])
print(hashlib.sha256(ids.tobytes()).hexdigest())
"""
    model = handmade(BPE, a=-9.0, b=-9.0, c=-9.0, _=-9.0, ab=-1.0, ca=-2.0, abc=-3.0)
    process = subprocess.run(
        [sys.executable, "-c", code], input=model.hex(), capture_output=True, text=True, check=True
    )
    ids, _ = SubwordSampler(model, ["abcab cab"] * 50, 0.3)([7, 2])
    assert process.stdout.strip() == hashlib.sha256(ids.tobytes()).hexdigest()


def test_the_digest_tells_samplers_apart() -> None:
    model, other = handmade(BPE, a=-1.0, b=-1.0), handmade(BPE, a=-1.0, b=-2.0)
    sampler = SubwordSampler(model, ["ab", "a"], 0.3)
    assert sampler.digest == SubwordSampler(model, ["ab", "a"], 0.3).digest
    others = [(other, ["ab", "a"], 0.3), (model, ["ab", "b"], 0.3), (model, ["ab", "a"], 0.2)]
    assert len({sampler.digest, *(SubwordSampler(*arguments).digest for arguments in others)}) == 4


def test_no_texts_are_no_ids() -> None:
    for kind in (BPE, UNIGRAM):
        assert rows(SubwordSampler(handmade(kind, a=-1.0), [], 0.3), 1) == []
        assert rows(SubwordSampler(handmade(kind, a=-1.0), ["", ""], 0.3), 1) == [[], []]


@pytest.mark.parametrize("alpha", [-0.1, 1.5, math.nan])
def test_a_wrong_alpha(alpha: float) -> None:
    with pytest.raises(ValueError, match=rf"`alpha` must be from 0 to 1\. Received: {alpha}"):
        SubwordSampler(handmade(BPE, a=-1.0), ["a"], alpha)


def test_models_that_cannot_be_sampled() -> None:
    with pytest.raises(TextError, match=r"`model` must be a BPE or a unigram model .* Received: type 4"):
        SubwordSampler(handmade(4, a=-1.0), ["a"], 0.1)
    model = sentencepiece_model_pb2.ModelProto.FromString(handmade(BPE, a=-1.0, ab=-1.0))
    model.pieces[5].type = sentencepiece_model_pb2.ModelProto.SentencePiece.USER_DEFINED
    with pytest.raises(TextError, match=r"no user-defined and no unused pieces .* Received: 'ab'"):
        SubwordSampler(model.SerializeToString(), ["a"], 0.1)
