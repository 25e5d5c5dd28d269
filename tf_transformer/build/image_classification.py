"""Classification of pictures: labelled pictures, patches, an encoder with a pooling, and scores of labels."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import keras
import tensorflow as tf

from tf_transformer.build.example_classification import ExampleProblem, Read
from tf_transformer.build.problem import Examples, Words
from tf_transformer.data.augmented import Augment, image_augment
from tf_transformer.data.batching import Batch
from tf_transformer.data.encoding import EncodedCorpus
from tf_transformer.data.example_preprocessor import ImagePreprocessor, labels_of
from tf_transformer.data.image_form import ImageForm
from tf_transformer.data.images import read_image_arrays, read_image_folder, read_image_table
from tf_transformer.data.labelled import LabelledCorpus
from tf_transformer.data.pipeline import RowPlan
from tf_transformer.errors import DataError, RecipeError
from tf_transformer.layers import Augmentation, PatchEmbedding
from tf_transformer.layers.patches import patch_grid
from tf_transformer.models import Classifier
from tf_transformer.recipe.classify_images import AugmentationSection, ClassifyImagesRecipe
from tf_transformer.recipe.example_entries import Folder
from tf_transformer.recipe.image_entries import ImageArrays
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.classify_images import ImageClassifier

_MOST_SAMPLES = 32


class ImageClassificationProblem(ExampleProblem[ClassifyImagesRecipe]):
    """A recipe with ``task: classify_images``."""

    WORDS: ClassVar[Words] = Words(
        row="picture",
        data="pictures",
        unit="picture",
        verb="classify",
        lengths="images.height and images.width",
        picture="confusion",
        reads_files=True,
        pipeline="image-classification",
        call='image=tf.constant([tf.io.read_file("picture.png")])',
    )

    def reader(self) -> Read:
        form = _asked(self.recipe)

        def read(entry: Any, name: str | None) -> LabelledCorpus:
            nonlocal form
            corpus = read_entry(entry, form, name)
            form = form.completed(corpus.inputs.shape[1:])
            return corpus

        return read

    def check_form(self, corpus: LabelledCorpus, side: ImagePreprocessor) -> None:
        if fault := replace(side.form, resize="none", convert=False).fault(corpus.inputs.shape[1:]):
            raise DataError(f"{corpus.files[0]}: a picture {fault}")

    def new_side(self, examples: Examples) -> ImagePreprocessor:
        side = ImagePreprocessor.of(examples.train, _asked(self.recipe))
        try:
            patch_grid(side.form.height, side.form.width, self.recipe.model.patch_size)
        except ValueError:
            raise RecipeError(
                "model.patch_size: must divide the height and the width of the pictures, "
                f"{side.form.height} x {side.form.width}; received {self.recipe.model.patch_size}"
            ) from None
        return side

    def carried_side(self, side: ImagePreprocessor, examples: Examples) -> ImagePreprocessor:
        return ImagePreprocessor(side.form, labels_of(examples.train), side.mean, side.deviation)

    def load_side(self, folder: Path) -> ImagePreprocessor:
        return ImagePreprocessor.load(folder)

    def side_sizes(self, side: ImagePreprocessor) -> str:
        return f"pictures of {side.form}, {len(side.labels)} labels"

    def batches(self, encoded: EncodedCorpus, weights: Sequence[float], size: int) -> RowPlan:
        seed = self.recipe.training.seed
        return RowPlan(len(encoded), size, seed=seed, corpora=encoded.corpora, weights=weights)

    @property
    def augment(self) -> Augment | None:
        """See `Problem`."""
        options = self.recipe.training.augmentation.model_dump()
        if self.recipe.training.augmentation == AugmentationSection():
            return None
        layer = Augmentation(**options, dtype="float32", name="augmentation")
        layer.build()
        return image_augment(layer, self.recipe.training.seed)

    def describe_batch(self, batch: Batch) -> str:
        return f"{len(batch.rows):,} pictures"

    def smaller_updates(self) -> str:
        return f"training.batch_size (now {self.recipe.training.batch_size:,})"

    def smaller_validation(self) -> str:
        return "model.num_layers or model.hidden_dim"

    def model(self, side: ImagePreprocessor, precision: str) -> Classifier:
        keras.utils.set_random_seed(self.recipe.training.seed)
        sizes = self.recipe.model
        embedding = PatchEmbedding(
            sizes.hidden_dim,
            patch_size=sizes.patch_size,
            overlap=sizes.patch_overlap,
            stem=sizes.stem,
            positions=sizes.positions,
            class_token=sizes.class_token,
            mean=side.mean,
            deviation=side.deviation,
            dropout=sizes.dropout,
            dtype=precision,
            name="embedding",
        )
        return self.classifier(embedding, side, precision, inputs_shape=side.form.shape)

    def task(self, model: Classifier, side: ImagePreprocessor) -> ImageClassifier:
        return ImageClassifier(model, side)

    def samples(self, folder: RunFolder) -> list[Any]:
        data, read = self.recipe.data, self.reader()
        entries = [*data.dev_sets.values(), *data.test_sets.values(), *data.train_entries]
        with suppress(DataError, OSError):
            pixels = read(entries[0], None).inputs
            chosen = pixels[:: max(1, len(pixels) // _MOST_SAMPLES)][:_MOST_SAMPLES]
            return [tf.io.encode_png(picture).numpy() for picture in chosen]
        return []


def _asked(recipe: ClassifyImagesRecipe) -> ImageForm:
    """What the recipe asks of pictures."""
    images = recipe.images
    return ImageForm(
        images.height, images.width, images.channels, images.resize, convert=images.channels is not None
    )


def read_entry(entry: Any, form: ImageForm, name: str | None) -> LabelledCorpus:
    """The pictures of an entry of a recipe.

    Args:
        entry: A folder, arrays, or a table of pixels.
        form: What is asked of them.
        name: What reports call the corpus; by default the entry's title.
    """
    how: dict[str, Any] = {"on_bad_row": entry.on_bad_row, "name": name or entry.title}
    if isinstance(entry, Folder):
        return read_image_folder(entry.folder, form, **how)
    if isinstance(entry, ImageArrays):
        return read_image_arrays(entry.arrays, form, images=entry.images, labels=entry.labels, **how)
    return read_image_table(
        entry.table,
        form,
        label=entry.label,
        height=entry.height,
        width=entry.width,
        channels=entry.channels,
        white=entry.white,
        encoding=entry.encoding,
        **how,
    )
