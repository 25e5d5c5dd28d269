"""The recipe of a classification of pictures."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, Strict

from tf_transformer.recipe.base import Recipe, Rule
from tf_transformer.recipe.data_section import Data
from tf_transformer.recipe.fault import Fault, at
from tf_transformer.recipe.fields import Flag, Section, Whole, key
from tf_transformer.recipe.image_entries import DevData, Side, TestData, TrainData
from tf_transformer.recipe.label_section import (
    LabelEvaluation,
    LabelTraining,
    OnePoolingOrMore,
    Pooled,
    pooling_faults,
)
from tf_transformer.recipe.model_section import Model, Rate, Size
from tf_transformer.recipe.training_section import MicroBatch, idle_r_drop, micro_batch

Channels = Annotated[tuple[Size, ...], Strict(False)]
Amount = Annotated[float, Field(ge=0, le=10)]
Degrees = Annotated[float, Field(ge=0, le=180)]


class ImageData(Data):
    """The pictures and their labels: folders, arrays, tables of pixels."""

    train: TrainData = key(..., "Training pictures: one entry, or a list of entries.", midway="logged")
    dev: DevData = key(
        ...,
        "Pictures that validation runs on: an entry, a list, named sets, or {fraction: 0.1} of train.",
        midway="logged",
    )
    test: TestData | None = key(
        None,
        "Pictures that are scored once, when training ends: an entry, a list, or named sets.",
        midway="free",
    )


class Images(Section):
    """What all pictures are, in training and in serving alike."""

    height: Side | None = key(
        None, "Pixels from top to bottom; by default those of the first training picture.", midway="refused"
    )
    width: Side | None = key(None, "Pixels from left to right, likewise.", midway="refused")
    channels: Literal[1, 3, 4] | None = key(
        None,
        "Grey is 1, colours are 3, 4 with opacity: PNG and JPEG are converted; by default all as the first.",
        midway="refused",
    )
    resize: Literal["none", "stretch", "crop", "pad"] = key(
        "none",
        "A picture of another size: refused, or brought to it, whole, cut to its proportions, or with bars.",
        midway="refused",
    )


class ImageModel(Pooled, Model):
    """The Transformer's encoder, how pictures become vectors, and how its states become one vector."""

    patch_size: Side = key(
        4, "Pixels from one patch to the next; it divides height and width.", midway="refused"
    )
    patch_overlap: Annotated[Whole, Field(ge=0, le=1000)] = key(
        0, "How far a patch reads into its neighbours, in pixels (of the stem's pictures).", midway="refused"
    )
    stem: Channels = key(
        (),
        "Channels of 3x3 convolutions before the patches, such as [32, 64]; the last ones halve the picture.",
        midway="refused",
    )
    positions: Literal["learned", "sinusoidal", "none"] = key(
        "learned", "How the model knows the place of a patch, in two dimensions.", midway="refused"
    )
    class_token: Flag = key(
        False, "A trained vector before the patches, which pooling first takes.", midway="refused"
    )
    pooling: OnePoolingOrMore = key(
        "mean", "States to one vector: mean, first, max, attention, or a list of them.", midway="refused"
    )
    pooled_dropout: Rate = key(0.0, "Dropout of that vector.", midway="logged")


class AugmentationSection(Section):
    """How training changes pictures, each by itself, as a function of seed, epoch and batch."""

    shift: Rate = key(0.0, "Farthest shift, as a share of height and width.", midway="logged")
    rotate: Degrees = key(0.0, "Farthest turn, in degrees.", midway="logged")
    zoom: Amount = key(0.0, "Farthest zoom: 0.2 is from 1/1.2 to 1.2.", midway="logged")
    stretch: Amount = key(0.0, "Farthest change of height against width, likewise.", midway="logged")
    shear: Annotated[float, Field(ge=0, le=80)] = key(
        0.0, "Farthest lean of upright lines, in degrees.", midway="logged"
    )
    elastic: Rate = key(
        0.0, "Deviation of smooth random displacements, as a share of the shorter side.", midway="logged"
    )
    smoothness: Annotated[float, Field(ge=0.01, le=1)] = key(
        0.15, "How far such displacements are alike, as a share of that side.", midway="logged"
    )
    flip: Literal["none", "horizontal", "vertical", "both"] = key(
        "none", "Every second picture is mirrored so.", midway="logged"
    )
    brightness: Rate = key(0.0, "Farthest change of brightness, as a share of white.", midway="logged")
    contrast: Amount = key(0.0, "Farthest change of contrast, as for zoom.", midway="logged")
    erase: Rate = key(
        0.0, "Greatest share of height and of width of a random black rectangle.", midway="logged"
    )
    outside: Literal["black", "edge"] = key(
        "black", "What is seen beyond the border: black, or the pixel at the border.", midway="logged"
    )


class ImageTraining(LabelTraining):
    """How long, how fast, and what is kept. The first of steps, epochs and minutes to be reached ends it."""

    BUDGET: ClassVar[str] = "batch_size"

    batch_size: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        64, "Pictures of one update, over all devices.", midway="logged", after="minutes"
    )
    micro_batch_size: MicroBatch = micro_batch("batch_size", "Pictures")
    augmentation: AugmentationSection = key(
        AugmentationSection(), "How training changes pictures; by default not at all.", midway="logged"
    )


def _size(images: Images) -> Iterator[Fault]:
    for name in ("height", "width"):
        if images.resize != "none" and getattr(images, name) is None:
            rule = f"is required with images.resize, which is {images.resize}"
            yield Fault(("images", name), rule, others=(at("images.resize"),))


def _patches(images: Images, model: ImageModel) -> Iterator[Fault]:
    for name in ("height", "width"):
        size = getattr(images, name)
        if size is not None and size % model.patch_size:
            rule = f"must divide images.{name}, which is {size}"
            yield Fault(("model", "patch_size"), rule, model.patch_size, others=(at(f"images.{name}"),))


def _class_token(model: ImageModel) -> Iterator[Fault]:
    if "first" in model.poolings and not model.class_token:
        rule = "asks for model.class_token: without it, first is the patch in the corner"
        yield Fault(("model", "pooling"), rule, model.pooling, others=(at("model.class_token"),))


class ClassifyImagesRecipe(Recipe):
    """All that determines a run of a classification of pictures."""

    RULES: ClassVar[tuple[Rule, ...]] = (
        *Recipe.RULES,
        (("images",), _size),
        (("images", "model"), _patches),
        (("model",), pooling_faults),
        (("model",), _class_token),
    )

    task: Literal["classify_images"] = key(
        ..., "What is trained.", midway="refused", example="classify_images"
    )
    data: ImageData = key(..., "The pictures and their labels.", midway="logged")
    images: Images = key(
        Images(),
        "What all pictures are, in training and in serving alike.",
        midway="refused",
        after="data",
    )
    model: ImageModel = key(ImageModel(), "The Transformer's encoder.", midway="refused")
    training: ImageTraining = key(ImageTraining(), "How long, how fast, and what is kept.", midway="logged")
    evaluation: LabelEvaluation = key(LabelEvaluation(), "What validation measures.", midway="logged")

    def warnings(self) -> Iterator[str]:
        """See `Recipe`."""
        yield from super().warnings()
        yield from idle_r_drop(self.training.r_drop, *self.model.dropouts)
