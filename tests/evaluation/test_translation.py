"""Figures of translations: the whole set, by the weights of the moment, and sacreBLEU's own on the text."""

from collections.abc import Sequence
from typing import Any

import keras
import pytest
import sacrebleu
import tensorflow as tf

from tf_transformer.evaluation import EvaluationSet, Outcome, Sample, over_sets
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.evaluation.translation import TranslationEvaluator
from tf_transformer.text import Normalizer

VOCABULARY = 7


class Toy(keras.Model):
    """Believes in one class, as strongly as its weight says."""

    def __init__(self) -> None:
        super().__init__()
        self.logit = self.add_weight(name="logit", shape=(), initializer="zeros")
        self.built = True

    def call(self, inputs: dict[str, tf.Tensor], training: bool = False) -> tf.Tensor:
        return tf.one_hot(tf.fill(tf.shape(inputs["target_ids"]), 4), VOCABULARY) * self.logit


class Task:
    """Answers with the source, once more for each unit of its model's weight."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.normalize = Normalizer().normalize_texts
        self.asked: list[Any] = []

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        self.asked.append((list(texts), search))
        return [" ".join([text] * (1 + int(self.model.logit.numpy()))) for text in texts]


def dev_set(name: str, sources: list[str], labels: list[list[list[int]]]) -> EvaluationSet:
    batches = []
    for rows in labels:
        ids = tf.constant(rows, tf.int32)
        batches.append(({"source_ids": ids, "target_ids": ids}, ids))
    return EvaluationSet(name, {"source": sources, "target": sources}, batches)


SETS = [
    dev_set("one", ["a b c d e", "f g h i", "j k l m n o"], [[[4, 4], [4, 0]], [[5]]]),
    dev_set("two", ["x y z w v"], [[[4, 4, 4]]]),
]


def evaluator(model: Any, task: Any, samples: int = 2) -> TranslationEvaluator:
    forced = TeacherForced(model, 0.0)
    return TranslationEvaluator(task, tokenize="13a", teacher_forced=forced, beam=3, samples=samples)


def validate(model: Any, task: Any, **options: Any) -> Outcome:
    return over_sets(SETS, evaluator(model, task, **options).quick, "val")


def test_every_sentence_of_every_set_is_measured_each_time() -> None:
    model = Toy()
    task = Task(model)
    first, again = validate(model, task), validate(model, task)
    assert first == again
    assert task.asked == [(list(dev.columns["source"]), {"beam_size": 3}) for dev in (*SETS, *SETS)]
    log = pytest.approx(1.9459101)  # every class of 7 is as likely: ln 7
    assert {name: first.figures[name] for name in ("val_loss", "val_two_loss")} == {
        "val_loss": log,
        "val_two_loss": log,
    }
    assert first.figures["val_accuracy"] == 0.0  # of equals, the first class: padding
    assert first.figures["val_bleu"] == first.figures["val_two_bleu"] == pytest.approx(100.0)
    assert set(first.figures) == {
        f"{prefix}{name}"
        for prefix in ("val_", "val_two_")
        for name in ("loss", "perplexity", "accuracy", "bleu", "chrf")
    }
    model.logit.assign(2.0)
    figures = validate(model, task).figures
    assert figures["val_accuracy"] == pytest.approx(0.75)  # three labels of four are class 4
    assert figures["val_bleu"] < 50.0  # said three times


def test_rouge_is_measured_where_it_is_asked_for() -> None:
    found = EvaluationSet("", {"source": ["the cats sat", "a"], "target": ["a cat sat", "a"]})
    scored = TranslationEvaluator(Task(Toy()), tokenize="13a", rouge="stemmed").full(found)
    # Two of three words agree, stemmed, in order, and no two neighbours but "cat sat"; then all of one word.
    assert scored.figures["rouge_1"] == scored.figures["rouge_l"] == pytest.approx(100 * (2 / 3 + 1) / 2)
    assert scored.figures["rouge_2"] == pytest.approx(100 * (1 / 2 + 0) / 2)
    assert scored.signatures["rouge_l"].startswith("rougeL|F1|tok:a-z0-9|stemmer:yes|version:")
    assert "  ROUGE-L     83.33  rougeL|F1|" in "\n".join(scored.lines)
    assert not any(
        "ROUGE" in line for line in TranslationEvaluator(Task(Toy()), tokenize="13a").full(found).lines
    )


def test_samples_are_the_first_sentences_of_the_first_set() -> None:
    model = Toy()
    samples = validate(model, Task(model)).samples
    assert samples == [Sample(text, text, text, pytest.approx(100)) for text in SETS[0].columns["source"][:2]]
    assert validate(model, Task(model), samples=0).samples == []


def test_dev_chooses_by_the_tasks_own_search() -> None:
    model = Toy()
    task = Task(model)
    found = evaluator(model, task).choosing(SETS[1])
    assert task.asked == [(["x y z w v"], {})]
    assert found.brief == "BLEU 100.00, loss 1.946"
    assert {"loss", "bleu"} <= set(found.figures)


def test_a_test_set_is_told_in_full_and_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tf_transformer.evaluation.translation.SENTENCES_AT_ONCE", 2)
    model, done = Toy(), list[int]()
    task = Task(model)
    found = evaluator(model, task).full(SETS[0], done.append)
    assert done == [2, 1] and [texts for texts, _ in task.asked] == [
        SETS[0].columns["source"][:2],
        ["j k l m n o"],
    ]
    assert list(found.answers) == SETS[0].columns["source"]
    assert found.figures["exact_match"] == 100.0 and "loss" not in found.figures
    assert found.brief.startswith("BLEU 100.00 [") and "exact 100.0 %, nrefs:1" in found.brief
    assert [line.split()[0] for line in found.lines] == ["BLEU", "chrF", "TER", "exact"]
    assert found.lines[-1] == "  exact match 100.00 %"


class Parrot:
    """A translator that answers with what it heard."""

    def __init__(self, normalizer: Normalizer) -> None:
        self.normalize = normalizer.normalize_texts

    def translate(self, texts: Sequence[str], **search: Any) -> list[str]:
        return [text.lower() for text in texts]


SOURCES = ["The cat sat on a mat.", "A dog, too!", "And so it ends"]
REFERENCES = [["the cat sat on the mat.", "a dog too!", "and so it ends"], ["a cat sat.", "a dog,", "so"]]


@pytest.mark.parametrize("tokenize", ["13a", "char"])
def test_the_score_is_sacrebleus_of_the_text_and_all_references(tokenize: str) -> None:
    given = EvaluationSet("", {"source": SOURCES, "target": REFERENCES[0], "target_2": REFERENCES[1]})
    found = TranslationEvaluator(Parrot(Normalizer()), tokenize=tokenize).full(given)
    assert found.answers == [text.lower() for text in SOURCES]
    expected = sacrebleu.corpus_bleu(list(found.answers), REFERENCES, tokenize=tokenize).score
    assert found.figures["bleu"] == pytest.approx(expected)
    assert found.figures["exact_match"] == pytest.approx(100 / 3)
    assert f"tok:{tokenize}" in found.signatures["bleu"] and "nrefs:2" in found.signatures["bleu"]
    assert set(over_sets([given], lambda _: found, "test").figures) == set(found.figures)  # it has no name


def test_references_pass_the_recipes_normalizer() -> None:
    task: Any = Parrot(Normalizer(normal_form="nfkc", lowercase=True))
    references = ["THE CAT  SAT ON A MAT.", "A DOG, TOO!", "AND SO ＩＴ ENDS"]
    found = TranslationEvaluator(task, tokenize="13a").full(
        EvaluationSet("", {"source": SOURCES, "target": references})
    )
    assert found.figures["bleu"] == pytest.approx(100.0)
