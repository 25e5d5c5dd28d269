"""Language modelling: running text, a decoder alone, and nats a character."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import keras

from tf_transformer.build.looking import prompt_attention
from tf_transformer.build.problem import Examples, Heading, Problem, Words
from tf_transformer.build.stack import stack_keywords
from tf_transformer.build.text_data import (
    Read,
    TextSet,
    build_normalizer,
    how_read,
    make_tokenizer,
    read_examples,
    read_sets,
    spread,
    texts_of,
)
from tf_transformer.build.text_signs import tokenizer_signs
from tf_transformer.build.vocabulary_update import SideTokenizer
from tf_transformer.build.weights import check_vocabularies
from tf_transformer.checkpoints import Checkpoint
from tf_transformer.data.batching import Batch
from tf_transformer.data.cleaning import clean, split_by_hash
from tf_transformer.data.encoding import EncodedCorpus, encode, limit, merge
from tf_transformer.data.pipeline import BatchPlan, Plan, WindowPlan
from tf_transformer.data.sources import Corpus, read_table
from tf_transformer.data.texts import carve_ends, read_texts
from tf_transformer.data.windows import evaluation_windows
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.evaluation import EvaluationSet
from tf_transformer.evaluation.language_modelling import LanguageModelEvaluator, beginnings
from tf_transformer.evaluation.signs import Sign
from tf_transformer.evaluation.teacher_forced import TeacherForced
from tf_transformer.models import LanguageModel
from tf_transformer.recipe import GenerateRecipe
from tf_transformer.recipe.entries import Table
from tf_transformer.recipe.running_text_entries import TextFile
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks import Generator, SamplingOptions
from tf_transformer.text import LanguagePreprocessor, Normalizer, Tokenizer

EVALUATION_POSITIONS = 4096
"""Padded positions in a batch of an evaluation."""
_MOST_SAMPLES = 8


class LanguageModellingProblem(Problem[GenerateRecipe]):
    """A recipe with ``task: generate``."""

    WORDS: ClassVar[Words] = Words(
        row="text",
        data="text",
        unit="target token",
        verb="generate",
        lengths="data.window",
        picture="attention",
        pipeline="text-generation",
    )
    HEADINGS: ClassVar[tuple[Heading, ...]] = (
        ("val_loss", "dev loss", 9, "{:.4f}"),
        ("val_nats_per_character", "nats/char", 10, "{:.4f}"),
        ("val_perplexity", "dev ppl", 8, "{:.2f}"),
        ("val_accuracy", "accuracy", 9, "{:.1%}"),
        ("target_tokens_per_second", "tokens/s", 9, "{:,.0f}"),
    )
    BUDGET_COLUMN: ClassVar[str | None] = "text"

    @property
    def _has_end(self) -> bool:
        return self.recipe.data.unit != "text"

    def _normalizer(self) -> Normalizer:
        """Text keeps its lines, unless a line is a text; and all of its white space, if the pieces can."""
        text = self.recipe.text
        if self.recipe.data.unit == "line":
            return build_normalizer(text)
        return build_normalizer(text, keep="lines" if text.tokenizer == "sentencepiece" else "all")

    def read(self) -> Examples:
        return read_examples(self.recipe.data, self._reader(), self._carve)

    def read_split(self, split: str) -> Examples:
        return read_sets(self.recipe.data, split, self._reader(), self._carve)

    def _reader(self) -> Read:
        normalizer, unit = self._normalizer(), self.recipe.data.unit

        def read(entry: Any, name: str | None) -> Corpus:
            how, columns, is_table = how_read(entry, name), entry.columns_read, isinstance(entry, Table)
            corpus = (
                read_table(entry.table, columns, **how) if is_table else read_texts(entry.text, unit, **how)
            )
            clean_texts = normalizer.normalize_texts
            return clean(corpus, clean_texts, deduplicate=entry.deduplicate, has_lines=unit != "line")

        return read

    def _carve(self, corpus: Corpus, fraction: float) -> tuple[Corpus, Corpus]:
        """Whole texts by a hash; of a text without an end, its last part."""
        return split_by_hash(corpus, fraction, "text") if self._has_end else carve_ends(corpus, fraction)

    def new_side(self, examples: Examples) -> LanguagePreprocessor:
        tokenizer = make_tokenizer(self.recipe.text, self._lines(examples))
        return LanguagePreprocessor(tokenizer, self._normalizer(), self._has_end)

    def _lines(self, examples: Examples) -> list[str]:
        """The text that pieces are found in."""
        return texts_of(spread(examples.train, self.recipe.text.vocabulary_lines), "text")

    def carried_side(self, side: LanguagePreprocessor, examples: Examples) -> LanguagePreprocessor:
        if (side.normalizer.keep == "words") != (self.recipe.data.unit == "line"):
            kind = "lines" if side.normalizer.keep == "words" else "whole texts"
            raise RecipeError(
                f"data.unit: must be that of {kind}, as in the run that training begins from. Received: "
                f"{self.recipe.data.unit}"
            )
        tokenizer = side.tokenizer
        if self.recipe.text.update is not None:
            tokenizer = make_tokenizer(self.recipe.text, self._lines(examples), tokenizer)
        return LanguagePreprocessor(tokenizer, side.normalizer, self._has_end)

    def tokenizers(self, side: LanguagePreprocessor) -> dict[str, SideTokenizer]:
        return {"text": SideTokenizer(side.tokenizer)}

    def load_side(self, folder: Path) -> LanguagePreprocessor:
        return LanguagePreprocessor.load(folder)

    def check_side(self, side: LanguagePreprocessor, checkpoint: Checkpoint, folder: Path) -> None:
        check_vocabularies(checkpoint, folder, lambda layer: ("text", side.vocabulary_size))

    def side_sizes(self, side: LanguagePreprocessor) -> str:
        return f"a vocabulary of {side.vocabulary_size}"

    def encode(self, examples: Examples, side: LanguagePreprocessor) -> EncodedCorpus:
        encoded = _encode(examples.train, side)
        if not self._has_end:
            return encoded
        data = self.recipe.data
        return limit(encoded, {"text": data.window}, data.on_long, keep_last=())

    def signs(self, examples: Examples, side: LanguagePreprocessor) -> Iterator[Sign]:
        """See `Problem`: a tokenizer of other text."""

        def tokenizers() -> Iterator[tuple[Tokenizer, list[str]]]:
            texts = texts_of(examples.train, "text")
            yield side.tokenizer, [line for text in texts for line in text.split("\n") if line]

        return tokenizer_signs(self.recipe.text, tokenizers())

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> Plan:
        lengths, seed = encoded.lengths["text"], self.recipe.training.seed
        if self._has_end:
            return BatchPlan(
                encoded.lengths,
                size,
                budget_column="text",
                seed=seed,
                corpora=encoded.corpora,
                weights=weights,
            )
        return WindowPlan(
            lengths, self.recipe.data.window, size, seed=seed, corpora=encoded.corpora, weights=weights
        )

    def cost(self, batch: Batch, side: LanguagePreprocessor) -> float:
        """A rough count of the numbers that the backward pass needs; see `TranslationProblem.cost`."""
        model, chunk = self.recipe.model, self.recipe.training.loss_chunk
        length, rows = batch.lengths["text"], len(batch.rows)
        layer = (
            12 * model.hidden_dim + 2 * model.intermediate_dim
        ) * length + 3 * model.num_heads * length**2
        logits = 3 * side.vocabulary_size * min(rows * length, chunk or rows * length)
        return rows * model.num_layers * layer + logits

    def describe_batch(self, batch: Batch) -> str:
        return f"{len(batch.rows):,} windows of {batch.lengths['text']} pieces"

    def smaller_updates(self) -> str:
        training = self.recipe.training
        chunk = " or set training.loss_chunk to 1024" if training.loss_chunk is None else ""
        return f"training.batch_tokens (now {training.batch_tokens:,}) or {self.smaller_validation()}{chunk}"

    def smaller_validation(self) -> str:
        return f"data.window (now {self.recipe.data.window})"

    def model(self, side: LanguagePreprocessor, precision: str) -> LanguageModel:
        sizes = self.recipe.model
        keras.utils.set_random_seed(self.recipe.training.seed)
        return LanguageModel(
            side.vocabulary_size,
            **stack_keywords(sizes),
            hidden_dim=sizes.hidden_dim,
            embedding_norm=sizes.embedding_norm,
            max_length=sizes.max_length,
            tie_embeddings=sizes.tie_embeddings,
            dtype=precision,
            name="language_model",
        )

    @property
    def loss_options(self) -> dict[str, Any]:
        return {"loss_chunk": self.recipe.training.loss_chunk}

    def task(self, model: LanguageModel, side: LanguagePreprocessor) -> Generator:
        """A generator that draws as the recipe's ``decoding`` says."""
        decoding = self.recipe.decoding
        options = SamplingOptions(
            max_length=decoding.max_length,
            temperature=decoding.temperature,
            top_k=decoding.top_k,
            top_p=decoding.top_p,
            repetition_penalty=decoding.repetition_penalty,
            no_repeat=decoding.no_repeat,
            banned=decoding.banned,
            seed=decoding.seed,
        )
        return Generator(model, side, options, window=self.recipe.data.window, stride=decoding.stride)

    def limits(self) -> Iterator[str]:
        most = self.recipe.data.window
        yield f"It looks back at {most:,} pieces at most."

    def samples(self, folder: RunFolder) -> list[Any]:
        data, read = self.recipe.data, self._reader()
        for entry in [*data.dev_sets.values(), *data.test_sets.values(), *data.train_entries][:1]:
            with suppress(DataError, OSError):
                texts = read(entry, None).columns["text"]
                return [prompt for prompt, _ in beginnings(texts, _MOST_SAMPLES, self._has_end)]
        return []

    def dev_sets(self, examples: Examples, side: LanguagePreprocessor) -> list[EvaluationSet]:
        return [self._with_windows(dev, side) for dev in examples.dev]

    def test_sets(self, examples: Examples, side: LanguagePreprocessor) -> list[EvaluationSet]:
        return [self._with_windows(test, side) for test in examples.test]

    def _with_windows(self, found: TextSet, side: LanguagePreprocessor) -> EvaluationSet:
        """A set with the windows that score every piece of it once; nothing is cut or dropped."""
        data, stride = self.recipe.data, self.recipe.evaluation.stride
        encoded = _encode(found.corpora, side)
        windows = evaluation_windows(
            encoded, data.window, stride or data.window, EVALUATION_POSITIONS, side.assemble
        )
        return found.evaluation_set(windows)

    def set_of_file(self, path: Path, side: LanguagePreprocessor) -> tuple[EvaluationSet, Sequence[str]]:
        """A file that was named on the command line as a set without a name, and what was noticed.

        Raises:
            DataError: When it cannot be read rightly.
        """
        corpus = self._reader()(TextFile(text=path), None)
        return self._with_windows(TextSet("", [corpus]), side), corpus.report.to_lines()

    def evaluator(self, task: Generator) -> LanguageModelEvaluator:
        evaluation, data = self.recipe.evaluation, self.recipe.data
        return LanguageModelEvaluator(
            task,
            TeacherForced(task.model, self.recipe.training.label_smoothing),
            has_end=self._has_end,
            window=data.window,
            stride=evaluation.stride or data.window,
            samples=evaluation.samples,
            attention=prompt_attention(task.model, task.side) if evaluation.self_attention else None,
        )

    def embeddings(
        self, model: LanguageModel, side: LanguagePreprocessor
    ) -> dict[str, tuple[Any, Sequence[str]]]:
        return {"tokens": (model.embedding.table, side.tokenizer.tokens)}

    @property
    def measured_by(self) -> tuple[str, ...]:
        return ("evaluation.stride",)


def _encode(corpora: Sequence[Corpus], side: LanguagePreprocessor) -> EncodedCorpus:
    return merge([encode(corpus, {"text": side.encode_text}, shifted=()) for corpus in corpora])
