"""Rules between the keys of a recipe, defaults that one section takes from another, and warnings."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tf_transformer.recipe.entries import EvaluationTable, Fraction, TrainTable
from tf_transformer.recipe.faults import Fault
from tf_transformer.recipe.fields import Section, table_ending
from tf_transformer.recipe.schedules import Falling
from tf_transformer.recipe.schema import Data, Model, Recipe, Text, Training
from tf_transformer.recipe.yaml_tree import Path

_LIMITS: tuple[Path, ...] = (("training", "steps"), ("training", "epochs"), ("training", "minutes"))
SMALLEST_WITH_BYTES = 300
"""The four special pieces, 256 bytes, and some room for text."""


def faults_between(sections: Mapping[str, Section]) -> list[Fault]:
    """Faults that no single key shows.

    Args:
        sections: The sections that are right in themselves, by name; a rule whose sections are not all
            there is passed over.
    """
    return [
        fault
        for names, rule in _RULES
        if all(name in sections for name in names)
        for fault in rule(*(sections[name] for name in names))
    ]


def complete(recipe: Recipe) -> Recipe:
    """Fills in the defaults that one section takes from another, so that none is left open."""
    recipe = replaced(
        recipe, "text", normal_form=recipe.text.normal_form or _entries_form(recipe.data) or "none"
    )
    if recipe.model.tie_embeddings is None:
        recipe = replaced(recipe, "model", tie_embeddings="all" if recipe.text.shared else "output")
    if recipe.model.positions == "learned" and recipe.model.max_length is None:
        recipe = replaced(recipe, "model", max_length=_longest(recipe.data))
    schedule = recipe.training.schedule
    if isinstance(schedule, Falling) and schedule.total_steps is None:
        whole = schedule.model_copy(update={"total_steps": recipe.training.steps})
        recipe = replaced(recipe, "training", schedule=whole)
    return recipe


def replaced(recipe: Recipe, section: str, **values: Any) -> Recipe:
    """A recipe with some keys of one section replaced; the values are taken as they are."""
    return recipe.model_copy(update={section: getattr(recipe, section).model_copy(update=values)})


def warnings_of(recipe: Recipe) -> list[str]:
    """What is allowed and probably not meant, one line each."""
    training, found = recipe.training, []
    warmup = getattr(training.schedule, "warmup_steps", 0)
    if training.steps is not None and warmup > training.steps:
        found.append(
            f"training.schedule.warmup_steps ({warmup}) is more than training.steps ({training.steps}): "
            "the learning rate never reaches its peak"
        )
    if training.steps is not None and training.validate_every > training.steps:
        found.append(
            f"training.validate_every ({training.validate_every}) is more than training.steps "
            f"({training.steps}): validation runs only once, at the end"
        )
    model = recipe.model
    if training.r_drop and not (model.dropout or model.attention_dropout or model.activation_dropout):
        found.append("training.r_drop compares two dropouts, and there is none: all of model's are 0")
    if (
        recipe.text.tokenizer == "bytes"
        and min(recipe.data.max_source_length, recipe.data.max_target_length) < 100
    ):
        found.append("data.max_source_length and data.max_target_length count bytes here, and are under 100")
    return found


def _model(model: Model) -> Iterator[Fault]:
    if model.hidden_dim % model.num_heads:
        rule = f"must be a multiple of model.num_heads, which is {model.num_heads}"
        yield Fault(("model", "hidden_dim"), rule, model.hidden_dim, others=(_at("model.num_heads"),))
    if model.max_length is not None and model.positions != "learned":
        rule = f"is for learned positions, and model.positions is {model.positions}"
        yield Fault(("model", "max_length"), rule, model.max_length, others=(_at("model.positions"),))


def _text(text: Text) -> Iterator[Fault]:
    if text.tokenizer != "sentencepiece" or text.model is not None:
        why = "text.model is given" if text.model is not None else f"text.tokenizer is {text.tokenizer}"
        for name in ("sentencepiece_type", "byte_fallback"):
            if getattr(text, name) is not None:
                rule = f"is for training a SentencePiece tokenizer, and {why}"
                theirs = (_at("text.model"), _at("text.tokenizer"))
                yield Fault(("text", name), rule, getattr(text, name), others=theirs)
    if text.tokenizer == "bytes":
        for name in ("vocabulary_size", "model"):
            if getattr(text, name) is not None:
                rule = "must be left out: bytes have a fixed vocabulary"
                yield Fault(("text", name), rule, getattr(text, name), others=(_at("text.tokenizer"),))
    elif (
        text.byte_fallback and text.vocabulary_size is not None and text.vocabulary_size < SMALLEST_WITH_BYTES
    ):
        rule = f"must be at least {SMALLEST_WITH_BYTES} with text.byte_fallback, which takes 256 pieces"
        hint, others = "or set text.byte_fallback to false", (_at("text.byte_fallback"),)
        yield Fault(("text", "vocabulary_size"), rule, text.vocabulary_size, hint, others)
    if text.model is not None and not text.shared:
        rule = "must be true with text.model, which is one file for both sides"
        yield Fault(("text", "shared"), rule, False, others=(_at("text.model"),))


def _training(training: Training) -> Iterator[Fault]:
    if training.steps is None and training.epochs is None and training.minutes is None:
        rule = "give at least one of steps, epochs and minutes, such as training.steps: 20000"
        yield Fault(("training",), rule, others=_LIMITS)
    if training.average > training.keep:
        rule = f"must be at most training.keep, which is {training.keep}"
        yield Fault(("training", "average"), rule, training.average, others=(_at("training.keep"),))
    optimizer, schedule = training.optimizer, training.schedule
    if optimizer.name == "adam" and optimizer.weight_decay:
        rule = "is adamw's, and training.optimizer.name is adam"
        others = (_at("training.optimizer.name"),)
        yield Fault(("training", "optimizer", "weight_decay"), rule, optimizer.weight_decay, others=others)
    if isinstance(schedule, Falling):
        yield from _falling(training, schedule)


def _falling(training: Training, schedule: Falling) -> Iterator[Fault]:
    where, warmup = _at("training.schedule.total_steps"), _at("training.schedule.warmup_steps")
    others = (*_LIMITS, where, warmup, _at("training.schedule.name"))
    total = schedule.total_steps if schedule.total_steps is not None else training.steps
    if total is None:
        if training.epochs is None and training.minutes is not None:
            yield Fault(where, "is required where training has neither steps nor epochs", others=others)
    elif schedule.total_steps is not None and total <= schedule.warmup_steps:
        rule = f"must be greater than training.schedule.warmup_steps, which is {schedule.warmup_steps}"
        yield Fault(where, rule, total, others=others)
    elif total <= schedule.warmup_steps:
        rule = f"must be less than training.steps, which is {total}"
        yield Fault(warmup, rule, schedule.warmup_steps, others=others)


def _sampled(text: Text, training: Training) -> Iterator[Fault]:
    if training.subword_sampling is not None and text.tokenizer != "sentencepiece":
        rule = f"is for sentencepiece, and text.tokenizer is {text.tokenizer}"
        yield Fault(("training", "subword_sampling"), rule)


def _tied(text: Text, model: Model) -> Iterator[Fault]:
    if model.tie_embeddings == "all" and not text.shared:
        rule = "must be output or none where text.shared is false"
        yield Fault(("model", "tie_embeddings"), rule, "all", others=(_at("text.shared"),))


def _positions(data: Data, model: Model) -> Iterator[Fault]:
    if model.positions == "learned" and model.max_length is not None and model.max_length < _longest(data):
        rule = (
            f"must be at least {_longest(data)}, the longer of data.max_source_length and max_target_length"
        )
        others = tuple(map(_at, ("model.positions", "data.max_source_length", "data.max_target_length")))
        yield Fault(("model", "max_length"), rule, model.max_length, others=others)


def _normal_forms(data: Data, text: Text) -> Iterator[Fault]:
    """Training and serving have one normal form: every entry that names one must name that one."""
    wanted = text.normal_form or _entries_form(data) or "none"
    for path, entry in _entries(data):
        if entry.normal_form is not None and entry.normal_form != wanted:
            rule = f"must be {wanted}, as text.normal_form or the other entries are: one form serves all text"
            others = tuple((*place, "normal_form") for place, _ in _entries(data))
            yield Fault(
                (*path, "normal_form"), rule, entry.normal_form, "", (_at("text.normal_form"), *others)
            )


def _names(data: Data) -> Iterator[Fault]:
    """Reports and figures go by the names of entries, so each is there once."""
    for split in ("train", "dev", "test"):
        seen: set[str] = set()
        for path, entry in _entries(data, split):
            named = isinstance(getattr(data, split), dict)
            if named and entry.name not in (None, path[-1]):
                yield Fault((*path, "name"), f"must be left out: the set is called {path[-1]}", entry.name)
            elif not named and entry.label in seen:
                rule = f"another entry of data.{split} is called so too: give this one another name"
                yield Fault((*path, "name"), rule, entry.label, others=(("data", split),))
            seen.add(entry.label)


def _columns(data: Data) -> Iterator[Fault]:
    """Numbers are for tables without a header, where nothing has a name."""
    for path, entry in _entries(data):
        if not isinstance(entry, TrainTable | EvaluationTable):
            continue
        columns = entry.columns_read.values()
        if not any(isinstance(column, int) for column in columns):
            continue
        where, others = (*path, "columns"), ((*path, "table"),)
        if table_ending(entry.table) in (".jsonl", ".ndjson"):
            yield Fault(where, "must be names: JSON lines have keys and no numbers", [*columns], "", others)
        elif any(isinstance(column, str) for column in columns):
            yield Fault(where, "must all be names, or all numbers of a table without a header", [*columns])


def _entries(data: Data, *splits: str) -> Iterator[tuple[Path, Any]]:
    for split in splits or ("train", "dev", "test"):
        value = getattr(data, split)
        if isinstance(value, dict):
            yield from ((("data", split, name), entry) for name, entry in value.items())
        elif isinstance(value, tuple):
            yield from ((("data", split, index), entry) for index, entry in enumerate(value))
        elif value is not None and not isinstance(value, Fraction):
            yield ("data", split), value


def _entries_form(data: Data) -> str | None:
    """The normal form that the first train entry which names one has."""
    return next((entry.normal_form for entry in data.train_entries if entry.normal_form is not None), None)


def _at(dotted: str) -> Path:
    return tuple(dotted.split("."))


def _longest(data: Data) -> int:
    return max(data.max_source_length, data.max_target_length)


_RULES: tuple[tuple[tuple[str, ...], Callable[..., Iterator[Fault]]], ...] = (
    (("model",), _model),
    (("text",), _text),
    (("training",), _training),
    (("text", "training"), _sampled),
    (("text", "model"), _tied),
    (("data", "model"), _positions),
    (("data", "text"), _normal_forms),
    (("data",), _names),
    (("data",), _columns),
)
