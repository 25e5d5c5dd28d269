"""What may change in a recipe midway."""

# ruff: noqa: E501 - a fault is one line, however long

from pathlib import Path

import pytest

from tf_transformer.recipe import Recipe, TranslateRecipe, compare_recipes, load_recipe, with_files
from tf_transformer.recipe.keys import schema_keys, schema_path

FILES = "data.test={source: dev.en, target: dev.de}"
TABLE = "data.test={table: dev.tsv}"
LINEAR = "training.schedule={name: linear, warmup_steps: 9}"
FALLING = "training.schedule={name: exponential, warmup_steps: 9}"
AGAIN = "training.schedule={name: cosine, warmup_steps: 9, period_steps: 99}"
PLATEAU = "training.schedule={name: reduce_on_plateau}"


def read(folder: Path, *overrides: str) -> Recipe:
    return with_files(load_recipe(folder / "recipe.yaml", overrides), folder)


# Every key that holds a value: what changing it means, what else stands in the recipe, and the change.
KEYS: dict[str, tuple[str, list[str], str]] = {
    "task": ("refused", [], ""),  # there is one task
    "data.train.source": ("logged", [], "data.train.source=dev.en"),
    "data.train.target": ("logged", [], "data.train.target=dev.de"),
    "data.train.table": ("logged", ["data.train={table: dev.tsv}"], "data.train.table=dev2.tsv"),
    "data.train.columns.source": ("logged", ["data.train={table: dev.tsv}"], "data.train.columns={source: a}"),
    "data.train.columns.target": ("logged", ["data.train={table: dev.tsv}"], "data.train.columns={target: a}"),
    "data.train.tag": ("logged", ["data.train.tag=de", "data.dev.tag=de"], "data={train: {source: train.en, target: train.de, tag: fr}, dev: {table: dev.tsv, tag: fr}}"),
    "data.train.weight": ("logged", [], "data.train.weight=2"),
    "data.train.name": ("free", [], "data.train.name=other"),
    "data.train.licence": ("free", [], "data.train.licence=CC0-1.0"),
    "data.train.encoding": ("logged", [], "data.train.encoding=latin-1"),
    "data.train.on_bad_row": ("logged", [], "data.train.on_bad_row=skip"),
    "data.train.deduplicate": ("logged", [], "data.train.deduplicate=true"),
    "data.train.normal_form": ("free", [], "data.train.normal_form=none"),
    "data.dev.source": ("logged", ["data.dev={source: dev.en, target: dev.de}"], "data.dev.source=dev2.de"),
    "data.dev.target": ("logged", ["data.dev={source: dev.en, target: dev.de}"], "data.dev.target=[dev.de, dev2.de]"),
    "data.dev.table": ("logged", [], "data.dev.table=dev2.tsv"),
    "data.dev.columns.source": ("logged", [], "data.dev.columns={source: a}"),
    "data.dev.columns.target": ("logged", [], "data.dev.columns={target: a}"),
    "data.dev.tag": ("logged", ["data.train.tag=de", "data.dev.tag=de"], "data={train: {source: train.en, target: train.de, tag: fr}, dev: {table: dev.tsv, tag: fr}}"),
    "data.dev.name": ("free", [], "data.dev.name=dev"),
    "data.dev.licence": ("free", [], "data.dev.licence=CC0-1.0"),
    "data.dev.encoding": ("logged", [], "data.dev.encoding=latin-1"),
    "data.dev.on_bad_row": ("logged", [], "data.dev.on_bad_row=skip"),
    "data.dev.deduplicate": ("logged", [], "data.dev.deduplicate=true"),
    "data.dev.normal_form": ("free", [], "data.dev.normal_form=none"),
    "data.dev.fraction": ("refused", ["data.dev={fraction: 0.1}"], "data.dev.fraction=0.2"),
    "data.test.source": ("free", [FILES], "data.test.source=train.en"),
    "data.test.target": ("free", [FILES], "data.test.target=train.de"),
    "data.test.table": ("free", [TABLE], "data.test.table=dev2.tsv"),
    "data.test.columns.source": ("free", [TABLE], "data.test.columns={source: a}"),
    "data.test.columns.target": ("free", [TABLE], "data.test.columns={target: a}"),
    "data.test.tag": ("free", ["data.train=[{table: dev.tsv, tag: de}, {table: dev2.tsv, tag: fr}]", "data.dev.tag=de", "data.test={table: dev.tsv, tag: de}"], "data.test.tag=fr"),
    "data.test.name": ("free", [FILES], "data.test.name=other"),
    "data.test.licence": ("free", [FILES], "data.test.licence=CC0-1.0"),
    "data.test.encoding": ("free", [FILES], "data.test.encoding=latin-1"),
    "data.test.on_bad_row": ("free", [FILES], "data.test.on_bad_row=skip"),
    "data.test.deduplicate": ("free", [FILES], "data.test.deduplicate=true"),
    "data.test.normal_form": ("free", [FILES], "data.test.normal_form=none"),
    "data.max_source_length": ("logged", [], "data.max_source_length=99"),
    "data.max_target_length": ("logged", [], "data.max_target_length=99"),
    "data.on_long": ("logged", [], "data.on_long=truncate"),
    "data.temperature": ("logged", [], "data.temperature=3"),
    "data.prepared": ("logged", [], ""),  # see test_prepared
    "data.shuffle_memory": ("logged", [], "data.shuffle_memory=99"),
    "text.tokenizer": ("refused", [], "text.tokenizer=words"),
    "text.model": ("refused", ["text.model=dev.en"], "text.model=dev.de"),
    "text.update": ("refused", [], ""),  # see test_beginnings
    "text.vocabulary_size": ("refused", [], "text.vocabulary_size=999"),
    "text.vocabulary_lines": ("refused", [], "text.vocabulary_lines=9999"),
    "text.shared": ("refused", [], "text.shared=false"),
    "text.sentencepiece_type": ("refused", [], "text.sentencepiece_type=unigram"),
    "text.byte_fallback": ("refused", [], "text.byte_fallback=false"),
    "text.normal_form": ("refused", [], "text.normal_form=nfc"),
    "text.lowercase": ("refused", [], "text.lowercase=true"),
    "text.unknown": ("refused", [], "text.unknown=drop"),
    "text.source_end": ("refused", [], "text.source_end=false"),
    "model.preset": ("refused", [], "model.preset=small"),
    "model.num_layers": ("refused", [], "model.num_layers=3"),
    "model.hidden_dim": ("refused", [], "model.hidden_dim=64"),
    "model.intermediate_dim": ("refused", [], "model.intermediate_dim=99"),
    "model.num_heads": ("refused", [], "model.num_heads=2"),
    "model.num_key_value_heads": ("refused", [], "model.num_key_value_heads=1"),
    "model.share_layers": ("refused", [], "model.share_layers=true"),
    "model.decoder_num_layers": ("refused", [], "model.decoder_num_layers=3"),
    "model.decoder_hidden_dim": ("refused", [], "model.decoder_hidden_dim=64"),
    "model.decoder_intermediate_dim": ("refused", [], "model.decoder_intermediate_dim=99"),
    "model.decoder_num_heads": ("refused", [], "model.decoder_num_heads=2"),
    "model.activation": ("refused", [], "model.activation=gelu"),
    "model.norm": ("refused", [], "model.norm=post"),
    "model.norm_kind": ("refused", [], "model.norm_kind=rms"),
    "model.norm_epsilon": ("refused", [], "model.norm_epsilon=1e-6"),
    "model.output_bias": ("refused", [], "model.output_bias=true"),
    "model.embedding_norm": ("refused", [], "model.embedding_norm=true"),
    "model.max_distance": ("refused", ["model.positions=relative"], "model.max_distance=3"),
    "model.initialize_encoder_from": ("refused", [], "model.initialize_encoder_from=preset"),
    "model.positions": ("refused", [], "model.positions=none"),
    "model.max_length": ("refused", ["model.positions=learned"], "model.max_length=300"),
    "model.tie_embeddings": ("refused", [], "model.tie_embeddings=none"),
    "model.dropout": ("logged", [], "model.dropout=0.2"),
    "model.attention_dropout": ("logged", [], "model.attention_dropout=0.2"),
    "model.activation_dropout": ("logged", [], "model.activation_dropout=0.2"),
    "training.steps": ("free", [], "training.steps=800"),
    "training.epochs": ("free", [], "training.epochs=3"),
    "training.minutes": ("free", [], "training.minutes=3"),
    "training.batch_tokens": ("logged", [], "training.batch_tokens=99"),
    "training.micro_batch_tokens": ("logged", [], "training.micro_batch_tokens=99"),
    "training.devices": ("free", [], "training.devices=cpu:2"),
    "training.precision": ("refused", ["training.precision=float32"], "training.precision=mixed_float16"),
    "training.seed": ("refused", [], "training.seed=2"),
    "training.optimizer.name": ("refused", [], "training.optimizer.name=adamw"),
    "training.optimizer.beta_1": ("logged", [], "training.optimizer.beta_1=0.8"),
    "training.optimizer.beta_2": ("logged", [], "training.optimizer.beta_2=0.8"),
    "training.optimizer.epsilon": ("logged", [], "training.optimizer.epsilon=1e-7"),
    "training.optimizer.weight_decay": ("logged", ["training.optimizer.name=adamw"], "training.optimizer.weight_decay=0.2"),
    "training.optimizer.clip_norm": ("logged", [], "training.optimizer.clip_norm=null"),
    "training.schedule.name": ("logged", [], "training.schedule={name: constant, warmup_steps: 1000}"),
    "training.schedule.peak": ("logged", [], "training.schedule.peak=0.1"),
    "training.schedule.warmup_steps": ("logged", [], "training.schedule.warmup_steps=7"),
    "training.schedule.scale": ("logged", ["training.schedule={name: noam}"], "training.schedule.scale=2"),
    "training.schedule.total_steps": ("logged", [LINEAR], "training.schedule.total_steps=900"),
    "training.schedule.final_fraction": ("logged", [LINEAR], "training.schedule.final_fraction=0.1"),
    "training.schedule.period_steps": ("logged", [AGAIN], "training.schedule.period_steps=7"),
    "training.schedule.period_factor": ("logged", [AGAIN], "training.schedule.period_factor=2"),
    "training.schedule.factor": ("logged", [PLATEAU], "training.schedule.factor=0.7"),
    "training.schedule.patience": ("logged", [PLATEAU], "training.schedule.patience=7"),
    "training.schedule.lowest": ("logged", [PLATEAU], "training.schedule.lowest=0.1"),
    "training.schedule.rise": ("logged", [PLATEAU], "training.schedule.rise=1.5"),
    "training.schedule.highest": ("logged", [PLATEAU], "training.schedule.highest=2"),
    "training.schedule.decay_rate": ("logged", [FALLING], "training.schedule.decay_rate=0.7"),
    "training.schedule.decay_steps": ("logged", [FALLING], "training.schedule.decay_steps=3"),
    "training.schedule.unit": ("logged", [FALLING], "training.schedule.unit=updates"),
    "training.schedule.staircase": ("logged", [FALLING], "training.schedule.staircase=true"),
    "training.label_smoothing": ("logged", [], "training.label_smoothing=0"),
    "training.loss_chunk": ("logged", [], "training.loss_chunk=64"),
    "training.validate_every": ("free", [], "training.validate_every=7"),
    "training.checkpoint_every": ("free", [], "training.checkpoint_every=7"),
    "training.checkpoint_minutes": ("free", [], "training.checkpoint_minutes=null"),
    "training.initialize_from": ("refused", [], ""),  # see test_beginnings
    "training.freeze": ("refused", [], "training.freeze=[encoder]"),
    "training.rates": ("logged", [], "training.rates={encoder: 0.5}"),
    "training.lora.rank": ("refused", ["training.lora={}"], "training.lora.rank=3"),
    "training.lora.alpha": ("refused", ["training.lora={}"], "training.lora.alpha=3"),
    "training.lora.targets": ("refused", ["training.lora={}"], "training.lora.targets=[decoder]"),
    "training.lora.also": ("refused", ["training.lora={}"], "training.lora.also=[decoder]"),
    "training.max_skipped": ("free", [], "training.max_skipped=7"),
    "training.divergence.action": ("free", [], "training.divergence.action=stop"),
    "training.divergence.above": ("free", [], "training.divergence.above=7"),
    "training.divergence.patience": ("free", [], "training.divergence.patience=7"),
    "training.divergence.rate_factor": ("free", [], "training.divergence.rate_factor=0.7"),
    "training.divergence.restores": ("free", [], "training.divergence.restores=7"),
    "training.keep": ("free", [], "training.keep=7"),
    "training.average": ("free", [], "training.average=3"),
    "training.subword_sampling.alpha": ("logged", ["training.subword_sampling={}"], "training.subword_sampling.alpha=0.2"),
    "training.subword_sampling.sides": ("logged", ["training.subword_sampling={}"], "training.subword_sampling.sides=source"),
    "training.r_drop": ("logged", [], "training.r_drop=5"),
    "training.ema": ("logged", [], "training.ema=0.9"),
    "training.average_by": ("free", [], "training.average_by=best"),
    "training.early_stopping.metric": ("free", ["training.early_stopping={}"], "training.early_stopping.metric=loss"),
    "training.early_stopping.patience": ("free", ["training.early_stopping={}"], "training.early_stopping.patience=7"),
    "training.profile": ("free", [], "training.profile=[3, 9]"),
    "decoding.beam": ("free", [], "decoding.beam=9"),
    "decoding.length_formula": ("free", [], "decoding.length_formula=gnmt"),
    "decoding.length_penalty": ("free", [], "decoding.length_penalty=0.6"),
    "decoding.max_length_factor": ("free", [], "decoding.max_length_factor=3"),
    "decoding.max_length_margin": ("free", [], "decoding.max_length_margin=3"),
    "decoding.min_length_factor": ("free", [], "decoding.min_length_factor=0.5"),
    "decoding.min_length_margin": ("free", [], "decoding.min_length_margin=3"),
    "decoding.coverage_penalty": ("free", [], "decoding.coverage_penalty=0.2"),
    "decoding.diversity": ("free", [], "decoding.diversity=0.2"),
    "decoding.repetition_penalty": ("free", [], "decoding.repetition_penalty=1.2"),
    "decoding.no_repeat": ("free", [], "decoding.no_repeat=3"),
    "decoding.banned": ("free", [], "decoding.banned=[<unk>]"),
    "decoding.replace_unknown": ("free", [], "decoding.replace_unknown=true"),
    "decoding.on_long": ("free", [], "decoding.on_long=split"),
    "evaluation.tokenize": ("logged", [], "evaluation.tokenize=zh"),
    "evaluation.rouge": ("logged", [], "evaluation.rouge=plain"),
    "evaluation.beam": ("logged", [], "evaluation.beam=3"),
    "about.name": ("free", [], "about.name=m"),
    "about.languages": ("free", [], "about.languages=[en, zh-Hant]"),
    "about.licence": ("free", [], "about.licence=MIT"),
    "about.description": ("free", [], "about.description=words"),
    "about.limits": ("free", [], "about.limits=words"),
    "about.contact": ("free", [], "about.contact=me"),
    "evaluation.samples": ("free", [], "evaluation.samples=1"),
    "evaluation.self_attention": ("free", [], "evaluation.self_attention=true"),
}  # fmt: skip


def test_every_key_of_the_schema_has_its_class() -> None:
    paths = {key.path for key in schema_keys(TranslateRecipe)}
    holding_values = {path for path in paths if not any(other[:-1] == path for other in paths)}
    assert {".".join(path) for path in holding_values} == set(KEYS)


@pytest.mark.parametrize("key", [key for key, (_, _, override) in KEYS.items() if override])
def test_a_change_of_each_key_means_what_its_class_says(folder: Path, key: str) -> None:
    kind, base, override = KEYS[key]
    changes = compare_recipes(read(folder, *base), read(folder, *base, override))
    found = {"free": changes.free, "logged": changes.logged, "refused": changes.refused}
    strictest = next(name for name in ("refused", "logged", "free") if found[name])
    assert strictest == kind
    parts = [[int(part) if part.isdigit() else part for part in one.key.split(".")] for one in found[kind]]
    assert key in {".".join(schema_path(tuple(path), TranslateRecipe)) for path in parts} or (
        key.startswith("data.")  # a file is a change of what it holds, and lists and sets have places in them
    )


@pytest.mark.parametrize(
    ("override", "kind"),
    [
        ("data.train=[{source: train.en, target: train.de}, {table: dev.tsv, name: more}]", "logged"),
        ("data.dev={one: {table: dev.tsv}, two: {table: dev2.tsv}}", "logged"),
        ("data.dev={fraction: 0.1}", "refused"),
        ("data.test={table: dev.tsv}", "free"),
        ("training.early_stopping={}", "free"),
        ("data.train.normal_form=nfc", "refused"),
    ],
)
def test_added_parts(folder: Path, override: str, kind: str) -> None:
    changes = compare_recipes(read(folder), read(folder, override))
    found = {"free": changes.free, "logged": changes.logged, "refused": changes.refused}
    assert next(name for name in ("refused", "logged", "free") if found[name]) == kind


def test_the_same_recipe_is_no_change(folder: Path) -> None:
    changes = compare_recipes(
        read(folder), read(folder, "model.dropout=1e-1", "data.train=[{source: train.en, target: train.de}]")
    )
    assert not (changes.free or changes.logged or changes.refused)


def test_a_change_names_key_and_both_values(folder: Path) -> None:
    changes = compare_recipes(read(folder), read(folder, "model.norm=post", "training.schedule={name: noam}"))
    assert [str(change) for change in changes.refused] == ["model.norm: pre in the run, post now"]
    assert [str(change) for change in changes.logged] == [
        "training.schedule.name: inverse_sqrt in the run, noam now",
        "training.schedule.peak: 0.001 in the run, (absent) now",
        "training.schedule.warmup_steps: 1000 in the run, 4000 now",
        "training.schedule.scale: (absent) in the run, 1 now",
    ]


def test_data_that_was_moved_is_no_change_and_altered_data_is(folder: Path) -> None:
    old = read(folder)
    (folder / "moved.en").write_bytes((folder / "train.en").read_bytes())
    moved = compare_recipes(old, read(folder, "data.train.source=moved.en"))
    assert not (moved.free or moved.logged or moved.refused)
    (folder / "train.en").write_text("altered\n")
    (change,) = compare_recipes(old, read(folder)).logged
    assert change.key == "data.train.0.source"
    assert change.is_content and change.old != change.new
    assert str(change.old).startswith("content ") and str(change.old).endswith(f" of {folder}/train.en")


def test_auto_is_the_precision_that_the_run_has_chosen(folder: Path) -> None:
    chosen = read(folder).replaced("training", precision="mixed_bfloat16")
    assert compare_recipes(chosen, read(folder)).refused == []
    (change,) = compare_recipes(chosen, read(folder, "training.precision=float32")).refused
    assert str(change) == "training.precision: mixed_bfloat16 in the run, float32 now"
