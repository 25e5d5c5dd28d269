"""OpenNMT-tf, trained by its own runner in its own environment; its statistics are watched.

Settings: folder, padded_tokens. Batches by tokens in length buckets of 2, a full shuffle, pre-norm and no XLA
(its defaults), LazyAdam, one checkpoint after the first update and then none, no summaries, no evaluation.
float32 is its only precision on a CPU. It puts no end token on the source.
"""

import os
from pathlib import Path
from typing import Any

import opennmt
import tensorflow as tf
from opennmt import training
from slices import Slices, settings

NEVER = 10**9


def watch_statistics() -> None:
    """Counts positions beside the words that the statistics count, and hands each update to the race."""
    names = ("target_tokens", "source_tokens", "target_positions", "source_positions")
    sums = {name: tf.Variable(0, dtype=tf.int64, trainable=False) for name in names}

    def totals() -> dict[str, float]:
        return {name: float(value.numpy()) for name, value in sums.items()}

    slices = Slices(totals, {"precision": "float32"})

    class Watched(training.TrainingStats):
        """The statistics of a training, watched."""

        def update_on_example(self, source: dict[str, tf.Tensor], target: dict[str, tf.Tensor]) -> None:
            super().update_on_example(source, target)
            for side, features in (("source", source), ("target", target)):
                real = tf.reduce_sum(tf.cast(features["length"], tf.int64))
                sums[f"{side}_tokens"].assign_add(real)
                sums[f"{side}_positions"].assign_add(tf.size(features["ids"], out_type=tf.int64))

        def update_on_step(self, step: Any, loss: Any) -> None:
            super().update_on_step(step, loss)
            slices.after_update()

    training.TrainingStats = Watched


def model() -> Any:
    """The Transformer in the size of the race."""
    return opennmt.models.Transformer(
        opennmt.inputters.WordEmbedder(embedding_size=128),
        opennmt.inputters.WordEmbedder(embedding_size=128),
        num_layers=4,
        num_units=128,
        num_heads=4,
        ffn_inner_dim=256,
        dropout=0.3,
        attention_dropout=0.0,
        ffn_dropout=0.0,
        share_embeddings=opennmt.models.EmbeddingsSharingLevel.ALL,
        pre_norm=True,
    )


def config(folder: Path, padded_tokens: int) -> dict[str, Any]:
    """Its settings, as its users would write them."""
    return {
        "model_dir": f"opennmt_{padded_tokens}",
        "data": {
            "train_features_file": str(folder / "train.pieces.src"),
            "train_labels_file": str(folder / "train.pieces.trg"),
            "source_vocabulary": str(folder / "opennmt.vocab"),
            "target_vocabulary": str(folder / "opennmt.vocab"),
        },
        "params": {
            "optimizer": "LazyAdam",
            "optimizer_params": {"beta_1": 0.9, "beta_2": 0.998},
            "learning_rate": 1.0,
            "decay_type": "NoamDecay",
            "decay_params": {"model_dim": 128, "warmup_steps": 800},
            "label_smoothing": 0.1,
            "average_loss_in_time": True,
        },
        "train": {
            "batch_type": "tokens",
            "batch_size": padded_tokens,
            "effective_batch_size": None,
            "length_bucket_width": 2,
            "maximum_features_length": 100,
            "maximum_labels_length": 100,
            "sample_buffer_size": -1,
            "save_summary_steps": NEVER,
            "save_checkpoints_steps": NEVER,
        },
    }


def main() -> None:
    """Trains until the race is over."""
    given = settings()
    threads = int(os.environ["TF_NUM_INTRAOP_THREADS"])
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    watch_statistics()
    opennmt.Runner(model, config(Path(given["folder"]), given["padded_tokens"]), seed=1).train()


if __name__ == "__main__":
    main()
