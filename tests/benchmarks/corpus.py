"""The files of a race: one corpus, one set of pieces, in the form that each contestant reads."""

from pathlib import Path

import numpy as np
import sentencepiece

from tf_transformer.data.batching import BatchPlan

DEV_ROWS = 100

RECIPE = """\
task: translate
data:
  train: {source: train.src, target: train.trg}
  dev: {source: dev.src, target: dev.trg}
  max_source_length: 100
  max_target_length: 100
text: {tokenizer: sentencepiece, model: pieces.model}
model: {preset: tiny, norm: pre, dropout: 0.3}
training:
  steps: 1000000
  label_smoothing: 0.1
  optimizer: {name: adam, beta_1: 0.9, beta_2: 0.998}
  schedule: {name: noam, warmup_steps: 800}
  # Neither validation nor checkpoints: the other contestants have none either.
  validate_every: 1000000
  checkpoint_every: 1000000
  checkpoint_minutes: null
"""


def prepare(source: Path, target: Path, num_pieces: int, folder: Path) -> None:
    """Writes everything that the contestants read.

    Args:
        source: Training text, one sentence a line.
        target: Its translations.
        num_pieces: Size of the joint vocabulary, the four special pieces included.
        folder: Where to write: text (`train`, `dev`, with `.src` and `.trg`), the same in pieces,
            `pieces.model`, `opennmt.vocab`, `joeynmt.vocab`, `recipe.yaml`.
    """
    texts = {side: path.read_text(encoding="utf-8").split("\n") for side, path in _sides(source, target)}
    for side, lines in texts.items():
        _write(folder / f"train.{side}", lines[:-1] if lines[-1] == "" else lines)
        _write(folder / f"dev.{side}", lines[:DEV_ROWS])
    sentencepiece.SentencePieceTrainer.train(
        input=",".join(str(folder / f"train.{side}") for side in texts),
        model_prefix=str(folder / "pieces"),
        vocab_size=num_pieces,
        model_type="bpe",
        character_coverage=1.0,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
    )
    _write_pieces(folder)
    (folder / "recipe.yaml").write_text(RECIPE, encoding="utf-8")


def real_tokens(folder: Path, padded_tokens: int) -> int:
    """Our batch size for updates whose mean target side has so many positions, padding included.

    `training.batch_tokens` counts real tokens; the share of padding comes off.
    """
    lengths = {
        name: np.array([len(line.split()) + 1 for line in (folder / file).open(encoding="utf-8")])
        for name, file in (("source", "train.pieces.src"), ("target", "train.pieces.trg"))
    }
    return int(padded_tokens * (1 - BatchPlan(lengths, padded_tokens).padding()["target"]))


def _sides(source: Path, target: Path) -> list[tuple[str, Path]]:
    return [("src", source), ("trg", target)]


def _write_pieces(folder: Path) -> None:
    """The corpus in pieces, and the vocabularies with the special pieces that each peer expects."""
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(folder / "pieces.model"))
    for side in ("src", "trg"):
        lines = (folder / f"train.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        rows = pieces.encode(lines, out_type=str)
        _write(folder / f"train.pieces.{side}", [" ".join(row) for row in rows])
    ordinary = [pieces.id_to_piece(number) for number in range(4, pieces.get_piece_size())]
    _write(folder / "opennmt.vocab", ["<blank>", "<s>", "</s>", *ordinary])
    _write(folder / "joeynmt.vocab", ["<unk>", "<pad>", "<s>", "</s>", *ordinary])


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
