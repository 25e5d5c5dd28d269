"""A small translator from English to French, for the lessons that need a trained model.

It learns from the phrases of the quickstart, word by word, in under a minute on a laptop, and is kept in
data/ beside this file for the next lesson. Remove that folder to train it again.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf

from tf_transformer.losses import MaskedCrossEntropy
from tf_transformer.metrics import MaskedAccuracy
from tf_transformer.models import Transformer
from tf_transformer.presets import PAD_ID
from tf_transformer.schedules import WarmupLinear
from tf_transformer.tasks import Translator
from tf_transformer.text import Preprocessor, Tokenizer

HERE = Path(__file__).resolve().parent
PHRASES = HERE.parent / "quickstart" / "train.tsv"
MODEL, TEXT_SIDE = HERE / "data" / "translator.keras", HERE / "data" / "preprocessor"
EPOCHS, BATCH_SIZE = 8, 128


def small_translator() -> Translator:
    """The translator: the one that was kept, or a new one."""
    if not MODEL.exists():
        train()
    return Translator(keras.saving.load_model(MODEL), Preprocessor.load(TEXT_SIDE), beam_size=4)


def words(tokenizer: Tokenizer, ids: Sequence[int]) -> list[str]:
    """The words of ids, without padding and without the marks of a missing space."""
    return [tokenizer.tokens[int(number)].strip("￭") for number in ids if int(number) != PAD_ID]


def train() -> None:
    """Trains a translator of two blocks on each side, and keeps it."""
    keras.utils.set_random_seed(1)
    with PHRASES.open(encoding="utf-8") as lines:
        pairs = [line.rstrip("\n").split("\t") for line in lines][1:]
    english, french = (list(side) for side in zip(*pairs, strict=True))
    text_side = Preprocessor.train(english, french, tokenizer="words", vocabulary_size=1000, shared=False)
    data = tf.data.Dataset.from_tensor_slices((english, french)).shuffle(len(english), seed=1)
    data = data.batch(BATCH_SIZE).map(text_side).prefetch(2)

    model = Transformer(
        source_vocabulary_size=text_side.source_vocabulary_size,
        target_vocabulary_size=text_side.target_vocabulary_size,
        num_layers=2,
        hidden_dim=64,
        num_heads=4,
        intermediate_dim=128,
        dropout=0.1,
        norm="pre",
        seed=1,
    )
    updates = EPOCHS * -(-len(english) // BATCH_SIZE)
    schedule = WarmupLinear(peak=0.005, total_steps=updates, warmup_steps=updates // 8)
    model.compile(
        optimizer=keras.optimizers.Adam(schedule, beta_2=0.98),
        loss=MaskedCrossEntropy(label_smoothing=0.05),
        metrics=[MaskedAccuracy()],
    )
    history = model.fit(data, epochs=EPOCHS, shuffle=False, verbose=0).history
    report = f"{updates} updates; {history['masked_accuracy'][-1]:.1%} of the words of training are right"
    print(report, file=sys.stderr)  # not part of a lesson, since it is told only once
    keep(model, text_side)


def keep(model: Transformer, text_side: Preprocessor) -> None:
    """Writes the translator, the model last and whole, so that an interrupted lesson leaves none behind."""
    TEXT_SIDE.parent.mkdir(exist_ok=True)
    text_side.save(TEXT_SIDE)
    unfinished = MODEL.with_name("unfinished.keras")
    model.save(unfinished)
    os.replace(unfinished, MODEL)
