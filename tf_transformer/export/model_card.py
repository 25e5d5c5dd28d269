"""The model card of an export, ``README.md`` in the folder of its version: what the model is, as far as the
run and its recipe know it. It says nothing of where files lay on the machine.

The head is YAML that model hubs read; https://huggingface.co/docs/hub/model-cards names its keys.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_transformer.errors import clock
from tf_transformer.export.markdown import escaped, front_matter, paragraphs, table
from tf_transformer.manifest import Manifest
from tf_transformer.recipe import Recipe
from tf_transformer.run_folder import RunFolder

_SHORT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")
_MEASURES = {
    "bleu": "bleu",
    "chrf": "chrf",
    "ter": "ter",
    "rouge_l": "rouge",
    "accuracy": "accuracy",
    "macro_f1": "f1",
    "perplexity": "perplexity",
}
"""Figures that model hubs have a name for."""


@dataclass(frozen=True)
class Figures:
    """What was measured of one checkpoint.

    Args:
        values: By name, such as ``test_bleu``.
        signatures: How some of them were measured.
        date: When, where that is known.
        training: What ``results.json`` says of the training; nothing where it has none.
    """

    values: Mapping[str, float] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    date: str | None = None
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CardFacts:
    """What a card is written from.

    Args:
        recipe: Of the run, as resolved.
        name: What the model is called where the recipe has no name for it.
        pipeline: What model hubs call such a task; None where they have no word for it.
        call: The arguments of ``serving_default`` in an example.
        limits: What the recipe knows of what the model does not do.
        parameters: How many weights it has.
        figures: What was measured.
    """

    recipe: Recipe
    name: str
    pipeline: str | None
    call: str
    limits: Sequence[str]
    parameters: int
    figures: Figures


def figures_of(folder: RunFolder, checkpoint: str, step: int) -> Figures:
    """What a run knows of a checkpoint: its final figures, or those of its validation, or nothing.

    Args:
        folder: The run.
        checkpoint: The checkpoint's name.
        step: Updates behind it.
    """
    results = folder.results() or {}
    if results.get("checkpoint") == checkpoint:
        values, signatures = results.get("metrics") or {}, results.get("signatures") or {}
        return Figures(_numbers(values), signatures, results.get("date"), results)
    is_average = not checkpoint.startswith("step-")
    rows = [] if is_average else [row for row in folder.metrics() if row["step"] == step]
    found = {name: value for row in rows[-1:] for name, value in row.items() if name.startswith("val_")}
    return Figures(_numbers(found), training=results)


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    are = {name: value for name, value in values.items() if isinstance(value, int | float)}
    return {name: float(value) for name, value in are.items() if not isinstance(value, bool)}


def model_card(facts: CardFacts, manifest: Manifest, version: str, date: str) -> str:
    """The card as Markdown.

    Args:
        facts: What the run knows.
        manifest: Of the version.
        version: The number of its folder.
        date: When it is written, as ``2026-12-01``.
    """
    about = facts.recipe.about
    name = about.name or facts.name
    parts = [
        front_matter(_head(facts, manifest, name)),
        f"# {escaped(name)}",
        paragraphs(about.description) if about.description else f"A model for `{manifest.task}`.",
        *_section("Data", _data(facts.recipe)),
        *_section("Figures", _figures(facts.figures, manifest)),
        *_section("Training", ["\n".join(_training(facts, manifest))]),
        *_section("Limits", _limits(facts, manifest)),
        *_section("Use", _use(facts, manifest)),
    ]
    if about.contact:
        parts += _section("Contact", [escaped(about.contact)])
    parts += [f"Written by tf-transformer at its export, version {version}, {date}."]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _section(title: str, parts: Iterator[str] | Sequence[str]) -> list[str]:
    found = list(parts)
    return [f"## {title}", *found] if found else []


def _head(facts: CardFacts, manifest: Manifest, name: str) -> dict[str, Any]:
    about, head = facts.recipe.about, dict[str, Any]()
    if about.languages:
        head["language"] = list(about.languages)
    if about.licence is not None:
        # Hubs know short names in small letters; what is none has a name of its own.
        is_short = _SHORT_NAME.fullmatch(about.licence) is not None
        head["license"] = about.licence.lower() if is_short else "other"
        if not is_short:
            head["license_name"] = about.licence
    head["library_name"] = "tf-transformer"
    if facts.pipeline is not None:
        head["pipeline_tag"] = facts.pipeline
    head["tags"] = ["tensorflow", "keras", "transformer", manifest.kind]
    measured = _hub_measures(facts.figures)
    if measured:
        head["metrics"] = sorted({each["type"] for each in measured})
        task = {"type": facts.pipeline or "other"}
        dataset = {"type": "other", "name": ", ".join(facts.recipe.data.test_sets)}
        head["model-index"] = [
            {"name": name, "results": [{"task": task, "dataset": dataset, "metrics": measured}]}
        ]
    return head


def _hub_measures(figures: Figures) -> list[dict[str, Any]]:
    """Figures of the first test set, by names that hubs know."""
    found = []
    for name, kind in _MEASURES.items():
        value = figures.values.get(f"test_{name}")
        if value is not None:
            found.append({"type": kind, "value": value, "name": f"test_{name}"})
    return found


def _data(recipe: Recipe) -> Iterator[str]:
    data = recipe.data
    train = {entry.title: entry for entry in data.train_entries}
    dev = data.dev_sets
    rows = [
        (split, escaped(name), escaped(entry.licence or "not stated"))
        for split, entries in (("train", train), ("dev", dev), ("test", data.test_sets))
        for name, entry in entries.items()
    ]
    yield table(("split", "name", "licence"), rows)
    if data.dev_fraction is not None:
        yield f"{data.dev_fraction:.1%} of the training data was set apart as dev."


def _figures(figures: Figures, manifest: Manifest) -> Iterator[str]:
    if not figures.values:
        yield "Nothing is recorded of this checkpoint."
        return
    rows = [
        (escaped(name), f"{value:.6g}", escaped(figures.signatures.get(name, "")))
        for name, value in figures.values.items()
    ]
    yield table(("figure", "value", "signature"), rows)
    if figures.date is not None:
        yield f"Measured {escaped(figures.date)}."
    if manifest.weights != "float32" or manifest.kind != "savedmodel":
        yield "They are those of the run, whose weights are float32; `manifest.json` says how close this is."


def _training(facts: CardFacts, manifest: Manifest) -> Iterator[str]:
    training = facts.figures.training
    yield f"- Parameters: {facts.parameters:,}"
    yield f"- Checkpoint: {escaped(manifest.checkpoint)}, {manifest.step:,} updates"
    seconds = training.get("seconds")
    if isinstance(seconds, int | float):
        yield f"- Time: {clock(seconds)}"
    machine = training.get("machine")
    if isinstance(machine, dict):
        yield f"- Machine: {escaped(_machine(machine))}"
    precision = training.get("precision")
    if precision:
        yield f"- Precision: {escaped(str(precision))}; seed {facts.recipe.training.seed}"
    yield f"- Recipe: SHA-256 {escaped(manifest.recipe_sha256)}"
    named = ("tf_transformer", "tensorflow", "keras")
    shown = ", ".join(f"{name} {manifest.versions[name]}" for name in named if name in manifest.versions)
    if shown:
        yield f"- Exported with {escaped(shown)}"


def _machine(machine: Mapping[str, Any]) -> str:
    gpus = machine.get("gpus") or []
    parts = [machine.get("system"), machine.get("processor")]
    parts += [f"{machine['cores']} cores"] if machine.get("cores") else []
    parts += [f"{len(gpus)} GPUs: {', '.join(map(str, gpus))}"] if gpus else []
    return ", ".join(str(part) for part in parts if part)


def _limits(facts: CardFacts, manifest: Manifest) -> Iterator[str]:
    if facts.recipe.about.limits:
        yield paragraphs(facts.recipe.about.limits)
    known = [*facts.limits]
    if manifest.labels:
        known.append(f"It answers with one of {len(manifest.labels)} labels, whatever it is given.")
    if not any(name.startswith("test_") for name in facts.figures.values):
        known.append("It was not measured on test data.")
    yield "\n".join(f"- {escaped(line)}" for line in known)


def _use(facts: CardFacts, manifest: Manifest) -> Iterator[str]:
    yield "With tf-transformer, in the folder of this file:"
    yield "```sh\ntf-transformer predict . < examples.txt\n```"
    if manifest.kind != "savedmodel":
        yield "`manifest.json` says how it is searched with; `tokenizer/` makes pieces of text."
        return
    yield "With TensorFlow alone:"
    tag = f', tag=tf.constant(["{manifest.tags[0]}"])' if manifest.tags else ""
    modules = "".join(f"import {module}\n" for module in manifest.python_modules)
    yield (
        f"```python\nimport tensorflow as tf\n{modules}\n"
        'model = tf.saved_model.load(".")\n'
        f'answer = model.signatures["serving_default"]({facts.call}{tag})\n'
        "print({name: value.numpy() for name, value in answer.items()})\n```"
    )
    yield f"Signatures: {', '.join(f'`{name}`' for name in manifest.signatures)}."
