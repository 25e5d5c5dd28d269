"""Translation: pairs of sentences, an encoder-decoder, and sacreBLEU."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import keras

from tf_transformer.build.looking import pair_attention
from tf_transformer.build.problem import Examples, Heading, Problem, Words
from tf_transformer.build.sampling import Samples, build_samplers
from tf_transformer.build.stack import stack_keywords
from tf_transformer.build.text_data import (
    Carve,
    Spans,
    TextSet,
    build_normalizer,
    make_tokenizer,
    read_entry,
    read_examples,
    read_sets,
    sample_texts,
    spread,
    texts_of,
)
from tf_transformer.build.text_signs import exchanged_sides, tokenizer_signs
from tf_transformer.build.vocabulary_update import SideTokenizer
from tf_transformer.build.weights import check_vocabularies
from tf_transformer.checkpoints import Checkpoint
from tf_transformer.data.batching import Batch
from tf_transformer.data.cleaning import split_by_hash
from tf_transformer.data.encoding import EncodedCorpus, encode, limit, merge, token_warnings
from tf_transformer.data.pipeline import BatchPlan, Plan, SampledPlan, evaluation_batches
from tf_transformer.data.plan_arguments import tempered
from tf_transformer.data.source_lines import joined, split_untagged, untagged
from tf_transformer.data.sources import Corpus
from tf_transformer.errors import RecipeError, counted
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.signs import Sign
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.evaluation.translation import TranslationEvaluator
from tf_transformer.models import Transformer
from tf_transformer.recipe import TranslateRecipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.scores.rouge import demand_rouge
from tf_transformer.tasks import SearchOptions, Translator
from tf_transformer.text import Preprocessor, SourceForm, Tokenizer
from tf_transformer.warm_start import initialize_encoder

EVALUATION_POSITIONS = 4096
"""Padded positions in a batch of an evaluation."""


class TranslationProblem(Problem[TranslateRecipe]):
    """A recipe with ``task: translate``."""

    WORDS: ClassVar[Words] = Words(
        row="pair",
        data="text",
        unit="target token",
        verb="translate",
        lengths="data.max_source_length and max_target_length",
        picture="attention",
        pipeline="translation",
    )
    HEADINGS: ClassVar[tuple[Heading, ...]] = (
        ("val_loss", "dev loss", 9, "{:.3f}"),
        ("val_perplexity", "dev ppl", 8, "{:.2f}"),
        ("val_accuracy", "accuracy", 9, "{:.1%}"),
        ("val_bleu", "BLEU", 7, "{:.2f}"),
        ("target_tokens_per_second", "tokens/s", 9, "{:,.0f}"),
    )
    BUDGET_COLUMN: ClassVar[str | None] = "target"

    def read(self) -> Examples:
        self.check_measures()
        return read_examples(self.recipe.data, self._read_entry, self._carve)

    def check_measures(self) -> None:
        """Refuses, now and not when the first validation asks for it, what cannot be measured here."""
        if self.recipe.evaluation.rouge is not None:
            demand_rouge()

    def read_split(self, split: str) -> Examples:
        return read_sets(self.recipe.data, split, self._read_entry, self._carve)

    def _read_entry(self, entry: Any, name: str | None, spans: Spans | None = None) -> Corpus:
        normalizer = build_normalizer(self.recipe.text)
        return joined(read_entry(entry, normalizer, name, spans=spans), entry.tag)

    @property
    def _carve(self) -> Carve:
        return split_untagged if self.recipe.data.tags else split_by_hash

    # What `Preparable` asks for.

    def read_part(self, entry: Any, spans: Spans) -> Corpus:
        return self._read_entry(entry, None, spans)

    def carve_key(self, text: str) -> str:
        return untagged(text) if self.recipe.data.tags else text

    def encode_part(self, corpus: Corpus, side: Preprocessor, threads: int) -> EncodedCorpus:
        encoded = _encode([corpus], side, threads)
        return limit(encoded, self._limits, self.recipe.data.on_long, keep_last=self._ends, may_be_empty=True)

    def pieces(self, side: Preprocessor) -> list[str]:
        return [*side.source_tokens, *side.target_tokenizer.tokens]

    def vocabularies(self, side: Preprocessor) -> dict[str, int]:
        return {"source": side.source_vocabulary_size, "target": side.target_vocabulary_size}

    def new_side(self, examples: Examples) -> Preprocessor:
        text, data = self.recipe.text, self.recipe.data
        form = SourceForm(data.source_columns, data.tags)
        made = [make_tokenizer(text, lines) for lines in self._lines(examples, form)]
        return Preprocessor(made[0], made[-1], build_normalizer(text), form, text.source_end)

    def carried_side(self, side: Preprocessor, examples: Examples) -> Preprocessor:
        text, form = self.recipe.text, side.source_form
        if text.update is None:
            return side
        old = [found.tokenizer for found in self.tokenizers(side).values()]
        of_sides = zip(self._lines(examples, form), old, strict=True)
        made = [make_tokenizer(text, lines, before) for lines, before in of_sides]
        return Preprocessor(made[0], made[-1], side.normalizer, form, side.source_end)

    def _lines(self, examples: Examples, form: SourceForm) -> list[list[str]]:
        """The text that the pieces of each vocabulary are found in."""
        train = spread(examples.train, self.recipe.text.vocabulary_lines)
        source, target = form.texts(texts_of(train, "source")), texts_of(train, "target")
        return [source + target] if self.recipe.text.shared else [source, target]

    def tokenizers(self, side: Preprocessor) -> dict[str, SideTokenizer]:
        source = SideTokenizer(side.source_tokenizer, side.source_form.special_tokens)
        if side.shared:
            return {"shared": source}
        return {"source": source, "target": SideTokenizer(side.target_tokenizer)}

    def load_side(self, folder: Path) -> Preprocessor:
        return Preprocessor.load(folder)

    def check_side(self, side: Preprocessor, checkpoint: Checkpoint, folder: Path) -> None:
        def side_of(layer: str) -> tuple[str, int]:
            is_source = layer.startswith("source")
            name = "shared" if side.shared else "source" if is_source else "target"
            return name, side.source_vocabulary_size if is_source else side.target_vocabulary_size

        check_vocabularies(checkpoint, folder, side_of)

    def side_sizes(self, side: Preprocessor) -> str:
        return f"vocabularies of {side.source_vocabulary_size} and {side.target_vocabulary_size}"

    def encode(self, examples: Examples, side: Preprocessor) -> EncodedCorpus:
        self.check_form(side)
        return limit(
            _encode(examples.train, side), self._limits, self.recipe.data.on_long, keep_last=self._ends
        )

    def check_form(self, side: Preprocessor) -> None:
        """Refuses data of another form than the model of a run was made for.

        Raises:
            RecipeError: Then.
        """
        form, data = side.source_form, self.recipe.data
        strange = sorted(set(data.tags) - set(form.tags))
        if strange:
            known = ", ".join(form.tags) or "none"
            raise RecipeError(f"data.train: the model knows the tags {known}. Received: {strange[0]}")
        if form.tags and not data.tags:
            raise RecipeError(f"data.train: must have a tag, {', '.join(form.tags)}, as the model does")
        if self.recipe.text.source_end != side.source_end:
            ends = str(side.source_end).lower()
            raise RecipeError(f"text.source_end: the model was made with {ends}, and needs it")
        if data.source_columns != form.columns:
            raise RecipeError(
                f"data.train: the model reads sources of {counted(form.columns, 'column')}. "
                f"Received: {data.source_columns}"
            )

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> Plan:
        seed, weights = self.recipe.training.seed, self._weights(encoded, weights)
        return BatchPlan(encoded.lengths, size, seed=seed, corpora=encoded.corpora, weights=weights)

    def _weights(self, encoded: EncodedCorpus, weights: Sequence[float]) -> list[float]:
        return tempered(weights, encoded.sizes, self.recipe.data.temperature)

    def plan(self, examples: Examples, encoded: EncodedCorpus, side: Preprocessor) -> Plan:
        training, sampling = self.recipe.training, self.recipe.training.subword_sampling
        if sampling is None:
            return super().plan(examples, encoded, side)
        tokenizers: dict[str, Samples] = {"source": _Sources(side), "target": side.target_tokenizer}
        if sampling.sides != "both":
            tokenizers = {sampling.sides: tokenizers[sampling.sides]}
        samplers, settings = build_samplers(sampling, tokenizers, examples.train, encoded)
        weights, size = self._weights(encoded, examples.weights), self.update_size
        limits, seed = self._limits, training.seed
        return SampledPlan(encoded, samplers, limits, settings, size, seed=seed, weights=weights)

    def signs(self, examples: Examples, side: Preprocessor) -> Iterator[Sign]:
        """See `Problem`: exchanged sides, where each text has one language; a tokenizer of other text."""
        data = self.recipe.data
        source, target = (texts_of(examples.train, name) for name in ("source", "target"))
        if not source:  # it was prepared
            return
        sets = [] if data.tags or data.source_columns > 1 else [*examples.dev, *examples.test]
        for one in sets:
            columns = one.columns
            sign = exchanged_sides(source, target, columns["source"], columns["target"], one.name)
            if sign is not None:
                yield sign

        def tokenizers() -> Iterator[tuple[Tokenizer, Sequence[str]]]:
            yield side.source_tokenizer, side.source_form.texts(source)
            yield side.target_tokenizer, target

        yield from tokenizer_signs(self.recipe.text, tokenizers())

    def report(self, examples: Examples, encoded: EncodedCorpus) -> Iterator[str]:
        yield from super().report(examples, encoded)
        yield from (f"warning: {warning}" for warning in token_warnings(encoded))

    def cost(self, batch: Batch, side: Preprocessor) -> float:
        """A rough count of the numbers that the backward pass needs.

        They are those of logits and their gradients, of what each layer makes of each position, and of the
        weights of attention, which long sentences square.
        """
        model, chunk = self.recipe.model, self.recipe.training.loss_chunk
        source, target, rows = batch.lengths["source"], batch.lengths["target"], len(batch.rows)
        inner = model.decoder_intermediate_dim or model.intermediate_dim
        encoder = source * (12 * model.hidden_dim + 2 * model.intermediate_dim)
        decoder = 2 * target * (12 * model.decoder_width + 2 * inner)
        of_encoder = model.num_layers * (encoder + 3 * model.num_heads * source**2)
        scores = 3 * model.decoder_heads * (target**2 + source * target)
        of_decoder = (model.decoder_num_layers or model.num_layers) * (decoder + scores)
        logits = 3 * side.target_vocabulary_size * min(rows * target, chunk or rows * target)
        return rows * (of_encoder + of_decoder) + logits

    def describe_batch(self, batch: Batch) -> str:
        source, target = batch.lengths["source"], batch.lengths["target"]
        return f"{len(batch.rows):,} pairs, padded to {source} source and {target} target pieces"

    def smaller_updates(self) -> str:
        training = self.recipe.training
        chunk = " or set training.loss_chunk to 1024" if training.loss_chunk is None else ""
        return f"training.batch_tokens (now {training.batch_tokens:,}) or {self._longest}{chunk}"

    def smaller_validation(self) -> str:
        return f"evaluation.beam (now {self.recipe.evaluation.beam}) or {self._longest}"

    @property
    def _longest(self) -> str:
        data = self.recipe.data
        return (
            f"data.max_source_length ({data.max_source_length}) and "
            f"data.max_target_length ({data.max_target_length})"
        )

    @property
    def _limits(self) -> dict[str, int]:
        """The positions that a row may take, by column."""
        data = self.recipe.data
        return {"source": data.max_source_length, "target": data.max_target_length}

    @property
    def _ends(self) -> tuple[str, ...]:
        """The columns whose rows end with the end token, also when they are cut."""
        return ("source",) if self.recipe.text.source_end else ()

    def model(self, side: Preprocessor, precision: str) -> Transformer:
        recipe, sizes = self.recipe, self.recipe.model
        keras.utils.set_random_seed(recipe.training.seed)
        vocabulary: dict[str, Any]
        if recipe.text.shared:
            vocabulary = {"vocabulary_size": side.target_vocabulary_size}
        else:
            vocabulary = {
                "source_vocabulary_size": side.source_vocabulary_size,
                "target_vocabulary_size": side.target_vocabulary_size,
            }
        return Transformer(
            **vocabulary,
            **stack_keywords(sizes),
            hidden_dim=sizes.hidden_dim,
            decoder_num_layers=sizes.decoder_num_layers,
            decoder_hidden_dim=sizes.decoder_hidden_dim,
            decoder_intermediate_dim=sizes.decoder_intermediate_dim,
            decoder_num_heads=sizes.decoder_num_heads,
            embedding_norm=sizes.embedding_norm,
            max_length=sizes.max_length,
            tie_embeddings=sizes.tie_embeddings,
            output_bias=sizes.output_bias,
            epsilon=sizes.norm_epsilon,
            dtype=precision,
            name="transformer",
        )

    def foreign_weights(self, model: Transformer, side: Preprocessor) -> Iterator[str]:
        weights = self.recipe.model.initialize_encoder_from
        if weights is None:
            return
        found = initialize_encoder(
            model.encoder,
            weights.parent,
            embedding=model.source_embedding,
            positions=model.source_positions,
            pieces=side.source_tokens,
        )
        yield from found.to_lines()

    @property
    def loss_options(self) -> dict[str, Any]:
        training = self.recipe.training
        return {"r_drop": training.r_drop, "loss_chunk": training.loss_chunk}

    def task(self, model: Transformer, side: Preprocessor) -> Translator:
        """A translator that searches as the recipe's ``decoding`` says."""
        decoding = self.recipe.decoding
        search = {name: getattr(decoding, name) for name in type(decoding).model_fields}
        options = SearchOptions(beam_size=search.pop("beam"), **search)
        return Translator(model, side, options, max_source_length=self.recipe.data.max_source_length)

    def manifest_facts(self) -> dict[str, Any]:
        evaluation = self.recipe.evaluation
        return {"tokenize": evaluation.tokenize, "rouge": evaluation.rouge}

    def limits(self) -> Iterator[str]:
        most = self.recipe.data.max_source_length - 1
        yield f"It reads the first {most:,} pieces of a source, and nothing behind them."

    def samples(self, folder: RunFolder) -> list[Any]:
        return list(sample_texts(self.recipe.data, self._read_entry, folder))

    def dev_sets(self, examples: Examples, side: Preprocessor) -> list[EvaluationSet]:
        return [self._with_batches(dev, side) for dev in examples.dev]

    def test_sets(self, examples: Examples, side: Preprocessor) -> list[EvaluationSet]:
        return [test.evaluation_set() for test in examples.test]

    def _with_batches(self, found: TextSet, side: Preprocessor) -> EvaluationSet:
        """A set with its batches; a sentence over the limits is cut there, never dropped."""
        encoded = limit(_encode(found.corpora, side), self._limits, "truncate", keep_last=self._ends)
        batches = evaluation_batches(encoded, EVALUATION_POSITIONS, side.assemble)
        return found.evaluation_set(list(batches.dataset))

    def evaluator(self, task: Translator) -> TranslationEvaluator:
        evaluation = self.recipe.evaluation
        return TranslationEvaluator(
            task,
            tokenize=evaluation.tokenize,
            rouge=evaluation.rouge,
            teacher_forced=TeacherForced(task.model, self.recipe.training.label_smoothing),
            beam=evaluation.beam,
            samples=evaluation.samples,
            attention=pair_attention(task.model, task.side, evaluation.self_attention),
        )

    def embeddings(self, model: Transformer, side: Preprocessor) -> dict[str, tuple[Any, Sequence[str]]]:
        target = side.source_tokens if side.shared else side.target_tokenizer.tokens
        found = {"target_tokens": (model.target_embedding.table, target)}
        if model.source_embedding is model.target_embedding:
            return {"tokens": found["target_tokens"]}
        return {"source_tokens": (model.source_embedding.table, side.source_tokens), **found}

    @property
    def measured_by(self) -> tuple[str, ...]:
        keys = {"bleu": ("evaluation.tokenize",), "rouge_l": ("evaluation.rouge",)}
        return keys.get(self.recipe.training.best_by, ())


def _encode(corpora: Sequence[Corpus], side: Preprocessor, threads: int | None = None) -> EncodedCorpus:
    encoders = {"source": side.encode_source, "target": side.encode_target}
    return merge([encode(corpus, encoders, threads=threads) for corpus in corpora])


class _Sources:
    """The sources of a side as what can be sampled from."""

    def __init__(self, side: Preprocessor) -> None:
        self.sampler = side.source_sampler
