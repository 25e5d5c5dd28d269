"""CTranslate2's search under a translator's rules, on an engine whose answers are made up."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from tf_transformer.tasks.ctranslate2_search import CTranslate2Search, Found, spellings
from tf_transformer.tasks.options import SearchOptions


class Engine:
    """Answers each source by what stands for it: hypotheses of pieces and log-probabilities, by the limit.

    Scores are divided by the length as CTranslate2 does when it is asked for the end token.
    """

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers
        self.calls: list[tuple[list[str], dict[str, Any]]] = []

    def translate_batch(self, sources: list[list[str]], **given: Any) -> list[Any]:
        self.calls.append((["".join(source) for source in sources], given))
        found = []
        for source in sources:
            several = self.answers["".join(source)](given["max_decoding_length"])[: given["num_hypotheses"]]
            pieces = [list(words) + ["</s>"] * ended for words, _, ended in several]
            logs = [log for _, log, _ in several]
            scores = [
                log / len(words) ** given["length_penalty"] for words, log in zip(pieces, logs, strict=True)
            ]
            found.append(SimpleNamespace(hypotheses=pieces, scores=scores))
        return found


def search(answers: dict[str, Any], number: int = 1, longest: int = 99, **options: Any) -> Any:
    engine = Engine(answers)
    given = {"beam_size": 3, "max_length_factor": 1.0, "max_length_margin": 1, **options}
    return engine, CTranslate2Search(engine, SearchOptions(**given), number, ["<pad>"], longest)


def test_scores_become_log_probabilities_with_the_end_counted() -> None:
    engine, found = search({"ab": lambda _: [("xy", -6.0, True)]}, length_penalty=1.0)
    assert found.answers([["a", "b"]], [2]) == [[Found(("x", "y"), -6.0, True)]]
    assert found.answers([["a", "b"]], [2])[0][0].score(found.options) == -2.0
    ((_, given), _) = engine.calls
    # Two pieces and one more, and the end token; asked for the best alone.
    assert (given["max_decoding_length"], given["num_hypotheses"]) == (4, 1)
    assert given["suppress_sequences"] == [["<pad>"]] and given["max_input_length"] == 0


def test_the_other_formula_is_ranked_here() -> None:
    answers = {"a": lambda _: [("x", -4.0, True), ("xyz", -4.1, True)]}
    _, found = search(answers, length_formula="gnmt", length_penalty=2.0, max_length_margin=9)
    # Lengths 2 and 4: -4 / (7/6)^2 = -2.94, and -4.1 / (9/6)^2 = -1.82.
    ((best,),) = found.answers([["a"]], [1])
    assert best.pieces == ("x", "y", "z") and best.score(found.options) == pytest.approx(-4.1 / 2.25)


def test_each_sentence_keeps_to_its_own_limit() -> None:
    def long(most: int) -> list[Any]:
        return [("xxxx", -1.0, True)] if most > 4 else [("xxxx", -2.0, False), ("yy", -3.0, True)]

    engine, found = search({"ab": long, "abcd": lambda _: [("z", -1.0, True)]}, length_penalty=0.0)
    answers = found.answers([["a", "b"], list("abcd")], [2, 4])
    # Both at the greater limit, 5 pieces; then the short one at its own, 3, where what ended goes first.
    assert [(sources, given["max_decoding_length"]) for sources, given in engine.calls] == [
        (["ab", "abcd"], 6),
        (["ab"], 4),
    ]
    assert answers == [[Found(("y", "y"), -3.0, True)], [Found(("z",), -1.0, True)]]


def test_what_never_ends_is_cut_at_the_limit() -> None:
    engine, found = search({"a": lambda most: [("x" * most, -most, False)]}, number=2, length_penalty=0.0)
    best, none = found.answers([["a"]], [1])[0]
    # Two pieces are allowed: with room for an end there would be a third, and its probability.
    assert [given["max_decoding_length"] for _, given in engine.calls] == [3, 3, 2]
    assert best == Found(("x", "x"), -2.0, False)
    assert none == Found((), -math.inf, False)


def test_positions_may_be_fewer_than_the_limit() -> None:
    engine, found = search({"a": lambda _: [("x", -1.0, True)]}, longest=1, max_length_margin=50)
    found.answers([["a"]], [1])
    assert engine.calls[0][1]["max_decoding_length"] == 2


def test_without_a_piece_nothing_is_asked() -> None:
    engine, found = search({}, number=2)
    assert found.answers([[], ["<tag>"]], [0, 0]) == [[Found((), 0.0, True)] * 2] * 2
    assert engine.calls == []


def test_a_shortest_answer_parts_lengths() -> None:
    answers = {name: lambda _: [("xxx", -1.0, True)] for name in ("a", "b", "cd")}
    engine, found = search(answers, min_length_factor=2.0, max_length_margin=9)
    found.answers([["a"], ["c", "d"], ["b"]], [1, 2, 1])
    assert [(sources, given["min_decoding_length"]) for sources, given in engine.calls] == [
        (["a", "b"], 2),
        (["cd"], 4),
    ]


def test_pieces_of_one_spelling_are_told_apart() -> None:
    assert spellings(["<pad>", "a", "b", "a", "a#3"]) == ["<pad>", "a", "b", "a#3", "a#3#4"]
