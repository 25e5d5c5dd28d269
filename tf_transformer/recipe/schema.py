"""The schema of a recipe: every key with its default, its help, its rules, and what changing it midway means.

This is the only place where a default is written. ``tf-transformer recipe`` and ``schema`` print it.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field

from tf_transformer.presets import LONGEST_ANSWER, MODEL_PRESETS, MOST_HYPOTHESES
from tf_transformer.recipe.entries import (
    DevData,
    EvaluationEntry,
    EvaluationFiles,
    EvaluationTable,
    Fraction,
    TestData,
    TrainData,
    TrainEntry,
)
from tf_transformer.recipe.fields import (
    MOST_PIECES,
    MOST_UPDATES,
    DataFile,
    Flag,
    NormalForm,
    OrAuto,
    Section,
    Whole,
    key,
)
from tf_transformer.recipe.schedules import InverseSqrt, Schedule

Updates = Annotated[Whole, Field(ge=1, le=MOST_UPDATES)]
Pieces = Annotated[Whole, Field(ge=2, le=MOST_PIECES)]
Size = Annotated[Whole, Field(ge=1, le=65536)]
Rate = Annotated[float, Field(ge=0, lt=1)]


class Data(Section):
    """The text: files, tables, and how long a sentence may be."""

    train: TrainData = key(..., "Training text: one entry, or a list of entries.", midway="logged")
    dev: DevData = key(
        ..., "Text that validation runs on: an entry, a list, named sets, or {fraction: 0.05} of train.",
        midway="logged",
    )  # fmt: skip
    test: TestData | None = key(
        None, "Text that is scored once, when training ends: an entry, a list, or named sets.", midway="free"
    )
    max_source_length: Pieces = key(
        256, "Longest source sentence in pieces, the end token included.", midway="logged"
    )
    max_target_length: Pieces = key(
        256, "Longest target sentence in pieces, the end token included.", midway="logged"
    )
    on_long: Literal["drop", "truncate"] = key(
        "drop", "What to do with a longer pair of training text; counted either way.", midway="logged"
    )

    @property
    def train_entries(self) -> tuple[TrainEntry, ...]:
        """The entries of training text, also when there is one."""
        return self.train if isinstance(self.train, tuple) else (self.train,)

    @property
    def dev_fraction(self) -> float | None:
        """The share of the training pairs that is set apart for dev, or None where dev has files."""
        return self.dev.fraction if isinstance(self.dev, Fraction) else None

    @property
    def dev_sets(self) -> dict[str, EvaluationEntry]:
        """The dev sets by name, in the recipe's order; empty where dev is a fraction of train."""
        return {} if isinstance(self.dev, Fraction) else _sets(self.dev, "dev")

    @property
    def test_sets(self) -> dict[str, EvaluationEntry]:
        """The test sets by name, in the recipe's order; empty where there is none."""
        return _sets(self.test, "test")


def _sets(data: Any, only: str) -> dict[str, EvaluationEntry]:
    if isinstance(data, dict):
        return data
    if isinstance(data, EvaluationFiles | EvaluationTable):
        return {data.name or only: data}
    return {entry.label: entry for entry in data or ()}


class Text(Section):
    """How text becomes ids, in training and in serving alike."""

    tokenizer: Literal["sentencepiece", "wordpiece", "words", "characters", "bytes"] = key(
        "sentencepiece", "Kind of pieces. The last three export without custom ops.", midway="refused"
    )
    model: DataFile | None = key(
        None, "An existing tokenizer file for both sides, in place of training one.", midway="refused"
    )
    vocabulary_size: Annotated[Whole, Field(ge=5, le=MOST_PIECES)] | None = key(
        None,
        "Pieces of a vocabulary, the four special ones included; none for bytes or an existing file.",
        midway="refused",
        factory=lambda keys: 8000 if keys.get("tokenizer") != "bytes" and keys.get("model") is None else None,
    )
    shared: Flag = key(True, "One vocabulary for source and target.", midway="refused")
    # BPE, not unigram: on 60 000 lines it trains in 0.5 s against 12 s, and it translates no worse.
    sentencepiece_type: Literal["bpe", "unigram"] | None = key(
        None,
        "How SentencePiece finds its pieces (sentencepiece only); bpe trains 20 times faster.",
        midway="refused",
        factory=lambda keys: "bpe" if _trains_sentencepiece(keys) else None,
    )
    byte_fallback: Flag | None = key(
        None,
        "Spell unknown characters in bytes, 256 pieces for it (sentencepiece only).",
        midway="refused",
        factory=lambda keys: True if _trains_sentencepiece(keys) else None,
    )
    normal_form: NormalForm | None = key(
        None, "Unicode normal form; by default that of the train entries, else none.", midway="refused"
    )
    lowercase: Flag = key(False, "Lower-case all text, references included.", midway="refused")
    unknown: Literal["mark", "drop"] = key(
        "mark", "Unknown pieces of an answer: written as a mark, or left out.", midway="refused"
    )


def _trains_sentencepiece(keys: dict[str, Any]) -> bool:
    return keys.get("tokenizer") == "sentencepiece" and keys.get("model") is None


def _preset(
    size: Literal["num_layers", "hidden_dim", "intermediate_dim", "num_heads"],
) -> Callable[[Any], int]:
    return lambda keys: MODEL_PRESETS[keys.get("preset", "tiny")][size]


class Model(Section):
    """The Transformer."""

    preset: Literal["tiny", "small", "base", "big"] = key(
        "tiny", "Sizes by name; the four keys below replace single ones.", midway="refused"
    )
    num_layers: Annotated[Size, Field(le=1000)] = key(
        None, "Layers of the encoder, and of the decoder.", midway="refused", factory=_preset("num_layers")
    )
    hidden_dim: Size = key(
        None, "Width of the model, a multiple of num_heads.", midway="refused", factory=_preset("hidden_dim")
    )
    intermediate_dim: Annotated[Size, Field(le=10**6)] = key(
        None, "Width inside the feed-forward layers.", midway="refused", factory=_preset("intermediate_dim")
    )
    num_heads: Size = key(None, "Attention heads.", midway="refused", factory=_preset("num_heads"))
    activation: Literal["relu", "gelu", "swiglu"] = key(
        "relu", "Inside the feed-forward layers.", midway="refused"
    )
    norm: Literal["pre", "post", "deep"] = key(
        "pre",
        "Layer norm before a sublayer, after it as in the paper, or after it and scaled for many layers.",
        midway="refused",
    )
    positions: Literal["sinusoidal", "learned", "none"] = key(
        "sinusoidal", "How the model knows a piece's place.", midway="refused"
    )
    max_length: Pieces | None = key(
        None, "Rows of the learned positions; by default what the longest sentence needs.", midway="refused"
    )
    dropout: Rate = key(0.1, "Dropout of embeddings and of each sublayer's output.", midway="logged")
    attention_dropout: Rate = key(0.0, "Dropout of attention weights.", midway="logged")
    activation_dropout: Rate = key(0.0, "Dropout inside the feed-forward layers.", midway="logged")
    tie_embeddings: Literal["all", "output", "none"] | None = key(
        None,
        "Shared weights: source = target = output, target = output, or none; by default as many as can be.",
        midway="refused",
    )


class Optimizer(Section):
    """Adam, or Adam with decoupled weight decay."""

    name: Literal["adam", "adamw"] = key("adam", "Adam, or Adam with weight decay.", midway="refused")
    beta_1: Rate = key(0.9, "Decay of the mean of gradients.", midway="logged")
    beta_2: Rate = key(0.98, "Decay of the mean of their squares.", midway="logged")
    epsilon: Annotated[float, Field(gt=0, le=1)] = key(1e-9, "Added to the divisor.", midway="logged")
    weight_decay: Annotated[float, Field(ge=0, le=1)] = key(
        None,
        "Share of a weight that an update takes away, times the rate (adamw only).",
        midway="logged",
        factory=lambda keys: 0.01 if keys.get("name") == "adamw" else 0.0,
    )
    clip_norm: Annotated[float, Field(gt=0)] | None = key(
        1.0, "Longer gradients are scaled down to this norm; null for never.", midway="logged"
    )


class EarlyStopping(Section):
    """Stops when validation gets no better."""

    metric: Literal["bleu", "loss"] = key("bleu", "Measure of the first dev set.", midway="free")
    patience: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        10, "Validations in a row without a better one.", midway="free"
    )


class Divergence(Section):
    """What happens when the training loss runs away."""

    action: Literal["warn", "stop", "restore"] = key(
        "warn", "Say so, stop, or go on from the best checkpoint at a lower rate.", midway="free"
    )
    above: Annotated[float, Field(gt=0, le=1000)] = key(
        1.0, "Nats that the smoothed loss may lie above its lowest value.", midway="free"
    )
    patience: Updates = key(300, "Updates in a row that it may do so.", midway="free")
    rate_factor: Annotated[float, Field(gt=0, lt=1)] = key(
        0.5, "What a restore multiplies the learning rate by.", midway="free"
    )
    restores: Annotated[Whole, Field(ge=1, le=1000)] = key(
        3, "Restores before the training stops.", midway="free"
    )


class SubwordSampling(Section):
    """Other pieces for the same text each epoch: BPE-dropout, or sampling from a unigram model."""

    alpha: Annotated[float, Field(gt=0, le=1)] = key(
        0.1,
        "BPE: share of merges left out, more is stranger; unigram: exponent of P, less is stranger.",
        midway="logged",
    )
    sides: Literal["both", "source", "target"] = key("both", "Which side is sampled.", midway="logged")


class Training(Section):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    steps: Updates | None = key(None, "Optimizer updates.", midway="free", example=20000)
    epochs: Updates | None = key(None, "Passes over the training text.", midway="free")
    minutes: Annotated[float, Field(gt=0, le=10**7)] | None = key(
        None, "Minutes of training, summed over continued pieces.", midway="free"
    )
    batch_tokens: Annotated[Annotated[Whole, Field(ge=1, le=10**8)] | Literal["auto"], OrAuto] = key(
        4096,
        "Real target tokens of one update, over all devices; auto finds, once, what fits, up to 25000.",
        midway="logged",
    )
    precision: Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"] = key(
        "auto", "Number format; auto takes what this machine is fastest in, once.", midway="refused"
    )
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] = key(
        1, "Seed of weights, order of the data, and dropout.", midway="refused"
    )
    optimizer: Optimizer = key(Optimizer(), "What turns gradients into updates.", midway="logged")
    schedule: Schedule = key(InverseSqrt(), "The learning rate over the updates.", midway="logged")
    label_smoothing: Rate = key(0.1, "Probability spread over the wrong pieces.", midway="logged")
    loss_chunk: Annotated[Whole, Field(ge=16, le=10**8)] | None = key(
        1024,
        "Target positions whose logits are in memory at a time; null for all of an update.",
        midway="logged",
    )
    validate_every: Updates = key(500, "Updates between validations on the whole dev text.", midway="free")
    checkpoint_every: Updates = key(500, "Updates between checkpoints to continue from.", midway="free")
    checkpoint_minutes: Annotated[float, Field(gt=0, le=10**7)] | None = key(
        15.0, "Minutes between checkpoints, where updates take long; null for never.", midway="free"
    )
    max_skipped: Updates = key(
        25, "Updates in a row without a finite loss and gradient that stop the training.", midway="free"
    )
    divergence: Divergence = key(Divergence(), "What happens when the loss runs away.", midway="free")
    keep: Annotated[Whole, Field(ge=1, le=1000)] = key(
        5, "Validated checkpoints kept beside the best and the last.", midway="free"
    )
    average: Annotated[Whole, Field(ge=0, le=1000)] = key(
        0,
        "Kept checkpoints averaged when training ends, used where dev finds that better; 0 for none.",
        midway="free",
    )
    average_by: Literal["last", "best"] = key(
        "last", "Keep and average the last validated checkpoints, or the best ones by dev.", midway="free"
    )
    subword_sampling: SubwordSampling | None = key(
        None, "Segment training text anew each epoch (sentencepiece only); null for never.", midway="logged"
    )
    r_drop: Annotated[float, Field(gt=0, le=1000)] | None = key(
        None,
        "R-Drop's alpha, such as 5: two dropouts of each batch must agree, at twice the cost; null for one.",
        midway="logged",
    )
    ema: Rate | None = key(
        None,
        "Decay of a moving average of the weights, such as 0.999, which is what answers; null for none.",
        midway="logged",
    )
    early_stopping: EarlyStopping | None = key(
        None, "Stop when validation gets no better; null for never.", midway="free"
    )

    @property
    def best_by(self) -> Literal["bleu", "loss"]:
        """The measure of the first dev set by which a checkpoint is the best."""
        return self.early_stopping.metric if self.early_stopping is not None else "bleu"


class Decoding(Section):
    """The search that finds translations."""

    beam: Annotated[Whole, Field(ge=1, le=MOST_HYPOTHESES)] = key(
        4, "Hypotheses kept alive for each sentence; 1 is greedy.", midway="free"
    )
    length_formula: Literal["mean", "gnmt"] = key(
        "mean", "Score: log P / length^a (mean), or log P / ((5 + length) / 6)^a (gnmt).", midway="free"
    )
    length_penalty: Annotated[float, Field(ge=0, le=100)] = key(
        1.0, "The exponent a; the length counts the end token.", midway="free"
    )
    max_length_factor: Annotated[float, Field(ge=0, le=1000)] = key(
        2.0, "Longest answer: this many pieces for each source piece,", midway="free"
    )
    max_length_margin: Annotated[Whole, Field(ge=1, le=LONGEST_ANSWER)] = key(
        10, "and this many more.", midway="free"
    )


class Evaluation(Section):
    """What validation measures."""

    tokenize: Literal["13a", "intl", "zh", "char", "none"] = key(
        "13a", "sacreBLEU's tokenizer for val_bleu and test_bleu.", midway="logged"
    )
    beam: Annotated[Whole, Field(ge=1, le=MOST_HYPOTHESES)] = key(
        1, "Beam of validation while training; 1, greedy, is fastest.", midway="logged"
    )
    samples: Annotated[Whole, Field(ge=0, le=1000)] = key(
        5, "Dev sentences whose translation each validation shows.", midway="free"
    )


class FileRecord(Section):
    """One file that a run has read."""

    path: str = key(..., "Where it was, absolute.", midway="free")
    relative: str = key(..., "Where it was, from the recipe's folder.", midway="free")
    size: Annotated[Whole, Field(ge=0)] = key(..., "Bytes.", midway="free")
    sha256: str = key(..., "SHA-256 of its content.", midway="free")


class Recipe(Section):
    """All that determines a run."""

    task: Literal["translate"] = key(..., "What is trained.", midway="refused", example="translate")
    data: Data = key(..., "The text.", midway="logged")
    text: Text = key(Text(), "How text becomes ids, in training and in serving alike.", midway="refused")
    model: Model = key(Model(), "The Transformer.", midway="refused")
    training: Training = key(Training(), "How long, how fast, and what is kept.", midway="logged")
    decoding: Decoding = key(Decoding(), "The search that finds translations.", midway="free")
    evaluation: Evaluation = key(Evaluation(), "What validation measures.", midway="logged")
    files: Annotated[tuple[FileRecord, ...], Field(strict=False)] = key(
        (), "The files that were read; the trainer writes this into a run's recipe.", midway="free"
    )
