"""A Marian model with random weights and small SentencePiece models, and what `transformers` makes of texts.

Settings: folder (where the model is saved), source and target (text files that pieces are learnt from),
texts, answers (an .npz file).
"""

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel, MarianTokenizer


def learn_pieces(folder: Path, given: dict[str, Any]) -> dict[str, int]:
    """SentencePiece models of both sides, and a vocabulary in another order that lacks a few pieces."""
    pieces: set[str] = set()
    for side in ("source", "target"):
        sentencepiece.SentencePieceTrainer.train(
            input=given[side],
            model_prefix=str(folder / side),
            vocab_size=400,
            pad_id=-1,
            bos_id=-1,
            unk_id=1,
            eos_id=0,
            minloglevel=2,
        )
        (folder / f"{side}.model").rename(folder / f"{side}.spm")
        found = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{side}.spm"))
        pieces |= {found.id_to_piece(number) for number in range(2, found.get_piece_size())}
    kept = sorted(pieces)
    random.Random(3).shuffle(kept)
    tokens = ["</s>", "<unk>", *kept[7:], "<pad>"]
    numbers = {token: number for number, token in enumerate(tokens)}
    (folder / "vocab.json").write_text(json.dumps(numbers, ensure_ascii=False), encoding="utf-8")
    return numbers


def make_model(folder: Path, numbers: dict[str, int]) -> MarianMTModel:
    """Saved with weights of which none is what it began as."""
    torch.manual_seed(7)
    config = MarianConfig(
        vocab_size=len(numbers),
        d_model=64,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=4,
        decoder_attention_heads=8,
        encoder_ffn_dim=96,
        decoder_ffn_dim=80,
        activation_function="swish",
        scale_embedding=True,
        max_position_embeddings=128,
        max_length=24,
        num_beams=2,
        pad_token_id=numbers["<pad>"],
        eos_token_id=0,
        decoder_start_token_id=numbers["<pad>"],
        forced_eos_token_id=0,
        bad_words_ids=[[numbers["<pad>"]]],
    )
    model = MarianMTModel(config).eval()
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), ("bias", model.final_logits_bias)]:
            if "embed_positions" not in name:
                weight.add_(torch.randn_like(weight) * 0.1)
    model.save_pretrained(folder)
    return model


def main() -> None:
    """Saves the model and what it says."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    folder = Path(given["folder"])
    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(folder, learn_pieces(folder, given))
    names = [str(folder / name) for name in ("source.spm", "target.spm", "vocab.json")]
    tokenizer = MarianTokenizer(*names)
    batch = tokenizer(given["texts"], return_tensors="pt", padding=True)
    with torch.no_grad():
        answers = model.generate(**batch, num_beams=1, do_sample=False, max_new_tokens=20)
        shifted = answers[:, :-1]
        logits = model(**batch, decoder_input_ids=shifted).logits
    np.savez(
        given["answers"],
        source=batch["input_ids"].numpy(),
        target=shifted.numpy(),
        answers=answers[:, 1:].numpy(),
        logits=logits.numpy(),
        tables=json.dumps(tokenizer.encoder),
    )


if __name__ == "__main__":
    main()
