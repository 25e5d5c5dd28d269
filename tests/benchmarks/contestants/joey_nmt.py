"""JoeyNMT, trained by its own manager in its own environment; its training step is watched.

Settings: folder, padded_tokens, threads. Batches by (padded) tokens in random order, as it has no buckets;
post-norm (its default), Adam, no validation, no logging, no worker processes. float32 is its only precision
on a CPU. Its threads sleep while they wait (OMP_WAIT_POLICY=PASSIVE, unless the environment says otherwise).
"""

from pathlib import Path
from typing import Any

import torch
from joeynmt import training
from slices import Slices, settings

NEVER = 10**9


def watch_steps() -> None:
    """Counts what each batch holds, and hands each finished update to the race."""
    names = ("target_tokens", "source_tokens", "target_positions", "source_positions")
    sums: dict[str, float] = dict.fromkeys(names, 0)
    slices = Slices(lambda: dict(sums), {"precision": "float32"})
    train_step = training.TrainManager._train_step

    def watched(self: Any, batch: Any) -> Any:
        # The update of the batch before is finished when the next one comes.
        if sums["target_tokens"]:
            slices.after_update()
        sums["target_tokens"] += batch.ntokens
        sums["source_tokens"] += int(batch.src_length.sum())
        sums["target_positions"] += batch.trg.numel()
        sums["source_positions"] += batch.src.numel()
        return train_step(self, batch)

    training.TrainManager._train_step = watched


def side(language: str, folder: Path) -> dict[str, Any]:
    """The settings of one language."""
    return {
        "lang": language,
        "max_length": 100,
        "lowercase": False,
        "level": "bpe",
        "voc_file": str(folder / "joeynmt.vocab"),
        "tokenizer_type": "sentencepiece",
        "tokenizer_cfg": {"model_file": str(folder / "pieces.model")},
    }


def stack() -> dict[str, Any]:
    """Encoder or decoder in the size of the race."""
    return {
        "type": "transformer",
        "num_layers": 4,
        "num_heads": 4,
        "embeddings": {"embedding_dim": 128, "scale": True, "dropout": 0.0},
        "hidden_size": 128,
        "ff_size": 256,
        "dropout": 0.3,
        "layer_norm": "post",
    }


def config(folder: Path, padded_tokens: int) -> dict[str, Any]:
    """Its settings, as its users would write them."""
    return {
        "name": "race",
        "model_dir": "joeynmt",
        "use_cuda": False,
        "fp16": False,
        "random_seed": 1,
        "data": {
            "train": str(folder / "train"),
            "dev": str(folder / "dev"),
            "dataset_type": "plain",
            "src": side("src", folder),
            "trg": side("trg", folder),
        },
        "testing": {"beam_size": 1, "batch_size": 1024, "batch_type": "token", "eval_metrics": []},
        "training": {
            "optimizer": "adam",
            "adam_betas": [0.9, 0.98],
            "normalization": "tokens",
            "scheduling": "warmupinversesquareroot",
            "learning_rate_warmup": 2000,
            "learning_rate": 0.005,
            "learning_rate_min": 1e-12,
            "loss": "crossentropy",
            "label_smoothing": 0.1,
            "batch_size": padded_tokens,
            "batch_type": "token",
            "early_stopping_metric": "loss",
            "epochs": NEVER,
            "validation_freq": NEVER,
            "logging_freq": NEVER,
            "shuffle": True,
        },
        "model": {
            "initializer": "xavier_uniform",
            "embed_initializer": "xavier_uniform",
            "tied_embeddings": True,
            "tied_softmax": True,
            "encoder": stack(),
            "decoder": stack(),
        },
    }


def main() -> None:
    """Trains until the race is over."""
    given = settings()
    torch.set_num_threads(given["threads"])
    Path("joeynmt").mkdir()
    watch_steps()
    training.train(
        rank=0, world_size=0, cfg=config(Path(given["folder"]), given["padded_tokens"]), skip_test=True
    )


if __name__ == "__main__":
    main()
