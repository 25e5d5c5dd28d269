"""Text in, text out: order, empty and endless lines, neighbours, limits and options."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.decoding.beam import beam_search
from tf_transformer.presets import END_ID, PAD_ID, START_ID
from tf_transformer.tasks import translate as module
from tf_transformer.tasks.translate import SearchOptions, Translator, batches_by_length, replace_options
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
    texts = ["1 2", "3 4 5 6 " * 2500, "7 8"]
    assert translator.translate(texts) == ["2 1", "6 5 4 3", "8 7"]
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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam": 3}, r"Search options must be among beam_size, .*max_length_margin\. Received: beam"),
        ({"beam_size": 0}, r"`beam_size` must be at least 1\. Received: 0"),
        ({"length_formula": "sum"}, r"`length_formula` must be \"gnmt\" or \"mean\"\. Received: 'sum'"),
        ({"length_penalty": -1.0}, "length_penalty"),
        ({"max_length_factor": -0.5}, r"`max_length_factor` must be at least 0\. Received: -0\.5"),
        ({"max_length_margin": -1}, r"`max_length_margin` must be at least 0\. Received: -1"),
    ],
)
def test_wrong_search_options(parrot: Translator, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parrot.translate(["a"], **options)


def test_wrong_arguments(parrot: Translator, echo: Any, words: Preprocessor) -> None:
    with pytest.raises(TypeError, match=r"`texts` must be a list of strings\. Received: one string, 'a b'"):
        parrot.translate("a b")
    with pytest.raises(ValueError, match="num_results"):
        parrot.n_best(["a"], 3)  # more than the beam holds
    with pytest.raises(ValueError, match="Received: sample"):
        Translator(echo(), words, sample=True)


def test_options_replace_single_fields() -> None:
    options = SearchOptions(beam_size=7)
    assert replace_options(options, length_penalty=0.5) == SearchOptions(beam_size=7, length_penalty=0.5)
    assert replace_options(options) == options


def test_batches_are_of_like_lengths_within_the_bound() -> None:
    lengths = np.array([3, 50, 2, 3, 0, 9, 10])
    batches = batches_by_length(lengths, 20)
    assert [batch.tolist() for batch in batches] == [[1], [6, 5], [0, 3, 2, 4]]
    assert batches_by_length(np.array([], np.int64), 20) == []
