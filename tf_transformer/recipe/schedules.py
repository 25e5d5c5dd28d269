"""The ``training.schedule`` section of a recipe: one class a schedule, chosen by ``name``."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from tf_transformer.recipe.fields import MOST_UPDATES, Flag, Section, Whole, key

Rate = Annotated[float, Field(gt=0, le=10)]
Warmup = Annotated[Whole, Field(ge=0, le=MOST_UPDATES)]


class InverseSqrt(Section):
    """Up to the peak in a line, then down with the inverse square root of the update's number."""

    name: Literal["inverse_sqrt"] = key(
        "inverse_sqrt", "Up to the peak, then down by 1/sqrt(n).", midway="logged"
    )
    peak: Rate = key(0.001, "Highest learning rate, that of update warmup_steps.", midway="logged")
    warmup_steps: Annotated[Warmup, Field(ge=1)] = key(1000, "Updates up to the peak.", midway="logged")


class Noam(Section):
    """The formula of "Attention Is All You Need", section 5.3."""

    name: Literal["noam"] = key(
        "noam", "The paper's formula; the width of the model sets the rate.", midway="logged"
    )
    warmup_steps: Annotated[Warmup, Field(ge=1)] = key(
        4000, "Updates up to the highest rate.", midway="logged"
    )
    scale: Annotated[float, Field(gt=0, le=1000)] = key(1.0, "Factor on the formula.", midway="logged")


class Falling(Section):
    """A fall from the peak to a fraction of it at a known update."""

    peak: Rate = key(0.001, "Highest learning rate.", midway="logged")
    warmup_steps: Warmup = key(1000, "Updates up to the peak; 0 starts there.", midway="logged")
    total_steps: Annotated[Whole, Field(ge=1, le=MOST_UPDATES)] | None = key(
        None, "Update at which the rate has fallen; by default the end of training.", midway="logged"
    )
    final_fraction: Annotated[float, Field(ge=0, le=1)] = key(
        0.0, "Share of the peak that is left then.", midway="logged"
    )


class Cosine(Falling):
    """Up to the peak, then down along half a cosine, once or again and again."""

    name: Literal["cosine"] = key("cosine", "Up to the peak, then down along a cosine.", midway="logged")
    period_steps: Annotated[Whole, Field(ge=1, le=MOST_UPDATES)] | None = key(
        None,
        "Updates of the first fall, after which the rate starts from the peak again; null for one fall.",
        midway="logged",
    )
    period_factor: Annotated[Whole, Field(ge=1, le=1000)] | None = key(
        None,
        "How many times as long each further fall is; 1 where period_steps is given.",
        midway="logged",
        factory=lambda keys: 1 if keys.get("period_steps") is not None else None,
    )


class Linear(Falling):
    """Up to the peak, then down in a line."""

    name: Literal["linear"] = key("linear", "Up to the peak, then down in a line.", midway="logged")


class Exponential(Section):
    """Up to the peak, then the same factor every so many updates or epochs."""

    name: Literal["exponential"] = key(
        "exponential", "Up to the peak, then the same factor again and again.", midway="logged"
    )
    peak: Rate = key(0.001, "Highest learning rate.", midway="logged")
    warmup_steps: Warmup = key(1000, "Updates up to the peak; 0 starts there.", midway="logged")
    decay_rate: Annotated[float, Field(gt=0, le=1)] = key(
        0.5, "The factor of a whole period.", midway="logged"
    )
    decay_steps: Annotated[Whole, Field(ge=1, le=MOST_UPDATES)] = key(
        1, "Length of a period, in the unit below.", midway="logged"
    )
    unit: Literal["updates", "epochs"] = key("epochs", "What a period is counted in.", midway="logged")
    staircase: Flag = key(False, "Fall only at the ends of periods.", midway="logged")


class Constant(Section):
    """One rate for ever, after an optional warm-up."""

    name: Literal["constant"] = key("constant", "One rate for ever.", midway="logged")
    peak: Rate = key(0.001, "The learning rate.", midway="logged")
    warmup_steps: Warmup = key(0, "Updates up to it; 0 starts there.", midway="logged")


class ReduceOnPlateau(Section):
    """Up to the peak, then down each time that validation gets no better."""

    name: Literal["reduce_on_plateau"] = key(
        "reduce_on_plateau", "Down each time that validation gets no better.", midway="logged"
    )
    peak: Rate = key(0.001, "The learning rate at the beginning.", midway="logged")
    warmup_steps: Warmup = key(1000, "Updates up to it; 0 starts there.", midway="logged")
    factor: Annotated[float, Field(gt=0, lt=1)] = key(
        0.5, "What a plateau multiplies the rate by.", midway="logged"
    )
    patience: Annotated[Whole, Field(ge=1, le=10**6)] = key(
        3, "Validations in a row without a better one that make a plateau.", midway="logged"
    )
    lowest: Annotated[float, Field(ge=0, le=1)] = key(
        0.01, "Share of the peak that the rate does not fall below.", midway="logged"
    )
    rise: Annotated[float, Field(ge=1, le=10)] = key(
        1.0, "What a validation that is better than all before multiplies the rate by; 1 for never.",
        midway="logged",
    )  # fmt: skip
    highest: Annotated[float, Field(ge=1, le=1000)] = key(
        4.0, "Times the peak that the rate does not rise above.", midway="logged"
    )


def _schedule_name(value: Any) -> str:
    """The form of a schedule; one without a name is the default one's."""
    name = (
        value.get("name", "inverse_sqrt")
        if isinstance(value, Mapping)
        else getattr(value, "name", "inverse_sqrt")
    )
    return f"<{name}>"


Schedule = Annotated[
    Annotated[InverseSqrt, Tag("<inverse_sqrt>")]
    | Annotated[Noam, Tag("<noam>")]
    | Annotated[Cosine, Tag("<cosine>")]
    | Annotated[Linear, Tag("<linear>")]
    | Annotated[Exponential, Tag("<exponential>")]
    | Annotated[Constant, Tag("<constant>")]
    | Annotated[ReduceOnPlateau, Tag("<reduce_on_plateau>")],
    Discriminator(_schedule_name),
]
