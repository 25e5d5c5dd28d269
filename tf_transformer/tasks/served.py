"""What a SavedModel of a task holds: its variables, its vocabulary, and its signatures."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import tensorflow as tf

from tf_transformer.decoding.length_penalty import ranking_score
from tf_transformer.presets import PAD_ID
from tf_transformer.tasks.inspection import explored, inspected, piece_names
from tf_transformer.tasks.piece_rules import seeds_of

Outputs = dict[str, tf.Tensor]

_PREFIX = {"prefix": tf.string}
_SEARCH = {
    **_PREFIX,
    "min_length": tf.int32,
    "max_length": tf.int32,
    "length_penalty": tf.float32,
    "repetition_penalty": tf.float32,
}
_SAMPLE = {"seed": tf.int32, "temperature": tf.float32, "top_k": tf.int32, "top_p": tf.float32}
_PENALTIES = ("length_penalty", "repetition_penalty")
_INSPECT = {"target": tf.string, "target_ids": tf.string, "layer": tf.int32}
_IDS = tf.TensorSpec([None, None], tf.int32, name="source_ids")
_BEST = ("text", "score", "log_probability")


class ServedTranslator(tf.Module):
    """A translator with its signatures, ready for ``tf.saved_model.save``.

    All take ``text``, string ``[B]``, and, where the translator has tags, ``tag``, string ``[B]``: an input
    of its own, which no text can be mistaken for. Further inputs are a value a text, so that servers may put
    requests together. Whatever they ask for, no answer is longer than that of the longest text may be.

    Args:
        task: A :class:`~tf_transformer.tasks.translate.Translator`.

    Attributes:
        serving_default: The best translation of each text.
        n_best: All hypotheses of the beam, best first.
        prefix: The best one that begins with ``prefix``.
        search: The same with ``min_length`` and ``max_length`` in pieces, below 0 for the exported rule,
            ``length_penalty`` and ``repetition_penalty``, 1 for none.
        sample: One drawn by ``seed``, ``temperature``, ``top_k``, 0 for all, and ``top_p``, 1 for all.
        score: How likely ``target`` is, as a whole and piece by piece.
        attention: The best translation with its pieces, and how much of each source piece each is made from.
        explore: As `n_best`, by the options of `search`, behind the pieces ``prefix_ids``, as in "5 12",
            and ``prefix``; with the ``ids`` of the pieces. A penalty below 0 is the exported one.
        inspect: What the model says of the answer of the pieces ``target_ids``, as in "5 12", and
            ``target``: its ``text``, ``score`` and ``log_probability``; its ``pieces`` and their ``ids``, the
            end at last, with ``log_probabilities``, and the likeliest of each place, ``alternatives``;
            ``source_pieces``; and, of the ``layer`` asked for (1 the first, -1 the last, 0 the mean) and each
            head, the attention of pieces to source pieces, ``cross`` ``[B, H, T + 1, S]``, of source pieces
            to each other, ``encoder``, and of pieces to those before, ``decoder``, whose first column is the
            start; ``num_layers`` ``[B, 2]`` of encoder and decoder.
        ids: The best translation as ids, of ids: for who makes pieces of text elsewhere. Its graph has no
            other operations than core TensorFlow's.
    """

    def __init__(self, task: Any) -> None:
        super().__init__(name="served_translator")
        self.task = task
        has_tags = bool(task.preprocessor.source_form.tags)
        self.serving_default = _signature(self._best, has_tags)
        self.n_best = _signature(self._n_best, has_tags)
        self.prefix = _signature(self._prefix, has_tags, _PREFIX)
        self.search = _signature(self._search, has_tags, _SEARCH)
        self.sample = _signature(self._sample, has_tags, _SAMPLE)
        self.score = _signature(self._score, has_tags, {"target": tf.string})
        self.attention = _signature(self._attention, has_tags)
        self.explore = _signature(self._explore, has_tags, {**_SEARCH, "prefix_ids": tf.string})
        self.inspect = _signature(self._inspect, has_tags, _INSPECT)
        self.ids = tf.function(self._ids, input_signature=[_IDS], autograph=False)

    def _best(self, texts: tf.Tensor, **given: tf.Tensor) -> Outputs:
        answer = self.task.answer(texts, self.task.options, num_results=1, **given)
        return {name: answer[name][:, 0] for name in _BEST}

    def _n_best(self, texts: tf.Tensor) -> Outputs:
        answer = self.task.answer(texts, self.task.options, self.task.options.beam_size)
        return {name: answer[name] for name in ("text", "score")}

    def _prefix(self, texts: tf.Tensor, prefix: tf.Tensor) -> Outputs:
        # By the graph of `search`, with what the options say: a graph less to be made, stored and loaded.
        options, rows = self.task.options, tf.shape(texts)
        penalties = {name: tf.fill(rows, getattr(options, name)) for name in _PENALTIES}
        return self._search(texts, tf.fill(rows, -1), tf.fill(rows, -1), prefix=prefix, **penalties)

    def _search(
        self, texts: tf.Tensor, min_length: tf.Tensor, max_length: tf.Tensor, **given: tf.Tensor
    ) -> Outputs:
        most = tf.minimum(max_length, self.task.longest_answer)
        return self._best(texts, min_lengths=min_length, max_lengths=most, **given)

    def _sample(self, texts: tf.Tensor, seed: tf.Tensor, **given: tf.Tensor) -> Outputs:
        options = replace(self.task.options, sample=True)
        answer = self.task.answer(texts, options, num_results=1, seeds=seeds_of(texts, seed), **given)
        return {name: answer[name][:, 0] for name in _BEST}

    def _score(self, texts: tf.Tensor, target: tf.Tensor) -> Outputs:
        task = self.task
        ids = task.checked("target", task.preprocessor.encode_target(target))
        lengths = tf.cast(ids.row_lengths(), tf.int32)  # [B]
        found = task.graphs.reread(
            task.source_ids(texts).to_tensor(PAD_ID),
            ids.to_tensor(PAD_ID)[:, tf.newaxis],
            lengths[:, tf.newaxis],
            tf.ones_like(lengths[:, tf.newaxis], tf.bool),
        )
        totals = tf.reduce_sum(found.log_probabilities[:, 0], axis=-1)
        penalty, formula = task.options.length_penalty, task.options.length_formula
        return {
            "score": ranking_score(totals, lengths + 1, penalty, formula),
            "log_probability": totals,
            "pieces": piece_names(task.preprocessor.target_tokenizer.tokens, ids.to_tensor(PAD_ID)),
            "log_probabilities": found.log_probabilities[:, 0],
        }

    def _attention(self, texts: tf.Tensor) -> Outputs:
        task = self.task
        source_ids = task.source_ids(texts).to_tensor(PAD_ID)
        given = {"seeds": seeds_of(texts, task.options.seed)} if task.options.sample else {}
        result = task.search(source_ids, task.options, 1, given)
        pieces = result.lengths - tf.cast(result.finished, tf.int32)
        pieces = tf.maximum(pieces, 0)
        found = task.graphs.reread(source_ids, result.ids, pieces, result.finished)
        return {
            "text": task.texts_of(result)["text"][:, 0],
            "source_pieces": piece_names(task.preprocessor.source_tokens, source_ids),
            "pieces": piece_names(task.preprocessor.target_tokenizer.tokens, result.ids[:, 0]),
            "log_probabilities": found.log_probabilities[:, 0],
            "attention": found.attention[:, 0],
        }

    def _explore(
        self, texts: tf.Tensor, min_length: tf.Tensor, max_length: tf.Tensor, **given: tf.Tensor
    ) -> Outputs:
        most = tf.minimum(max_length, self.task.longest_answer)
        return explored(self.task, texts, min_lengths=min_length, max_lengths=most, **given)

    def _ids(self, source_ids: tf.Tensor) -> Outputs:
        task = self.task
        source_ids = task.cut_ids(source_ids)
        given = {"seeds": _seeds_of_ids(source_ids, task.options.seed)} if task.options.sample else {}
        result = task.search(source_ids, task.options, 1, given)
        return {
            "ids": result.ids[:, 0],
            "score": result.scores[:, 0],
            "log_probability": result.log_probabilities[:, 0],
        }

    def _inspect(
        self, texts: tf.Tensor, target: tf.Tensor, target_ids: tf.Tensor, layer: tf.Tensor
    ) -> Outputs:
        with self.task.weights.reading():
            return inspected(self.task, texts, target, target_ids, layer)


def _seeds_of_ids(ids: tf.Tensor, seed: int) -> tf.Tensor:
    return seeds_of(tf.strings.reduce_join(tf.strings.as_string(ids), axis=1, separator=" "), seed)


def _signature(
    answer: Callable[..., Outputs], has_tags: bool, more: dict[str, tf.DType] | None = None
) -> Any:
    """The function of a signature, around one of texts that have their tags in front.

    Args:
        answer: Takes texts, and by name what ``more`` says.
        has_tags: Whether there is a tag beside each text.
        more: Types of further inputs, one value a text.
    """
    names = {"text": tf.string, **({"tag": tf.string} if has_tags else {}), **(more or {})}

    def function(*inputs: tf.Tensor, **named: tf.Tensor) -> Outputs:
        given = {**dict(zip(names, inputs, strict=False)), **named}
        text = given.pop("text")
        if has_tags:
            # A tab in a tag would be the end of it.
            text = tf.strings.join([tf.strings.regex_replace(given.pop("tag"), "\t", " "), text], "\t")
        return answer(text, **given)

    # Callers may name each input, though they are only known here.
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(name, kind) for name in names]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    specs = [tf.TensorSpec([None], dtype, name=name) for name, dtype in names.items()]
    return tf.function(function, input_signature=specs, autograph=False)
