"""Special tokens are found where they were written, and nothing else becomes one."""

from pathlib import Path

import pytest

from tf_transformer.errors import TextError
from tf_transformer.presets import MOST_SPECIAL_TOKENS
from tf_transformer.text import ClassificationPreprocessor, MarkingNormalizer

MARKERS = ["<e1>", "</e1>"]
ONE, TWO = 260, 261  # bytes have 260 ids


def trained(
    normalizer: MarkingNormalizer, kind: str = "bytes", size: int = 8000
) -> ClassificationPreprocessor:
    texts = ["a <e1>cat</e1> sat", "a dog <e1>ran</e1>"]
    return ClassificationPreprocessor.train(texts, ["sit", "run"], kind, size, normalizer=normalizer)


def ids(side: ClassificationPreprocessor, text: str) -> list[int]:
    return side.encode_text(side.normalizer([text])).to_list()[0]


def test_a_marked_text_by_hand() -> None:
    side = trained(MarkingNormalizer(MARKERS))
    a, b = 4 + ord("a"), 4 + ord("b")
    assert ids(side, " a<e1> b</e1>a ") == [2, a, ONE, b, TWO, a, 3]
    assert ids(side, "<e1></e1>") == [2, ONE, TWO, 3]
    assert side.vocabulary_size == 262
    assert side.tokens[-2:] == MARKERS
    assert side.special_ids == (ONE, TWO)


@pytest.mark.parametrize(
    "forged",
    [
        "<E1>",  # the same in lower case
        "＜e1＞",  # the same in a compatibility form
        "< e1 >",
        "\x01",  # what stands for the token between normaliser and tokenizer
        "\x80",
        "&lt;e1&gt;",
        "▁<e1",
        "<e\u200b1>",
    ],
)
@pytest.mark.parametrize("kind", ["bytes", "words", "sentencepiece"])
def test_text_cannot_forge_a_marker(forged: str, kind: str) -> None:
    normalizer = MarkingNormalizer(MARKERS, normal_form="nfkc", lowercase=True)
    side = trained(normalizer, kind, 40 if kind == "words" else 300)
    found = ids(side, f"one {forged} two")
    assert not set(found) & set(side.special_ids)


def test_a_normalised_text_marked_again_loses_its_tokens() -> None:
    # Why reading normalises once: the second time the codes are a stranger's control characters.
    normalizer = MarkingNormalizer(MARKERS)
    assert normalizer.normalize_texts(normalizer.normalize_texts(["a<e1>b"])) == ["a b"]


def test_a_token_inside_another_one() -> None:
    normalizer = MarkingNormalizer(["e1", "<e1>"])
    assert normalizer.split(normalizer(["e1<e1>"]))[1].to_list() == [[-1, 0, -1, 1, -1]]


def test_signs_of_regular_expressions_are_letters_here() -> None:
    normalizer = MarkingNormalizer([".*", "\\d"])
    assert normalizer.split(normalizer(["abc 1.*\\d"]))[0].to_list() == [[b"abc 1", b"", b"", b"", b""]]


def test_each_token_once() -> None:
    side = trained(MarkingNormalizer(MARKERS, once=True))
    texts = ["a <e1>b</e1>", "a", "<e1></e1>", "<e1>a<e1>b</e1>", "a</e1>b<e1>"]
    normal = side.normalizer.normalize_texts(texts)
    assert side.answerable(normal, side.encode_text(normal)).numpy().tolist() == [
        True,
        False,
        False,
        False,
        True,
    ]
    assert side.normalizer.fault(normal[0]) is None
    assert side.normalizer.fault(normal[1]) == (
        "must hold each of <e1> </e1> once. Received: <e1> 0 times, </e1> 0 times"
    )
    assert side.normalizer.fault(normal[3]) == "must hold each of <e1> </e1> once. Received: <e1> 2 times"
    free = trained(MarkingNormalizer(MARKERS))
    assert free.answerable(normal, free.encode_text(normal)).numpy().tolist() == [
        True,
        True,
        False,
        True,
        True,
    ]
    assert free.normalizer.fault(normal[3]) is None


def test_spelling() -> None:
    normalizer = MarkingNormalizer(MARKERS, lowercase=True)
    assert normalizer.spell(normalizer.normalize_texts(["The<e1>Cat</e1>,  <E1>"])) == [
        "the <e1> cat </e1> , <e1>"
    ]


@pytest.mark.parametrize(
    ("tokens", "received"),
    [
        ([], "0"),
        (["<a>"] * 2, "'<a>' twice"),
        (["a b"], "'a b'"),
        ([""], "''"),
        (["\x01"], r"'\\x01'"),
        ([f"<{number}>" for number in range(54)], "54"),
    ],
)
def test_what_is_no_special_token(tokens: list[str], received: str) -> None:
    with pytest.raises(ValueError, match=f"`special_tokens` must be 1 to 53 .* Received: {received}"):
        MarkingNormalizer(tokens)


def test_saved_and_loaded(tmp_path: Path) -> None:
    side = trained(MarkingNormalizer(MARKERS, lowercase=True), "words", 40)
    side.save(tmp_path / "tokenizer")
    loaded = ClassificationPreprocessor.load(tmp_path / "tokenizer")
    assert loaded.labels.names == ("run", "sit")
    assert ids(loaded, "A <e1>Cat</e1>") == ids(side, "A <e1>Cat</e1>")
    assert side.special_ids[0] in ids(loaded, "A <e1>Cat</e1>")
    manifest = tmp_path / "tokenizer" / "preprocessor.json"
    manifest.write_text(manifest.read_text().replace('"run": 1,', ""))
    with pytest.raises(TextError, match=r"preprocessor\.json: `labels` must hold the labels of a run"):
        ClassificationPreprocessor.load(tmp_path / "tokenizer")


def test_the_most_special_tokens_are_told_apart() -> None:
    tokens = [f"<{number}>" for number in range(MOST_SPECIAL_TOKENS)]
    normalizer = MarkingNormalizer(tokens, once=True)
    assert normalizer.spell(normalizer.normalize_texts([" ".join(tokens)])) == [" ".join(tokens)]
    with pytest.raises(ValueError, match="must be 1 to 53 different texts"):
        MarkingNormalizer([*tokens, "<more>"])
