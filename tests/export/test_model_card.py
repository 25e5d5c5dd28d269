"""The model card of an export: what it says, and what it does not."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tf_transformer.export.model_card import CardFacts, Figures, figures_of, model_card
from tf_transformer.manifest import Manifest
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder

MANIFEST = Manifest(
    task="translate",
    signatures=("n_best", "serving_default"),
    tags=("de",),
    python_modules=("tensorflow_text",),
    checkpoint="step-00000007",
    step=7,
    recipe_sha256="ab12",
    versions={"tensorflow": "2.21.0", "keras": "3.15.1", "tf_transformer": "0.1.0"},
    verification={},
)
FIGURES = Figures(
    {"val_loss": 1.25, "test_bleu": 31.415926535, "test_macro_f1": 0.5},
    {"test_bleu": "nrefs:1|tok:13a"},
    "2026-11-30",
    {
        "seconds": 3725.4,
        "precision": "mixed_bfloat16",
        "machine": {"system": "Linux x86_64", "processor": "AMD", "cores": 2, "gpus": ["H200", "H200"]},
    },
)


def facts(
    folder: Path, about: str = "{}", figures: Figures = FIGURES, licence: str = "CC-BY-4.0"
) -> CardFacts:
    """What a card of a made-up run is written from."""
    for name in ("secret.tsv", "test.tsv"):
        (folder / name).write_text("source\ttarget\na\tb\n")
    (folder / "recipe.yaml").write_text(
        "task: translate\n"
        f"data: {{train: {{table: secret.tsv, licence: {licence}, name: corpus}}, dev: {{fraction: 0.25}}, "
        "test: {news: {table: test.tsv}}}\n"
        f"training: {{steps: 9}}\nabout: {about}\n"
    )
    recipe = load_recipe(folder / "recipe.yaml")
    call, limits = 'text=tf.constant(["A text."])', ["It reads 12 pieces."]
    return CardFacts(recipe, "run_7", "translation", call, limits, 12345, figures)


def card(*arguments: Any, manifest: Manifest = MANIFEST, **options: Any) -> tuple[dict[str, Any], str]:
    """The head of the card, and the rest."""
    text = model_card(facts(*arguments, **options), manifest, "3", "2026-12-01")
    _, head, body = text.split("---\n", 2)
    values: dict[str, Any] = yaml.safe_load(head)
    return values, body


def test_a_whole_card(tmp_path: Path) -> None:
    about = (
        "{name: Small, languages: [en, de], licence: Apache-2.0, description: 'For tests.', "
        "limits: 'Not for <b>law</b>.', contact: me@example.org}"
    )
    head, body = card(tmp_path, about)
    assert head == {
        "language": ["en", "de"],
        "license": "apache-2.0",
        "library_name": "tf-transformer",
        "pipeline_tag": "translation",
        "tags": ["tensorflow", "keras", "transformer", "savedmodel"],
        "metrics": ["bleu", "f1"],
        "model-index": [
            {
                "name": "Small",
                "results": [
                    {
                        "task": {"type": "translation"},
                        "dataset": {"type": "other", "name": "news"},
                        "metrics": [
                            {"type": "bleu", "value": 31.415926535, "name": "test_bleu"},
                            {"type": "f1", "value": 0.5, "name": "test_macro_f1"},
                        ],
                    }
                ],
            }
        ],
    }
    for part in (
        "# Small\n\nFor tests.\n",
        "| train | corpus | CC-BY-4.0 |\n| test | news | not stated |\n",
        "25.0% of the training data was set apart as dev.",
        "| val_loss | 1.25 |  |\n| test_bleu | 31.4159 | nrefs:1\\|tok:13a |\n",
        "Measured 2026-11-30.",
        "- Parameters: 12,345\n- Checkpoint: step-00000007, 7 updates\n- Time: 1:02:05\n",
        "- Machine: Linux x86_64, AMD, 2 cores, 2 GPUs: H200, H200\n- Precision: mixed_bfloat16; seed 1\n",
        "- Recipe: SHA-256 ab12\n- Exported with tf_transformer 0.1.0, tensorflow 2.21.0, keras 3.15.1\n",
        "Not for \\<b\\>law\\</b\\>.\n\n- It reads 12 pieces.\n",
        "import tensorflow as tf\nimport tensorflow_text\n",
        'model.signatures["serving_default"](text=tf.constant(["A text."]), tag=tf.constant(["de"]))',
        "Signatures: `n_best`, `serving_default`.",
        "## Contact\n\nme@example.org\n",
        "version 3, 2026-12-01.\n",
    ):
        assert part in body


def test_no_card_tells_where_anything_lay(tmp_path: Path) -> None:
    text = model_card(facts(tmp_path), MANIFEST, "1", "2026-12-01")
    assert str(tmp_path) not in text and "secret" not in text and ".tsv" not in text


def test_what_is_not_known_is_not_said(tmp_path: Path) -> None:
    head, body = card(tmp_path, figures=Figures())
    assert "metrics" not in head and "model-index" not in head and "license" not in head
    assert "# run_7\n\nA model for `translate`.\n" in body
    assert "Nothing is recorded of this checkpoint." in body and "- It was not measured on test data." in body
    assert "Time:" not in body and "Machine:" not in body and "## Contact" not in body


def test_a_licence_that_is_no_short_name(tmp_path: Path) -> None:
    head, _ = card(tmp_path, "{licence: 'Ours: ask first'}", licence="'for | research'")
    assert (head["license"], head["license_name"]) == ("other", "Ours: ask first")


def test_rounded_weights_and_other_runtimes(tmp_path: Path) -> None:
    manifest = MANIFEST.model_copy(update={"kind": "ctranslate2", "weights": "int8", "labels": ("x", "y")})
    _, body = card(tmp_path, manifest=manifest)
    assert "They are those of the run, whose weights are float32" in body
    assert "It answers with one of 2 labels" in body
    assert "import tensorflow" not in body and "tf-transformer predict ." in body


@pytest.mark.parametrize(
    ("about", "message"),
    [
        (
            "{languages: [en us]}",
            r"about\.languages\.0: must be the tag of a language, such as de or zh-Hant; received \"en us\"",
        ),
        (
            "{license: MIT}",
            r"about\.license: unknown key; received \"MIT\"; nearest valid key is about\.licence",
        ),
        ('{name: "a\\nb"}', r"about\.name: must be words on one line; "),
        ("{limits: ''}", r"about\.limits: "),
    ],
)
def test_the_section_is_closed(tmp_path: Path, about: str, message: str) -> None:
    with pytest.raises(Exception, match=message):
        facts(tmp_path, about)


def test_figures_are_those_of_the_checkpoint(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    assert figures_of(run, "step-00000003", 3) == Figures()
    for step, bleu in ((3, 1.5), (6, 2.5)):
        run.append_metrics({"step": step, "loss": 9.0, "val_bleu": bleu, "val_loss": None})
    run.write_results(
        {"checkpoint": "average", "metrics": {"test_bleu": 7.5, "odd": True}, "signatures": {}, "date": "d"}
    )
    results = json.loads(run.results_file.read_text())
    assert figures_of(run, "average", 6) == Figures({"test_bleu": 7.5}, {}, "d", results)
    assert figures_of(run, "step-00000003", 3) == Figures({"val_bleu": 1.5}, training=results)
    assert figures_of(run, "step-00000009", 9) == Figures(training=results)
