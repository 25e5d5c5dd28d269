"""Text in, text out: order, empty and endless lines, neighbours, limits and options."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.presets import END_ID, PAD_ID, START_ID
from tf_transformer.tasks import translation_answers as module
from tf_transformer.tasks.batches import batches_by_length
from tf_transformer.tasks.translate import Translator
from tf_transformer.tasks.translation_search import TranslationSearch
from tf_transformer.text import Preprocessor

Pairs = list[tuple[str, str]]


@pytest.fixture(scope="module")
def parrot(echo: Any, words: Preprocessor) -> Translator:
    """Repeats up to 11 words and the end."""
    return Translator(echo(), words, beam_size=2, max_source_length=12)


@pytest.fixture(scope="module")
def babbler(endless: Any, words: Preprocessor) -> Translator:
    """Says a, and a, and never comes to an end."""
    return Translator(endless(), words, beam_size=1, max_length_factor=1.5, max_length_margin=2)


LINES = ["a b c d e f g h i", "j", "k l m n o", "", "p a", "   "]


@pytest.mark.parametrize("pieces", [1, 12, 4096])
def test_answers_are_in_the_order_of_the_lines(
    parrot: Translator, monkeypatch: pytest.MonkeyPatch, pieces: int
) -> None:
    monkeypatch.setattr(module, "PIECES_AT_ONCE", pieces)
    assert parrot.translate(LINES) == [*LINES[:5], ""]
    assert parrot.translate(LINES[::-1]) == ["", *LINES[4::-1]]
    assert parrot.translate([]) == []


def test_an_empty_line_has_an_empty_answer_whatever_the_model_says(babbler: Translator) -> None:
    first, empty, last = babbler.n_best(["b", "", "c d"])
    assert [hypothesis.text for hypothesis in empty] == [""]
    assert (empty[0].score, empty[0].log_probability, empty[0].finished) == (0.0, 0.0, True)
    assert first[0].text and last[0].text


@pytest.mark.parametrize("beam_size", [1, 3])
def test_an_empty_line_is_not_searched_for(endless: Any, words: Preprocessor, beam_size: int) -> None:
    fed: list[tuple[int, int]] = []

    class Counting(endless):  # type: ignore[misc]
        def step(self, ids: tf.Tensor, cache: dict[str, Any]) -> Any:
            fed.append(tuple(ids.shape))
            return super().step(ids, cache)

    task = Translator(Counting(), words, beam_size=beam_size, max_length_margin=5)
    search = TranslationSearch(task.model, words, task.options).search
    nothing = search(task.encode(["", " \t", "\r\n"]).to_tensor(), beam_size, {})
    assert fed == []
    assert nothing.finished.numpy().all() and nothing.ids.shape == (3, beam_size, 0)
    np.testing.assert_array_equal(nothing.lengths, np.zeros((3, beam_size)))
    np.testing.assert_array_equal(nothing.log_probabilities, np.zeros((3, beam_size)))
    mixed = search(task.encode(["", "b", ""]).to_tensor(), beam_size, {})
    assert fed == [(1, beam_size)] * 8  # one sentence of 2 x 1 + 5 pieces, and where an end would follow
    np.testing.assert_array_equal(mixed.lengths, np.array([[0], [7], [0]]) * np.ones(beam_size))
    assert mixed.finished.numpy().all(axis=1).tolist() == [True, False, True]
    assert not mixed.ids.numpy()[[0, 2]].any() and mixed.ids.numpy()[1].all()


def test_a_line_that_is_too_long_is_cut_counted_and_in_its_place(parrot: Translator) -> None:
    long = " ".join(["p o n m l k j i h g f"] * 1000)
    texts = ["a b", long, "c", " ".join("abcdefghijk")]
    assert parrot.translate(texts) == ["a b", "p o n m l k j i h g f", "c", " ".join("abcdefghijk")]
    assert parrot.count_cut(texts) == 1  # eleven words and the end are just not too long
    ids = parrot.encode(texts)
    assert ids.row_lengths().numpy().tolist() == [3, 12, 2, 12]
    assert [row[-1] for row in ids.to_list()] == [END_ID] * 4


def test_a_cut_sentence_is_translated_as_the_shorter_one(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator, "max_source_length", 5)
    texts = ["1 2 3", "3 4 5 6 " * 2500, "7 8 9"]
    assert translator.translate(texts) == ["3 2 1", "6 5 4 3", "9 8 7"]
    assert translator.count_cut(texts) == 1


def test_a_sentence_has_the_same_answer_alone_and_among_others(
    translator: Translator, reversal_pairs: Pairs
) -> None:
    sources = [source for source, _ in reversal_pairs]
    together = translator.n_best(sources)
    for place in range(0, len(sources), 9):
        (alone,) = translator.n_best([sources[place]])
        assert [h.text for h in alone] == [h.text for h in together[place]]
        scores = [h.score for h in together[place]]
        np.testing.assert_allclose([h.score for h in alone], scores, rtol=1e-4, atol=1e-5)
    best = translator.translate(sources)
    assert best == [hypotheses[0].text for hypotheses in together]
    assert all(len({h.text for h in hypotheses}) == 3 for hypotheses in together)


def test_what_was_learnt_ends_by_itself(translator: Translator, reversal_pairs: Pairs) -> None:
    answers = translator.n_best([source for source, _ in reversal_pairs], 1)
    assert all(hypotheses[0].finished for hypotheses in answers)
    for (_, target), (hypothesis,) in zip(reversal_pairs, answers, strict=True):
        if hypothesis.text == target:
            # The mean formula: the log-probability over the pieces and the end.
            length = len(target.split()) + 1
            assert hypothesis.score == pytest.approx(hypothesis.log_probability / length, rel=1e-5)


def test_a_beam_of_one_is_greedy_search(translator: Translator, reversal_pairs: Pairs) -> None:
    sources = [source for source, _ in reversal_pairs]
    greedy = [hypotheses[0] for hypotheses in translator.n_best(sources, beam_size=1)]
    ids = translator.encode(sources).to_tensor(PAD_ID)
    model = translator.model
    result = beam_search(
        model.step,
        model.start_cache(model.encode(ids), num_hypotheses=1),
        batch_size=len(sources),
        beam_size=1,
        max_lengths=2 * (tf.math.count_nonzero(ids, axis=1, dtype=tf.int32) - 1) + 10,
        start_id=START_ID,
        end_id=END_ID,
        forbidden_ids=(PAD_ID, START_ID),
    )
    texts = translator.preprocessor.decode_target(result.ids[:, 0]).numpy()
    assert [hypothesis.text for hypothesis in greedy] == [text.decode() for text in texts]
    expected = result.log_probabilities[:, 0].numpy()
    np.testing.assert_allclose([h.log_probability for h in greedy], expected, rtol=1e-4, atol=1e-5)


def test_an_answer_that_reaches_its_limit_is_cut_there_and_says_so(babbler: Translator) -> None:
    short, long = babbler.n_best(["b", "b c d e"])
    assert short[0].text == " ".join("a" * 3)  # 1.5 x 1 piece, rounded down, and 2
    assert long[0].text == " ".join("a" * 8)  # 1.5 x 4 pieces and 2
    assert not short[0].finished and not long[0].finished


def test_learned_positions_bound_both_sides(echo: Any, endless: Any, words: Preprocessor) -> None:
    babbler = Translator(endless(max_length=5), words, beam_size=1)
    assert babbler.translate(["b c d"]) == ["a a a a"]  # the start takes the fifth place
    parrot = Translator(echo(max_length=5), words, beam_size=1)
    assert parrot.translate(["b c d e f g", "h"]) == ["b c d e", "h"]
    assert parrot.count_cut(["b c d e f g", "b c d e"]) == 1


def test_a_transformer_of_learned_positions_takes_any_line(words: Preprocessor) -> None:
    from tf_transformer.models import Transformer

    sizes = {"num_layers": 1, "hidden_dim": 4, "intermediate_dim": 6, "num_heads": 2}
    model = Transformer(words.target_vocabulary_size, positions="learned", max_length=5, seed=1, **sizes)
    task = Translator(model, words, beam_size=1)
    answers = task.n_best(["a b c d e f g h", "", "b"])
    assert [len(hypotheses) for hypotheses in answers] == [1, 1, 1]
    assert all(len(hypotheses[0].text.split()) <= 4 for hypotheses in answers)


def test_a_tokenizer_of_another_vocabulary_is_refused_at_once(echo: Any) -> None:
    shorter = Preprocessor.train(["a b c"], ["a b c"], tokenizer="words")
    message = r"`model` and `preprocessor` must have the same `source_vocabulary_size`.*Received: 20 and 7"
    with pytest.raises(ValueError, match=message):
        Translator(echo(), shorter)


@pytest.mark.parametrize(
    ("texts", "received"),
    [
        ("a b", "one string, 'a b'"),
        (b"a b", "one string, b'a b'"),
        (None, "NoneType"),
        (3, "int"),
        ({"a": "b"}, "dict"),
        ([1], "int at place 0"),
        (["a", None], "NoneType at place 1"),
        (["a", b"b"], "bytes at place 1"),
        (tf.constant(["a"]), "EagerTensor at place 0"),
    ],
)
def test_what_is_no_list_of_strings_is_refused(parrot: Translator, texts: Any, received: str) -> None:
    for ask in (parrot.translate, parrot.n_best, parrot.encode, parrot.count_cut):
        with pytest.raises(TypeError, match=f"`texts` must be a list of strings. Received: {received}$"):
            ask(texts)


def test_any_ordered_collection_of_strings_will_do(parrot: Translator) -> None:
    for texts in (("a", "b c"), np.array(["a", "b c"]), (text for text in ("a", "b c"))):
        assert parrot.translate(texts) == ["a", "b c"]  # type: ignore[arg-type]


def test_half_a_surrogate_pair_is_unknown(parrot: Translator) -> None:
    # Its three bytes are no UTF-8, and each becomes a replacement character.
    assert parrot.translate(["a \ud800", "b"]) == ["a <unk> <unk> <unk>", "b"]


def test_wrong_arguments(parrot: Translator, echo: Any, words: Preprocessor) -> None:
    for number in (0, 3):  # the beam holds two
        with pytest.raises(ValueError, match=rf"`num_results` must be from 1 to 2\. Received: {number}"):
            parrot.n_best(["a"], number)
    for length in (1, -3):
        message = rf"`max_source_length` must be at least 2\. Received: {length}"
        with pytest.raises(ValueError, match=message):
            Translator(echo(), words, max_source_length=length)
    with pytest.raises(ValueError, match="Received: samples"):
        Translator(echo(), words, samples=True)
    with pytest.raises(TypeError, match=r"`options` must be SearchOptions\. Received: 4"):
        Translator(echo(), words, 4)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"`beam_size` must be a whole number"):
        parrot.translate([], beam_size=2.5)  # said at once, also where there is nothing to do


def test_an_export_goes_into_a_folder(parrot: Translator, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    with pytest.raises(ValueError, match=r"`folder` must be a folder, .*Received: .*file, a file"):
        parrot.export(tmp_path / "file")
    with pytest.raises(TypeError):
        parrot.export(None)  # type: ignore[arg-type]
    assert (tmp_path / "file").read_text() == "kept"


def test_a_wide_beam_takes_fewer_sentences_at_once(
    parrot: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    monkeypatch.setattr(module, "batches_by_length", lambda lengths, most: seen.append(most) or [])
    for beam_size in (1, 8, 32, 1000):
        parrot.n_best(["a"], beam_size=beam_size)
    assert seen == [4096, 4096, 1024, 32]


def test_batches_are_of_like_lengths_within_the_bound() -> None:
    lengths = np.array([3, 50, 2, 3, 0, 9, 10])
    batches = batches_by_length(lengths, 20)
    assert [batch.tolist() for batch in batches] == [[1], [6, 5], [0, 3, 2, 4]]
    assert batches_by_length(np.array([], np.int64), 20) == []
