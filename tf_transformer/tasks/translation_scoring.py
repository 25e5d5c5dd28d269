"""What a translator says of given targets, and of other ways to go on from a prefix.

Shapes: B sentences, S source pieces, T target pieces, P pieces of the longest prefix, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from tf_transformer.decoding.length_penalty import ranking_score
from tf_transformer.presets import END_ID, PAD_ID, START_ID
from tf_transformer.tasks.batches import batches_by_length
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.translation_details import details_of
from tf_transformer.tasks.translation_search import TranslationSearch

POSITIONS_AT_ONCE = 4096
"""Target positions, padding included, that are scored in one batch."""


def scored(run: Any, lines: Sequence[str], targets: Sequence[str]) -> list[Hypothesis]:
    """Scores targets: see `Translator.score`.

    Args:
        run: The translator's `TranslationAnswers`.
        lines: The sources.
        targets: The target of each.
    """
    task = run.task
    if len(targets) != len(lines):
        raise ValueError(f"`targets` must be one for each text. Received: {len(targets)} for {len(lines)}")
    if not lines:
        return []
    sources = task.encode(lines)
    ids = task.preprocessor.encode_target(
        tf.constant([one.encode("utf-8", "surrogatepass") for one in targets])
    )
    lengths = ids.row_lengths().numpy()
    table = task.model.max_length
    if table is not None and max(lengths) >= table:
        place = int(np.argmax(lengths))
        raise ValueError(
            f"`targets[{place}]` must have at most {table - 1} pieces. Received: {lengths[place]}"
        )
    answers: list[Hypothesis | None] = [None] * len(lines)
    for rows in batches_by_length(lengths + 1, POSITIONS_AT_ONCE):
        source_ids = tf.gather(sources, rows).to_tensor(PAD_ID)
        batch = tf.gather(ids, rows).to_tensor(PAD_ID)[:, tf.newaxis]
        pieces = tf.constant(lengths[rows, np.newaxis], tf.int32)
        found = task.graphs.reread(source_ids, batch, pieces, tf.ones_like(pieces, tf.bool))
        totals = tf.reduce_sum(found.log_probabilities, axis=-1)  # [B, 1]
        penalty, formula = task.options.length_penalty, task.options.length_formula
        scores = ranking_score(totals, pieces + 1, penalty, formula)
        arrays = [part[:, 0].numpy() for part in (totals, scores, batch, pieces, *found)]
        for row, source, total, score, target, number, *read in zip(
            rows, source_ids.numpy(), *arrays, strict=True
        ):
            details = details_of(task.preprocessor, source, target, int(number), True, *read)
            answers[row] = Hypothesis(targets[row], float(score), float(total), True, details)
    return [answer for answer in answers if answer is not None]


def alternatives(
    run: Any,
    lines: Sequence[str],
    num_results: int,
    prefixes: tf.RaggedTensor,
    options: SearchOptions,
    details: bool,
) -> list[list[Hypothesis]]:
    """Other ways to go on from prefixes: see `Translator.alternatives`."""
    task, options = run.task, replace(options, sample=False)
    search = TranslationSearch(task.model, task.preprocessor, options)
    never = [*search.forbidden_ids, *search.banned]
    found: list[list[Hypothesis]] = []
    for place, line in enumerate(lines):
        prefix = prefixes[place].numpy().tolist()
        logits = _next_logits(task, line, prefix)
        logits[never] = -np.inf
        order = [
            token for token in np.argsort(-logits, kind="stable")[:num_results] if np.isfinite(logits[token])
        ]
        if task.count_pieces([line])[0] < 2 or not order:  # nothing to translate
            order, prefix = [END_ID], []
        rows = tf.ragged.constant([[*prefix, token] for token in order], tf.int32, ragged_rank=1)
        answers = run.hypotheses([line] * len(order), options, 1, rows, details)
        found.append([hypotheses[0] for hypotheses in answers])
    return found


def _next_logits(task: Any, line: str, prefix: Sequence[int]) -> Any:
    """Of the piece after a prefix, `[V]`."""
    memory = task.model.encode(task.encode([line]).to_tensor(PAD_ID), training=False)
    target_ids = tf.constant([[START_ID, *prefix]], tf.int32)
    return np.array(task.model.decode(target_ids, memory, training=False)[0, -1])
