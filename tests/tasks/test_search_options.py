"""Options of translations on a model whose every probability is known, alone and among others."""

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import Transformer
from tf_transformer.models.ensemble import Ensemble
from tf_transformer.presets import END_ID
from tf_transformer.tasks.long_inputs import split_long
from tf_transformer.tasks.translate import Translator
from tf_transformer.text import Preprocessor

LINES = ["a b c", "", "d", "e f g h"]


class Speaker:
    """Says the source again: at each position its piece with 0.6, the one after that in the alphabet with 0.3
    and, with 0.1, the end; past its end "a" with 0.1, "b" with 0.3 and the end. It looks at what it says.
    """

    source_vocabulary_size = target_vocabulary_size = 20
    max_length = None

    def encode(self, source_ids: tf.Tensor, training: bool) -> tf.Tensor:
        return source_ids

    def start_cache(self, memory: tf.Tensor, num_hypotheses: int) -> dict[str, Any]:
        seen = tf.zeros([tf.shape(memory)[0], num_hypotheses, 0, 1])
        return {"hypotheses": [seen], "shared": memory}

    def step(self, ids: tf.Tensor, cache: dict[str, Any]) -> Any:
        logits, _, cache = self.attending_step(ids, cache)
        return logits, cache

    def attending_step(self, ids: tf.Tensor, cache: dict[str, Any]) -> Any:
        (seen,), source = cache["hypotheses"], cache["shared"]
        shape = tf.shape(ids)
        logits, attention = self.spoken(source, tf.shape(seen)[2])
        new = tf.concat([seen, tf.zeros([shape[0], shape[1], 1, 1])], 2)
        tiled = [tf.repeat(part[:, None], shape[1], axis=1) for part in (logits, attention)]
        return (*tiled, {"hypotheses": [new], "shared": source})

    def decode(self, target_ids: tf.Tensor, memory: tf.Tensor, training: bool = False) -> tf.Tensor:
        return self.decode_attending(target_ids, memory)[0]

    def decode_attending(self, target_ids: tf.Tensor, memory: tf.Tensor) -> Any:
        length = tf.shape(target_ids)[1]
        found = tf.map_fn(
            lambda place: self.spoken(memory, place),
            tf.range(length),
            fn_output_signature=(tf.float32, tf.float32),
        )
        return tuple(tf.transpose(part, [1, 0, 2]) for part in found)

    def spoken(self, source: tf.Tensor, place: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        length = tf.shape(source)[1]
        padded = tf.pad(source, [[0, 0], [0, 1]])
        said = tf.gather(padded, tf.minimum(place, length), axis=1)  # [B]
        past = (said == 0) | (said == END_ID)
        here = tf.where(past, 4, said)  # "a"
        shares = tf.where(past[:, None], [[0.1, 0.3, 0.6]], [[0.6, 0.3, 0.1]])
        ids = tf.stack([here, tf.where(here < 19, here + 1, 4), tf.fill(tf.shape(here), END_ID)], axis=1)
        spread = tf.reduce_sum(tf.one_hot(ids, 20) * shares[..., None], axis=1)
        last = tf.math.count_nonzero(source, axis=1, dtype=tf.int32) - 1
        return tf.math.log(spread + 1e-20), tf.one_hot(tf.minimum(place, last), length)


@pytest.fixture(scope="module")
def speaker(words: Preprocessor) -> Translator:
    return Translator(Speaker(), words, beam_size=6, length_penalty=0.0)  # type: ignore[arg-type]


def probability(translator: Translator, text: str, **search: Any) -> float:
    found = translator.n_best([text], 1, **search)[0][0].log_probability
    assert found is not None
    return math.exp(found)


@pytest.mark.parametrize(
    ("search", "answers"),
    [
        ({}, ["a b c", "", "d", "e f g h"]),
        ({"prefix": "b", "length_penalty": 0.0}, ["b b c", "", "b", "b f g h"]),
        ({"prefix": ["b", "c", "", "e g"]}, ["b b c", "", "d", "e g g h"]),
        ({"banned": ["b", "e"]}, ["a c c", "", "d", "f f g h"]),
        ({"max_length_factor": 0.0, "max_length_margin": 2, "beam_size": 30}, ["a b", "", "d", "e f"]),
        ({"min_length_factor": 1.5}, ["a b c b", "", "d", "e f g h b b"]),
        ({"min_length_margin": 3}, ["a b c", "", "d b b", "e f g h"]),
        ({"no_repeat": 1, "banned": ["d"], "min_length_margin": 2}, ["a b c", "", "e b", "e f g h"]),
    ],
)
def test_rules_of_answers_alone_and_among_others(
    speaker: Translator, search: dict[str, Any], answers: list[str]
) -> None:
    search = {"length_penalty": 1.0, **search}  # the mean, in which an end at once is the worst of all
    assert speaker.translate(LINES, **search) == answers
    prefix = search.get("prefix")
    own = {**search, "prefix": prefix[3]} if isinstance(prefix, list) else search
    assert speaker.translate(LINES[3:], **own) == answers[3:]
    turned = {**search, "prefix": prefix[::-1]} if isinstance(prefix, list) else search
    assert speaker.translate(LINES[::-1], **turned) == answers[::-1]


def test_probabilities_of_rules(speaker: Translator) -> None:
    assert probability(speaker, "a b") == pytest.approx(0.6**3, rel=1e-4)
    assert probability(speaker, "a b", prefix="b") == pytest.approx(0.3 * 0.6 * 0.6, rel=1e-4)
    assert probability(speaker, "a b", min_length_margin=3) == pytest.approx(0.6**2 * 0.3 * 0.6, rel=1e-4)
    assert probability(speaker, "a", banned=["a"]) == pytest.approx(0.3 * 0.6, rel=1e-4)


def test_n_best_is_distinct_and_sorted(speaker: Translator) -> None:
    found = speaker.n_best(["a b"])[0]
    # 0.6 or 0.3 for each of two pieces and 0.6 for the end; the end alone has 0.1, after one piece 0.06.
    expected = {"a b": 0.216, "b b": 0.108, "a c": 0.108, "": 0.1, "a": 0.06, "b c": 0.054}
    assert {one.text for one in found} <= {*expected, "a b b"} and len({one.text for one in found}) == 6
    totals = [one.log_probability for one in found if one.log_probability is not None]
    assert totals == sorted(totals, reverse=True)
    np.testing.assert_allclose(np.exp(totals[:2]), [0.216, 0.108], rtol=1e-4)


def test_details_are_known_probabilities_and_places(speaker: Translator) -> None:
    (found,) = speaker.n_best(["", "a b c"], 1, details=True, prefix=["", "a c"])[1]
    details = found.details
    assert found.text == "a c c" and details is not None
    assert (details.pieces, details.source_pieces) == (("a", "c", "c"), ("a", "b", "c", "</s>"))
    np.testing.assert_allclose(np.exp(details.log_probabilities), [0.6, 0.3, 0.6, 0.6], rtol=1e-4)
    assert found.log_probability == pytest.approx(sum(details.log_probabilities), rel=1e-4)
    assert details.alignment == (0, 1, 2)
    np.testing.assert_array_equal(details.attention, np.eye(4))
    cut = speaker.n_best(["a b c"], 1, details=True, beam_size=1, max_length_factor=0.0, max_length_margin=1)[
        0
    ][0]
    assert not cut.finished and cut.details is not None and len(cut.details.log_probabilities) == 1


def test_scores_of_given_targets(speaker: Translator) -> None:
    targets = ["a b", "d", "", "e q"]
    found = speaker.score(["a b", "d e", "a", "e"], targets)
    assert [one.text for one in found] == targets
    expected = [0.6**3, 0.6 * 0.1, 0.1, None]
    for one, value in zip(found[:3], expected, strict=False):
        assert one.log_probability is not None and one.details is not None
        assert math.exp(one.log_probability) == pytest.approx(value, rel=1e-4)
        assert one.score == one.log_probability  # the length penalty is 0
        assert one.details.alignment == tuple(range(len(one.details.pieces)))
    (alone,) = speaker.score(["d e"], ["d"])
    assert alone.log_probability == pytest.approx(found[1].log_probability)
    best = speaker.n_best(["c d e"], 1)[0]
    assert speaker.score(["c d e"], [best[0].text])[0].log_probability == pytest.approx(
        best[0].log_probability
    )
    assert speaker.score([], []) == []
    with pytest.raises(ValueError, match=r"`targets` must be one for each text\. Received: 2 for 1"):
        speaker.score(["a"], ["a", "b"])


def test_alternatives_at_a_position(speaker: Translator) -> None:
    found = speaker.alternatives(["a b", "", "d"], 3, prefix="a")
    assert [[one.text for one in several] for several in found] == [
        ["a b", "a c", "a"],
        [""],
        ["a", "a b", "a a"],
    ]
    values = [math.exp(one.log_probability or 0.0) for one in found[0]]
    np.testing.assert_allclose(values, [0.6 * 0.6 * 0.6, 0.6 * 0.3 * 0.6, 0.6 * 0.1], rtol=1e-4)
    assert [one.text for one in speaker.alternatives(["a b"], 2)[0]] == ["a b", "b b"]
    assert [one.text for one in speaker.alternatives(["a b"], 2, banned=["a"])[0]] == ["b b", ""]


def test_unknown_pieces_are_named_by_the_words_they_come_from(speaker: Translator) -> None:
    lines = ["a zebra c", "a b", "quagga"]
    # An unknown piece is said again with 0.6; the piece after it is the start, which no answer has.
    assert speaker.translate(lines) == ["a <unk> c", "a b", "<unk>"]
    assert speaker.translate(lines, replace_unknown=True) == ["a zebra c", "a b", "quagga"]
    assert "<unk>" not in speaker.translate(lines, banned=["<unk>"])[0]


def test_unknown_pieces_that_leave_no_mark_cannot_be_named() -> None:
    side = Preprocessor.train(["a b"], ["a b"], tokenizer="words", unknown="drop")
    model: Any = Speaker()
    model.source_vocabulary_size = model.target_vocabulary_size = side.target_vocabulary_size
    with pytest.raises(ValueError, match=r"`replace_unknown` must be false .*Received: True"):
        Translator(model, side, replace_unknown=True)


def test_draws_belong_to_a_text_and_a_seed(speaker: Translator) -> None:
    once = speaker.n_best(["a b", "c d", "a b"], 9, sample=True, seed=5)
    texts = [[one.text for one in several] for several in once]
    assert texts[0] == texts[2] != texts[1] and len(set(texts[0])) > 1
    assert [one.text for one in speaker.n_best(["c d"], 9, sample=True, seed=5)[0]] == texts[1]
    assert [one.text for one in speaker.n_best(["a b"], 9, sample=True, seed=6)[0]] != texts[0]
    assert speaker.translate(["a b", "c d"], sample=True, temperature=0.0) == ["a b", "c d"]
    assert speaker.translate(["a b", "c d"], sample=True, top_k=1) == ["a b", "c d"]
    assert speaker.translate(["a b"], sample=True, top_p=0.5, prefix="e") == ["e b"]
    drawn = speaker.n_best(["a b"], 200, sample=True, prefix="b")[0]
    assert all(one.text.startswith("b") for one in drawn)
    for one in drawn:
        (again,) = speaker.score(["a b"], [one.text])
        if one.finished:
            assert one.log_probability == pytest.approx(again.log_probability, rel=1e-3)
    share = sum(one.text == "b b" for one in drawn) / 200
    assert abs(share - 0.36) < 0.15  # 0.6 * 0.6; 0.15 are four deviations
    longer = speaker.n_best(["a b"], 20, sample=True, min_length_margin=4)[0]
    assert all(len(one.text.split()) >= 4 for one in longer)


def test_coverage_prefers_what_has_read_the_whole_source(speaker: Translator) -> None:
    # "" has 0.1; "a b c d" has 0.6 ** 5 = 0.078. The first saw one of five source positions.
    assert speaker.translate(["a b c d", "a b"]) == ["", "a b"]
    covered = speaker.n_best(["a b c d", "a b"], 1, coverage_penalty=0.1)
    assert [one[0].text for one in covered] == ["a b c d", "a b"]
    assert covered[0][0].score == pytest.approx(
        5 * math.log(0.6), rel=1e-4
    )  # all of it was seen: nothing off
    assert [one.text for one in speaker.n_best(["a b c d"], 1, coverage_penalty=0.1)[0]] == ["a b c d"]


def test_an_ensemble_is_the_mean(words: Preprocessor) -> None:
    class Deaf(Speaker):
        def spoken(self, source: tf.Tensor, place: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            return super().spoken(tf.where(source == 4, 10, source), place)  # hears "g" for "a"

    both: Any = Ensemble([Speaker(), Deaf(), Deaf()])
    task = Translator(both, words, beam_size=6, length_penalty=0.0)
    assert task.translate(["a b", "c"]) == ["g b", "c"]
    assert math.exp(task.score(["a b"], ["g b"])[0].log_probability or 0.0) == pytest.approx(
        0.4 * 0.6 * 0.6, rel=1e-4
    )
    assert math.exp(task.score(["a b"], ["a b"])[0].log_probability or 0.0) == pytest.approx(
        0.2 * 0.6 * 0.6, rel=1e-4
    )


def test_long_sources_are_cut_split_or_refused(words: Preprocessor) -> None:
    text = Preprocessor.train(["a b c d e f g . ! ?"], ["h i j k l m"], tokenizer="words")
    task = Translator(Speaker(), text, beam_size=6, max_source_length=5)  # type: ignore[arg-type]
    line = "a b . c d! e"
    whole = Translator(Speaker(), text, beam_size=6).translate([line])  # type: ignore[arg-type]
    assert task.translate([line, "g"]) == ["a b . c", "g"]
    assert task.translate([line, "g"], on_long="split") == [whole[0], "g"]
    parts = [task.n_best([part], 2)[0] for part in ("a b .", "c d! e")]
    joined = task.n_best(["g", line], 2, on_long="split")[1]
    for rank in (0, 1):
        assert joined[rank].text == " ".join(part[rank].text for part in parts)
        assert joined[rank].score == pytest.approx(sum(part[rank].score for part in parts))
    assert task.translate([line], on_long="split", prefix="g")[0].startswith("g b .")
    with pytest.raises(ValueError, match=r"`texts\[1\]` must have at most 5 pieces, .*Received: 8"):
        task.translate(["a", line], on_long="refuse")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a b c. d e! f", [("a b c.", " "), ("d e! f", "")]),
        ("a. b. c. d.", [("a. b. c.", " "), ("d.", "")]),
        ("a b c d e f", [("a b c", " "), ("d e f", "")]),
        ("a b c d e. f g.", [("a b c", " "), ("d e.", " "), ("f g.", "")]),
        ("3.5 a b c", [("3.5", " "), ("a b c", "")]),
        ('a "b." c d', [('a "b."', " "), ("c d", "")]),
        ("一二。三四。", [("一二。三四。", "")]),
        ("abc", [("abc", "")]),
    ],
)
def test_parts_of_a_long_text(text: str, parts: list[tuple[str, str]]) -> None:
    assert split_long(text, lambda part: len(part.split()), 3) == parts
    by_letters = split_long("一二。三四。五", len, 4)
    assert by_letters == [("一二。", ""), ("三四。五", "")]


def test_options_that_are_off_leave_the_graph_as_it_was(speaker: Translator) -> None:
    ids = speaker.encode(["a b"]).to_tensor()

    def operations(**search: Any) -> list[str]:
        from tf_transformer.tasks.options import replace_options

        options = replace_options(speaker.options, **search)
        graph = (
            tf.function(lambda: speaker.search(ids, options, 1), autograph=False)
            .get_concrete_function()
            .graph
        )
        return sorted(node.op for body in graph.as_graph_def().library.function for node in body.node_def)

    plain = operations()
    assert operations(temperature=0.5, seed=7, top_k=3, replace_unknown=True, on_long="split") == plain
    assert len(operations(coverage_penalty=0.1)) > len(plain)


@pytest.mark.parametrize(
    ("search", "message"),
    [
        ({"banned": ["a b"]}, r"`banned` must hold single pieces .*Received: 'a b', which is 2 pieces"),
        ({"banned": ["zebra"]}, r"`banned` must hold single pieces .*Received: 'zebra', which is unknown"),
        ({"prefix": ["a", "b"]}, r"`prefix` must be one, or one for each text\. Received: 2"),
    ],
)
def test_what_cannot_be_asked_for(speaker: Translator, search: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        speaker.translate(["a"], **search)


def test_a_real_model_tells_the_same_step_by_step_and_read_again(words: Preprocessor) -> None:
    model = Transformer(
        words.target_vocabulary_size,
        num_layers=2,
        hidden_dim=8,
        intermediate_dim=12,
        num_heads=2,
        positions="learned",
        max_length=6,
        seed=1,
    )
    task = Translator(model, words, beam_size=3)
    lines = ["a b c", "d", "e f g h i j k"]
    for several in task.n_best(lines, details=True):
        for one in several:
            assert one.details is not None and one.log_probability is not None
            assert one.log_probability == pytest.approx(sum(one.details.log_probabilities), rel=1e-4)
            assert all(0 <= place < len(one.details.source_pieces) - 1 for place in one.details.alignment)
            np.testing.assert_allclose(np.sum(one.details.attention, axis=1), 1.0, rtol=1e-4)
    assert task.translate(["a"], prefix="a b c d e f g h") == ["a b c d e"]  # as far as positions go
    with pytest.raises(ValueError, match=r"`targets\[0\]` must have at most 5 pieces\. Received: 6"):
        task.score(["a"], ["a b c d e f"])
