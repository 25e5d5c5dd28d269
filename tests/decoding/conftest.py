"""A toy model whose every probability is known, and plain-Python searches over it."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

PAD, START, END = 0, 1, 2
PIECES = (3, 4, 5)
VOCABULARY = 6


class ToyModel:
    """Logits [sentences, prefixes, V] by sentence and whole prefix, so that a mixed-up cache is noticed.

    A prefix is written as a number in base V, the start left out; each hypothesis carries its own in the
    cache, and its sentence's number is shared.
    """

    def __init__(self, logits):
        self.logits = np.asarray(logits, "float32")

    @classmethod
    def random(cls, num_sentences, max_length, seed=5, spread=1.5):
        rng = np.random.default_rng(seed)
        return cls(rng.normal(size=(num_sentences, VOCABULARY**max_length, VOCABULARY)) * spread)

    @classmethod
    def chain(cls, probabilities, num_sentences=1):
        """A Markov chain: a distribution for each last token; its prefix number is that token alone."""
        model = cls(np.log(np.maximum(np.tile(probabilities, (num_sentences, 1, 1)), 1e-30)))
        model.base = 0
        return model

    base = VOCABULARY

    def cache(self, sentences, beam_size):
        sentences = tf.convert_to_tensor(sentences, tf.int32)
        codes = tf.zeros(tf.concat([tf.shape(sentences), [beam_size, 1, 1]], 0), tf.int32)
        seen = tf.zeros(tf.concat([tf.shape(sentences), [beam_size, 0, 1]], 0), tf.int32)
        return {"hypotheses": {"code": codes, "layers": [seen]}, "shared": {"sentence": sentences}}

    def step(self, ids, cache):
        hypotheses, sentences = cache["hypotheses"], cache["shared"]["sentence"]
        known = tf.where(ids == START, 0, ids) if self.base else ids
        code = hypotheses["code"][..., 0, 0] * self.base + known  # [B, K]
        # Inactive sentences go on being fed; what they compute is not looked at.
        code = tf.minimum(code, self.logits.shape[1] - 1)
        logits = tf.gather_nd(
            self.logits, tf.stack([tf.broadcast_to(sentences[:, None], tf.shape(code)), code], axis=-1)
        )
        seen = tf.concat([hypotheses["layers"][0], ids[:, :, None, None]], axis=-2)
        return logits, {
            "hypotheses": {"code": code[:, :, None, None], "layers": [seen]},
            "shared": cache["shared"],
        }

    def log_probabilities(self, sentence, prefix):
        code = 0
        for token in prefix if self.base else (prefix[-1:] or [START]):
            code = code * self.base + token
        logits = self.logits[sentence, code].astype("float64")
        return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def score(log_probability, length, alpha, formula):
    length = max(length, 1)
    return log_probability / (length if formula == "mean" else (5.0 + length) / 6.0) ** alpha


def brute_force(model, sentence, max_length, alpha, formula):
    """(pieces, log-probability, score) of every sequence that ends, best first."""
    found = []
    for length in range(max_length + 1):
        for pieces in itertools.product(PIECES, repeat=length):
            total = sum(
                model.log_probabilities(sentence, pieces[:place])[token]
                for place, token in enumerate((*pieces, END))
            )
            found.append((list(pieces), total, score(total, length + 1, alpha, formula)))
    return sorted(found, key=lambda one: -one[2])


def textbook_beam(model, sentence, beam_size, max_length, alpha, formula):
    """Beam search that never stops early: the finished hypotheses, best first, and those cut."""
    live, finished = [((), 0.0)], []
    for time in range(max_length + 1):
        extensions = [
            (pieces, token, total + model.log_probabilities(sentence, pieces)[token])
            for pieces, total in live
            for token in (END, *PIECES)
        ]
        best = sorted(extensions, key=lambda one: -one[2])[:beam_size]
        ended = [(list(p), t, score(t, time + 1, alpha, formula)) for p, token, t in best if token == END]
        finished += ended
        if time == max_length:
            done = [pieces for pieces, _, _ in ended]
            live = [(pieces, total) for pieces, total in live if list(pieces) not in done]
        else:
            live = [((*p, token), t) for p, token, t in best if token != END]
    cut = [(list(p), t, score(t, max_length, alpha, formula)) for p, t in live]
    return sorted(finished, key=lambda one: -one[2]), cut


def hypotheses(result, sentence):
    """(pieces, log-probability, score) of one sentence's hypotheses; empty places left out."""
    rows = []
    for ids, length, value, total, finished in zip(*(part[sentence].numpy() for part in result), strict=True):
        if math.isfinite(value):
            rows.append((ids[: length - int(finished)].tolist(), float(total), float(value)))
            assert not ids[length - int(finished) :].any()  # padded with 0
        else:
            assert length == 0 and not ids.any() and not finished
    return rows


@pytest.fixture(scope="session")
def toy():
    """The toy model, its special ids, and the searches to compare with."""
    return SimpleNamespace(
        Model=ToyModel,
        ids={"start_id": START, "end_id": END, "forbidden_ids": (PAD, START)},
        start=START,
        end=END,
        pieces=PIECES,
        vocabulary=VOCABULARY,
        brute_force=brute_force,
        textbook_beam=textbook_beam,
        hypotheses=hypotheses,
        score=score,
    )
