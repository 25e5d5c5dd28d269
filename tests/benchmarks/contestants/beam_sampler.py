"""`keras_nlp.samplers.BeamSampler` over our model, as keras_nlp's translation example calls it.

Settings: those of `passes.py`; run, rows (sentences at once), threads. The prompt has a fixed length, and
each step decodes it anew: the sampler has a place for a cache, but for none that grows. It ranks by
log-probability and knows no length penalty.
"""

from collections.abc import Sequence
from typing import Any

import keras_nlp
import numpy as np
import tensorflow as tf
from passes import compete
from slices import settings

import tf_transformer
from tf_transformer.presets import END_ID, START_ID

LENGTH_FACTOR, LENGTH_MARGIN = 2, 10


def searching(task: Any, size: int) -> Any:
    """Source ids `[B, S]` and prompts `[B, T]` to filled prompts, as one graph."""
    sampler = keras_nlp.samplers.BeamSampler(num_beams=size)
    model = task.model

    def search(source_ids: tf.Tensor, prompts: tf.Tensor) -> tf.Tensor:
        memory = model.encode(source_ids)
        memory = {name: tf.repeat(part, size, axis=0) for name, part in memory.items()}

        def following(prompt: tf.Tensor, cache: Any, index: tf.Tensor) -> tuple[tf.Tensor, None, Any]:
            return model.decode(prompt, memory)[:, index - 1], None, cache

        return sampler(following, prompts, index=1, stop_token_ids=[END_ID])

    ids = tf.TensorSpec([None, None], tf.int32)
    return tf.function(search, input_signature=[ids, ids], autograph=False)


def main() -> None:
    """Decodes until the race is over."""
    given = settings()
    tf.config.threading.set_intra_op_parallelism_threads(given["threads"])
    task = tf_transformer.load(given["run"])
    searches = {size: searching(task, size) for size in (given["beam"], 1)}
    tokens = task.preprocessor.target_tokenizer.tokens

    def decode(sentences: Sequence[dict[str, Any]], size: int) -> list[list[str]]:
        sources = task.encode([sentence["text"] for sentence in sentences])
        order = np.argsort(sources.row_lengths().numpy(), kind="stable")
        answers: list[list[str]] = [[]] * len(sentences)
        for start in range(0, len(order), given["rows"]):
            rows = order[start : start + given["rows"]]
            source_ids = tf.gather(sources, rows).to_tensor()
            prompts = np.zeros((len(rows), LENGTH_FACTOR * source_ids.shape[1] + LENGTH_MARGIN), np.int32)
            prompts[:, 0] = START_ID
            for row, found in zip(
                rows, searches[size](source_ids, tf.constant(prompts)).numpy(), strict=True
            ):
                ends = np.flatnonzero(found == END_ID)
                answers[row] = [tokens[number] for number in found[1 : ends[0] if len(ends) else None]]
        return answers

    compete(given, decode)


if __name__ == "__main__":
    main()
