"""Generation: the same in any batch and by any way, prompts, windows, options, streaming, a SavedModel."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tf_transformer.models import LanguageModel
from tf_transformer.presets import START_ID
from tf_transformer.tasks import Generator, SamplingOptions, generate
from tf_transformer.text import LanguagePreprocessor, Normalizer

PROMPTS = ["ab", "", "bca", "c\na bb a", "ab"]
WINDOW, STRIDE = 7, 3


def text_side(has_end: bool) -> LanguagePreprocessor:
    return LanguagePreprocessor.train(["abc\n "], normalizer=Normalizer(keep="all"), has_end=has_end)


@pytest.fixture(scope="module", params=[False, True], ids=["endless", "ending"])
def generator(request: Any) -> Generator:
    side = text_side(request.param)
    sizes = {"num_layers": 1, "hidden_dim": 6, "intermediate_dim": 11, "num_heads": 3}
    model = LanguageModel(side.vocabulary_size, **sizes, seed=7)
    return Generator(model, side, window=WINDOW, stride=STRIDE, max_length=17)


def test_alone_and_among_others_the_same(generator: Generator) -> None:
    together = generator.samples(PROMPTS, 3, seed=5)
    assert [len(row) for row in together] == [3] * 5
    for place, prompt in enumerate(PROMPTS):
        alone = generator.samples([prompt], 1, seed=5)[0][0]
        assert alone.text == together[place][0].text
        np.testing.assert_allclose(alone.log_probability, together[place][0].log_probability, rtol=1e-4)
    assert [found.text for found in together[0]] == [found.text for found in together[4]]
    assert len({found.text for row in together for found in row}) > 8
    assert generator.generate(PROMPTS, seed=5) == [row[0].text for row in together]
    assert generator.generate(PROMPTS, seed=6) != generator.generate(PROMPTS, seed=5)
    assert generator.generate([]) == []


def test_of_a_very_long_prompt_only_what_is_not_forgotten_is_read(
    generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts = ["abcab bca" * 23, "ab", "cab" * 101]
    lengths = generator._prompts(tf.constant(prompts)).row_lengths().numpy().tolist()
    # At most 16 windows of 7, and less by whole strides of 3, so that windows begin where they did.
    assert lengths == [207 - 96, 2, 303 - 192]
    short = generator.samples(prompts, temperature=0.0)
    served = generator.served()
    found = served.sample(tf.constant(prompts), *(tf.fill([3], each) for each in (1, 0.0, 0, 1.0)))
    assert [text.decode() for text in found["text"].numpy()] == [row[0].text for row in short]
    monkeypatch.setattr(generate, "WINDOWS_READ", 1000)
    whole = Generator(generator.model, generator.preprocessor, window=WINDOW, stride=STRIDE, max_length=17)
    for (one,), (other,) in zip(short, whole.samples(prompts, temperature=0.0), strict=True):
        assert one.text == other.text
        np.testing.assert_allclose(one.log_probability, other.log_probability, rtol=1e-4)


def test_the_log_probability_is_that_of_the_windows_of_evaluation(generator: Generator) -> None:
    side = generator.preprocessor
    for prompt, (found,) in zip(PROMPTS, generator.samples(PROMPTS, seed=2), strict=True):
        start = len(prompt)
        tokens = side.encode_prompt([prompt + found.text]).numpy()[0].tolist()
        labels = [*tokens, 3] if found.finished else tokens
        total = 0.0
        for place in range(start, len(labels)):
            begin = 0 if place < WINDOW else STRIDE * -(-(place + 1 - WINDOW) // STRIDE)
            logits = generator.model({"target_ids": np.array([[START_ID, *labels[begin:place]]])})[0, -1]
            total += float(tf.nn.log_softmax(logits)[labels[place]])
        np.testing.assert_allclose(found.log_probability, total, atol=1e-4)
        np.testing.assert_allclose(found.score, total / (len(labels) - start), atol=1e-4)
        assert len(found.text) == 17 or found.finished
        assert generator.preprocessor.has_end or not found.finished


def test_a_stream_is_the_same_text_in_parts(generator: Generator) -> None:
    for prompt in ("ab", "c\na bb a", ""):
        parts = list(generator.stream(prompt, seed=4))
        assert "".join(parts) == generator.generate([prompt], seed=4)[0]
        assert len(parts) > 5 or generator.preprocessor.has_end


def test_options_reach_the_draw(generator: Generator) -> None:
    greedy = generator.generate(["ab"], temperature=0.0)
    assert generator.generate(["ab"], top_k=1, seed=9) == greedy
    assert generator.generate(["ab"], top_p=1e-6, seed=9) == greedy
    once = generator.generate(["b"], no_repeat=1, seed=3)[0]
    assert len(set("b" + once)) == len("b" + once)  # five characters, each once at most
    without = "".join(generator.generate(PROMPTS, banned=("a", "\n")))
    assert without and not set("a\n") & set(without)
    assert all(len(text) <= 3 for text in generator.generate(PROMPTS, max_length=3))
    with pytest.raises(
        ValueError, match=r"`banned` must hold single pieces .*Received: 'ab', which is 2 pieces"
    ):
        generator.generate(["a"], banned=("ab",))
    with pytest.raises(
        ValueError, match=r"`banned` must hold single pieces .*Received: 'z', which is unknown"
    ):
        generator.generate(["a"], banned=("z",))
    with pytest.raises(TypeError, match=r"`prompts` must be a list of strings\. Received: one string, 'ab'"):
        generator.generate("ab")


def test_unknown_characters_are_read_and_never_written(generator: Generator) -> None:
    text = generator.generate(["aß\ud800b"])[0]
    assert set(text) <= set("abc\n ")


@pytest.mark.parametrize("generator", [True], indirect=True)
def test_a_saved_model_answers_alike(generator: Generator, tmp_path: Path) -> None:
    assert generator.export(tmp_path / "m") == ("sample", "serving_default")
    loaded = tf.saved_model.load(tmp_path / "m").signatures
    texts = tf.constant(["bca", "", "bca"])
    answer = loaded["serving_default"](text=texts)
    expected = [generator.samples([text.decode()])[0][0] for text in texts.numpy()]
    assert [text.decode() for text in answer["text"].numpy()] == [found.text for found in expected]
    assert answer["text"][0] == answer["text"][2]  # an answer depends on its text alone
    for name in ("score", "log_probability"):
        np.testing.assert_allclose(answer[name], [getattr(found, name) for found in expected], atol=1e-4)
    answer = loaded["sample"](
        text=texts,
        seed=tf.constant([5, 5, 6]),
        temperature=tf.constant([1.0, 0.5, 0.0]),
        top_k=tf.constant([0, 2, 0]),
        top_p=tf.constant([0.9, 1.0, 1.0]),
    )
    expected = [
        generator.samples(["bca"], seed=5, top_p=0.9)[0][0],
        generator.samples([""], seed=5, temperature=0.5, top_k=2)[0][0],
        generator.samples(["bca"], seed=6, temperature=0.0)[0][0],
    ]
    assert [text.decode() for text in answer["text"].numpy()] == [found.text for found in expected]
    assert loaded["serving_default"](text=tf.constant([], tf.string))["text"].shape == (0,)


def test_a_model_of_another_vocabulary_is_refused(generator: Generator) -> None:
    other = LanguagePreprocessor.train(["abcd"], normalizer=Normalizer(keep="all"))
    with pytest.raises(ValueError, match=r"must have the same `vocabulary_size`.*Received: 9 and 8"):
        Generator(generator.model, other)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -1}, r"`temperature` must be a finite number, at least 0\. Received: -1"),
        ({"top_p": 0}, r"`top_p` must be more than 0 and at most 1\. Received: 0"),
        ({"top_p": 1.5}, r"`top_p` must be more than 0 and at most 1\. Received: 1\.5"),
        ({"top_k": 0.5}, r"`top_k` must be a whole number, from 0 to 2147483647\. Received: 0\.5"),
        ({"repetition_penalty": 0}, r"`repetition_penalty` must be more than 0\. Received: 0"),
        ({"no_repeat": -1}, r"`no_repeat` must be from 0 to .*Received: -1"),
        ({"max_length": 0}, r"`max_length` must be from 1 to .*Received: 0"),
        ({"banned": "ab"}, r"`banned` must be a list of strings\. Received: one string, 'ab'"),
        ({"seed": 2**31}, r"`seed` must be from 0 to 2147483647\. Received: 2147483648"),
        ({"beam": 4}, r"Sampling options must be among max_length, .*seed\. Received: beam"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        SamplingOptions().replaced(**options)


def test_numbers_of_numpy_become_plain() -> None:
    options = SamplingOptions(temperature=np.float32(0.5), top_k=np.int64(3), banned=["a"])  # type: ignore[arg-type]
    assert options == SamplingOptions(temperature=0.5, top_k=3, banned=("a",))
    assert type(options.temperature) is float and type(options.top_k) is int
