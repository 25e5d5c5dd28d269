"""Generation: a language model, its text side and its sampling, joined into a beginning in, what follows out.

Shapes: B prompts, K samples, P pieces of the longest prompt, T of the longest continuation.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.arguments import list_of_strings, whole_number
from tf_transformer.decoding.drawing import token_log_probabilities
from tf_transformer.decoding.sampling import Request, Sampler, SamplingState, sample, state_shapes
from tf_transformer.decoding.search_result import SearchResult
from tf_transformer.decoding.window import Windowed
from tf_transformer.models import LanguageModel
from tf_transformer.presets import END_ID, MOST_HYPOTHESES, PAD_ID, START_ID, UNKNOWN_ID
from tf_transformer.replicas import OnDevices
from tf_transformer.tasks.generation_trial import generation_trial
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.piece_rules import banned_ids, seeds_of
from tf_transformer.tasks.sampling_options import SamplingOptions
from tf_transformer.tasks.served_generator import ServedGenerator
from tf_transformer.tasks.task import TaskModule, Trial
from tf_transformer.text import LanguagePreprocessor

PIECES_AT_ONCE = 16384
"""Positions of prompts and continuations that ``samples`` puts into one batch."""
WINDOWS_READ = 16
"""Of a prompt longer than so many windows only its end is read, from where a window begins."""


class Generator(TaskModule):
    """Continues texts with a trained language model.

    The same prompt, options and seed give the same continuation, alone or among others, here and in a
    SavedModel: each prompt has random numbers of its own.

    Args:
        model: A ``LanguageModel``; it generates in the precision of its own policy.
        preprocessor: The text side that it was trained with.
        options: Sampling options; the keywords below replace single ones.
        window: The positions that the model sees, as in training; never more than it has learned positions
            for. Longer texts go on by the rule of ``decoding.window``; see also ``WINDOWS_READ``.
        stride: Pieces that are forgotten at a time when the window is full; half of it by default.
        **sampling: Fields of :class:`SamplingOptions`.

    Raises:
        TypeError: For an option of a wrong type.
        ValueError: For an option that does not exist or is out of its range, and when model and
            preprocessor have vocabularies of different sizes.

    Example:

    >>> generator = Generator(model, preprocessor, temperature=0.8)  # doctest: +SKIP
    >>> generator.generate(["ROMEO:"], max_length=300)  # doctest: +SKIP
    """

    TASK = "generate"
    SIGNATURES = ("sample", "serving_default")
    preprocessor: LanguagePreprocessor

    def __init__(
        self,
        model: LanguageModel,
        preprocessor: LanguagePreprocessor,
        options: SamplingOptions | None = None,
        *,
        window: int = 256,
        stride: int | None = None,
        **sampling: Any,
    ) -> None:
        super().__init__("generator", model, preprocessor)
        if model.vocabulary_size != preprocessor.vocabulary_size:
            raise ValueError(
                "`model` and `preprocessor` must have the same `vocabulary_size`: they do not belong "
                f"together. Received: {model.vocabulary_size} and {preprocessor.vocabulary_size}"
            )
        self.options = (options or SamplingOptions()).replaced(**sampling)
        window = whole_number("window", window, 2)
        self.window = min(window, model.max_length or window)
        self.stride = whole_number("stride", stride or max(1, self.window // 2), 1, self.window - 1)
        self._reader = Windowed(model, self.window, self.stride, START_ID)
        # Traced once for each set of rules; a cached function, because a SavedModel would try to track a
        # dictionary of graphs.
        self._graph = functools.cache(self._traced)
        self._steps = functools.cache(self._traced_steps)

    def generate(self, prompts: Sequence[str], **sampling: Any) -> list[str]:
        """What follows each prompt, in order; an empty prompt begins a text.

        Args:
            prompts: Beginnings of texts.
            **sampling: Fields of :class:`SamplingOptions` that differ from the generator's own.
        """
        return [continuations[0].text for continuations in self.samples(prompts, 1, **sampling)]

    def samples(
        self, prompts: Sequence[str], num_samples: int = 1, **sampling: Any
    ) -> list[list[Hypothesis]]:
        """Several continuations of each prompt, in the order of drawing, without the prompts.

        The score is the mean log-probability of a piece; both are the model's own, whatever the options.

        Args:
            prompts: Beginnings of texts.
            num_samples: How many for each.
            **sampling: Fields of :class:`SamplingOptions` that differ from the generator's own.

        Raises:
            TypeError: When ``prompts`` is no list of strings (one string is none), or for an option of a
                wrong type.
            ValueError: For an option that does not exist or is out of its range.
        """
        options = self.options.replaced(**sampling)
        num_samples = whole_number("num_samples", num_samples, 1, MOST_HYPOTHESES)
        texts = _strings(prompts)
        ids, rules = self._prompts(texts), self._rules(options)
        answers: list[list[Hypothesis]] = [[]] * len(prompts)
        batches = list(self._batches(ids.row_lengths().numpy(), options.max_length, num_samples))
        requests = [
            self._request(tf.gather(texts, rows), tf.gather(ids, rows), options, options.seed)
            for rows in batches
        ]
        results = self._graph(rules, num_samples).map((request,) for request in requests)
        for rows, request, result in zip(batches, requests, results, strict=True):
            for place, found in zip(rows, self._continuations(request, result), strict=True):
                answers[place] = found
        return answers

    def served(self) -> ServedGenerator:
        """See `Task`."""
        return ServedGenerator(self)

    def manifest_facts(self) -> dict[str, Any]:
        """See `Task`."""
        return {"target_vocabulary_size": self.preprocessor.vocabulary_size}

    def trial(self, samples: Sequence[str]) -> Trial:
        """See `Task`."""
        return generation_trial(self, samples)

    def probe(self, samples: Sequence[str]) -> Callable[[], np.ndarray[Any, Any]]:
        """See `Task`: the log-probability of each piece of the samples, as far as the window goes."""
        inputs, labels = self.preprocessor.assemble(
            self.preprocessor.encode_prompt(_strings(samples))[:, : self.window]
        )

        def look() -> np.ndarray[Any, Any]:
            logits = tf.cast(self.model(inputs, training=False), tf.float32)
            found = token_log_probabilities(logits, labels).numpy()
            return np.asarray(found[labels.numpy() != PAD_ID])

        return look

    def check(self, **sampling: Any) -> None:
        """Refuses sampling options that cannot be.

        Raises:
            TypeError: For an option of a wrong type.
            ValueError: For an option that does not exist or is out of its range.
        """
        self._rules(self.options.replaced(**sampling))

    def stream(self, prompt: str, **sampling: Any) -> Iterator[str]:
        """The same continuation as from ``generate``, in parts that are handed out as they come.

        A part is what the newest piece has made certain: a character of several bytes waits for its last one.

        Args:
            prompt: The beginning of a text.
            **sampling: Fields of :class:`SamplingOptions` that differ from the generator's own.
        """
        options = self.options.replaced(**sampling)
        begin, advance, result = self._steps(self._rules(options))
        texts = _strings([prompt])
        request = self._request(texts, self._prompts(texts), options, options.seed)
        state, told = begin(request), ""
        while tf.reduce_any(state.active):
            state = advance(request, state)
            text = self._continuations(request, result(request, state))[0][0].text
            certain = text.rstrip("\ufffd").rstrip(" ")
            if certain.startswith(told):
                yield certain[len(told) :]
                told = certain
        text = self._continuations(request, result(request, state))[0][0].text
        yield text[len(told) :] if text.startswith(told) else ""

    def answer(
        self, texts: tf.Tensor, options: SamplingOptions, **vectors: tf.Tensor
    ) -> dict[str, tf.Tensor]:
        """Prompts to continuations inside one graph: what a SavedModel runs.

        Args:
            texts: ``[B]`` string.
            options: How to sample.
            **vectors: ``seed``, ``temperature``, ``top_k`` and ``top_p`` for each text, ``[B]``, in place of
                the options'.

        Returns:
            ``text`` string, ``score`` and ``log_probability`` float32, ``finished`` bool, each ``[B]``.
        """
        ids = self._prompts(texts)
        request = self._request(texts, ids, options, vectors.pop("seed", options.seed))._replace(**vectors)
        answer = self._texts(request, self._sampled(request, self._rules(options), 1))
        return {name: values[:, 0] for name, values in answer.items()}

    def _prompts(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """The pieces of prompts that are read.

        Beside short ones long ones are read piece by piece, which would hold up a server, and for nothing:
        what is left out here is forgotten before the end of the prompt.
        """
        ids = self.preprocessor.encode_prompt(texts)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        over = tf.maximum(lengths - WINDOWS_READ * self.window, 0)
        forgotten = self.stride * -(-over // self.stride)
        return tf.ragged.boolean_mask(ids, tf.ragged.range(lengths) >= forgotten[:, tf.newaxis])

    def _sampled(self, request: Request, rules: tuple[Any, ...], num_samples: int) -> SearchResult:
        step = self._reader.step
        with self.weights.reading():
            cache, taken = self._read_prompts(request, num_samples)
            return sample(step, cache, request, num_samples=num_samples, taken=taken, **dict(rules))

    def _read_prompts(self, request: Request, num_samples: int) -> tuple[Any, tf.Tensor]:
        """What all prompts have in length is read at once: the cache, and how many tokens that are."""
        # The least number over no prompt is the greatest there is.
        taken = tf.minimum(tf.reduce_min(request.prompt_lengths), tf.shape(request.prompts)[1])
        return self._reader.begin(request.prompts, taken, num_samples), taken

    def _traced(self, rules: tuple[Any, ...], num_samples: int) -> OnDevices:
        return OnDevices(lambda request: self._sampled(request, rules, num_samples), self.model, [_REQUEST])

    def _traced_steps(self, rules: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """The first state, the next one, and the result of one, each as a graph."""
        sampler = Sampler(self._reader.step, **dict(rules))

        def begin(request: Request) -> SamplingState:
            cache, taken = self._read_prompts(request, 1)
            return sampler.begin(request, cache, 1, taken)

        begins = tf.function(begin, input_signature=[_REQUEST], autograph=False)
        first = begins.get_concrete_function().structured_outputs
        state = tf.nest.map_structure(
            lambda shape, spec: tf.TensorSpec(shape, spec.dtype), state_shapes(first), first
        )
        advances, results = (
            tf.function(function, input_signature=[_REQUEST, state], autograph=False)
            for function in (sampler.advance, sampler.result)
        )
        return begins, advances, results

    def _rules(self, options: SamplingOptions) -> tuple[tuple[str, Any], ...]:
        """What a graph is made for; the rest of the options is in the request."""
        banned = banned_ids(options.banned, self.preprocessor.encode_prompt)
        forbidden = {PAD_ID, START_ID, UNKNOWN_ID, *banned}
        end_id = END_ID if self.preprocessor.has_end else None
        if end_id is None:
            forbidden.add(END_ID)
        return (
            ("start_id", START_ID),
            ("end_id", end_id),
            ("forbidden_ids", tuple(sorted(forbidden))),
            ("repetition_penalty", options.repetition_penalty),
            ("no_repeat", options.no_repeat),
        )

    def _request(
        self, texts: tf.Tensor, ids: tf.RaggedTensor, options: SamplingOptions, seed: int | tf.Tensor
    ) -> Request:
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        return Request(
            prompts=ids.to_tensor(PAD_ID),
            prompt_lengths=lengths,
            max_lengths=tf.fill(tf.shape(lengths), options.max_length),
            seeds=seeds_of(texts, seed),
            temperature=tf.fill(tf.shape(lengths), options.temperature),
            top_k=tf.fill(tf.shape(lengths), options.top_k),
            top_p=tf.fill(tf.shape(lengths), options.top_p),
        )

    def _batches(
        self, lengths: np.ndarray[Any, Any], max_length: int, num_samples: int
    ) -> Iterator[np.ndarray[Any, Any]]:
        """Row numbers in batches of prompts of similar length."""
        order = np.argsort(lengths, kind="stable")
        start = 0
        while start < len(order):
            # What is in memory is a window at most, and the texts.
            positions = num_samples * (int(lengths[order[start]]) + max_length)
            size = max(1, PIECES_AT_ONCE // positions)
            yield order[start : start + size]
            start += size

    def _texts(self, request: Request, result: SearchResult) -> dict[str, tf.Tensor]:
        shape = tf.shape(result.scores)  # [B, K]
        flat = tf.reshape(result.ids, [shape[0] * shape[1], tf.shape(result.ids)[2]])
        prompts = tf.repeat(request.prompts, shape[1], axis=0)
        return {
            "text": tf.reshape(self.preprocessor.decode_after(prompts, flat), shape),
            "score": result.scores,
            "log_probability": result.log_probabilities,
            "finished": result.finished,
        }

    def _continuations(self, request: Request, result: SearchResult) -> list[list[Hypothesis]]:
        answer = self._texts(request, result)
        columns = [answer[name].numpy() for name in ("text", "score", "log_probability", "finished")]
        return [
            [
                Hypothesis(text.decode("utf-8", errors="replace"), float(score), float(logp), bool(finished))
                for text, score, logp, finished in zip(*row, strict=True)
            ]
            for row in zip(*columns, strict=True)
        ]


def _strings(prompts: Sequence[str]) -> tf.Tensor:
    """Prompts as a tensor; a lone surrogate, which is no UTF-8, the normaliser takes for what it is."""
    content = [text.encode("utf-8", "surrogatepass") for text in list_of_strings("prompts", prompts)]
    return tf.constant(content, tf.string, shape=[len(content)])


_REQUEST = Request(
    prompts=tf.TensorSpec([None, None], tf.int32),
    prompt_lengths=tf.TensorSpec([None], tf.int32),
    max_lengths=tf.TensorSpec([None], tf.int32),
    seeds=tf.TensorSpec([None], tf.int64),
    temperature=tf.TensorSpec([None], tf.float32),
    top_k=tf.TensorSpec([None], tf.int32),
    top_p=tf.TensorSpec([None], tf.float32),
)
