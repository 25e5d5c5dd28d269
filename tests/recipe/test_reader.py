"""Reading a recipe: what is taken, and how each kind of fault is told."""

# ruff: noqa: E501 - a fault is one line, however long

import subprocess
import sys
from pathlib import Path

import pytest

from tf_transformer.errors import RecipeError
from tf_transformer.recipe import Recipe, load_recipe


def read(text: str, *overrides: str) -> Recipe:
    Path("recipe.yaml").write_text(text, encoding="utf-8")
    return load_recipe(Path("recipe.yaml"), overrides)


def faults(text: str, *overrides: str) -> list[str]:
    with pytest.raises(RecipeError) as caught:
        read(text, *overrides)
    assert str(caught.value) == "\n".join(caught.value.faults)
    return caught.value.faults


def with_lines(*lines: str) -> str:
    """The sound recipe with further lines, which begin at line 7."""
    return Path("recipe.yaml").read_text() + "\n".join(lines) + "\n"


def test_a_sound_recipe_is_resolved(folder: Path) -> None:
    recipe = load_recipe(folder / "recipe.yaml")
    entry = recipe.data.train_entries[0]
    assert entry.columns_read == {"source": folder / "train.en", "target": folder / "train.de"}
    assert recipe.training.steps == 700
    # Defaults that other keys decide:
    assert (recipe.model.num_layers, recipe.model.hidden_dim) == (4, 128)
    assert recipe.text.normal_form == "none" and recipe.model.tie_embeddings == "all"
    assert recipe.text.vocabulary_size == 8000 and recipe.text.sentencepiece_type == "bpe"


def test_a_recipe_is_frozen(folder: Path) -> None:
    recipe = load_recipe(folder / "recipe.yaml")
    with pytest.raises(ValueError, match="frozen"):
        recipe.training.steps = 3  # type: ignore[misc]


def test_paths_start_at_the_folder_of_the_recipe(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    recipe = load_recipe(Path("../recipe.yaml"))
    assert recipe.data.train_entries[0].columns_read["source"] == folder / "train.en"


def test_all_forms_of_data(folder: Path) -> None:
    recipe = read("""
task: translate
data:
  train:
    - {source: train.en, target: train.de, weight: 2, name: no}
    - {table: dev.tsv, columns: {source: 1, target: 3}, encoding: latin-1, on_bad_row: skip}
  dev:
    one: {source: dev.en, target: [dev.de, dev2.de]}
    2016: {table: dev.tsv, columns: {source: 2, target: [1, 3]}}
  test: [{source: dev.en, target: dev.de}, {table: dev.tsv, name: other, deduplicate: yes}]
training: {minutes: 0.5}
""")
    first, second = recipe.data.train_entries
    assert first.weight == 2.0 and first.title == "no"
    assert second.columns_read == {"source": 1, "target": 3} and second.encoding == "latin-1"
    assert list(recipe.data.dev_sets) == ["one", "2016"]
    one = recipe.data.dev_sets["one"].columns_read
    assert one == {"source": folder / "dev.en", "target": folder / "dev.de", "target_2": folder / "dev2.de"}
    assert recipe.data.dev_sets["2016"].columns_read == {"source": 2, "target": 1, "target_2": 3}
    assert list(recipe.data.test_sets) == ["dev", "other"]
    assert recipe.data.test_sets["other"].deduplicate is True
    assert recipe.data.dev_fraction is None


def test_a_single_set_is_called_by_its_split(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["data.test={table: dev.tsv}"])
    assert list(recipe.data.dev_sets) == ["dev"] and list(recipe.data.test_sets) == ["test"]


def test_dev_can_be_carved_from_train(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["data.dev={fraction: 0.1}"])
    assert recipe.data.dev_fraction == 0.1 and recipe.data.dev_sets == {}


def test_empty_sections_and_nulls_are_defaults(folder: Path) -> None:
    recipe = read(
        with_lines("model:", "text: {vocabulary_size: null, sentencepiece_type: null}", "decoding:")
    )
    assert recipe.model.num_layers == 4
    assert recipe.text.vocabulary_size == 8000 and recipe.text.sentencepiece_type == "bpe"


def test_presets_and_single_sizes(folder: Path) -> None:
    recipe = read(with_lines("model: {preset: base, num_layers: 3}"))
    sizes = recipe.model
    assert (sizes.num_layers, sizes.hidden_dim, sizes.intermediate_dim, sizes.num_heads) == (3, 512, 2048, 8)


def test_numbers_as_people_write_them(folder: Path) -> None:
    recipe = load_recipe(
        Path("recipe.yaml"),
        ["training.steps=1e4", "training.schedule.peak=1e-4", "training.batch_tokens=8_192"],
    )
    assert (recipe.training.steps, recipe.training.batch_tokens) == (10000, 8192)
    assert isinstance(recipe.training.steps, int) and recipe.training.schedule.peak == 0.0001  # type: ignore[union-attr]


def test_the_normal_form_of_the_training_text_serves_all(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["data.train.normal_form=nfkc"])
    assert recipe.text.normal_form == "nfkc"


def test_learned_positions_reach_as_far_as_the_longest_sentence(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["model.positions=learned", "data.max_target_length=301"])
    assert recipe.model.max_length == 301


def test_a_falling_rate_ends_with_the_training(folder: Path) -> None:
    recipe = load_recipe(Path("recipe.yaml"), ["training.schedule={name: cosine, warmup_steps: 9}"])
    assert recipe.training.schedule.total_steps == 700  # type: ignore[union-attr]


def test_all_faults_are_told_at_once_in_order_with_lines(folder: Path) -> None:
    found = faults(
        """\
task: translate
data:
  train: {sorce: train.en, target: nope.de}
  dev:
    val: {source: dev.en, target: [dev.de, nope2.de], wight: 2}
  max_source_length: -5
model:
  num_heads: 7
  droput: 0.1
  dropout: .nan
training:
  steps: yes
""",
        "training.stepz=3",
        "decoding.beam=lots",
    )
    assert found == [
        "command line: training.stepz: unknown key; received 3; nearest valid key is training.steps",
        'command line: decoding.beam: must be a whole number; received "lots"',
        f'recipe.yaml:3: data.train.target: there is no file {folder}/nope.de; received "nope.de"',
        'recipe.yaml:3: data.train.sorce: unknown key; received "train.en"; nearest valid key is data.train.source',
        f'recipe.yaml:5: data.dev.val.target.1: there is no file {folder}/nope2.de; received "nope2.de"',
        "recipe.yaml:5: data.dev.val.wight: unknown key; received 2; nearest valid key is data.train.weight",
        "recipe.yaml:6: data.max_source_length: must be at least 2; received -5",
        "recipe.yaml:9: model.droput: unknown key; received 0.1; nearest valid key is model.dropout",
        "recipe.yaml:10: model.dropout: must be a finite number; received NaN",
        'recipe.yaml:12: training.steps: must be a whole number; received "yes"',
    ]


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ("model: {preset: Tinny}", '7: model.preset: must be one of tiny, small, base, big; received "Tinny"; nearest valid value is tiny'),
        ("model: {num_layers: true}", "7: model.num_layers: must be a whole number; received true"),
        ("model: {num_layers: 2.5}", "7: model.num_layers: must be a whole number; received 2.5"),
        ("model: {num_layers: '4'}", '7: model.num_layers: must be a whole number; received "4"'),
        ("model: {num_layers: 0}", "7: model.num_layers: must be at least 1; received 0"),
        ("model: {hidden_dim: 9999999}", "7: model.hidden_dim: must be at most 65536; received 9999999"),
        ("model: {dropout: 1}", "7: model.dropout: must be less than 1; received 1"),
        ("model: {dropout: 1e999}", "7: model.dropout: must be a finite number; received Infinity"),
        ("model: {dropout: true}", "7: model.dropout: must be a number; received true"),
        ("model: {dropout: null}", "7: model.dropout: must be a number; received null"),
        ("model: [1]", "7: model: must be a section of keys; received [1]"),
        ("model: {batch_tokens: 1}", "7: model.batch_tokens: unknown key; received 1; nearest valid key is training.batch_tokens"),
        ("text: {shared: 1}", "7: text.shared: must be true or false; received 1"),
        ("text: {model: 3}", "7: text.model: must be a file's path, as text; received 3"),
        ("text: {model: .}", '7: text.model: must be a file, and FOLDER is a folder; received "."'),
        ("text: {model: '{0}'}", "7: text.model: there is no file FOLDER/{0}; received \"{0}\""),
        ("decodng: {beam: 4}", '7: decodng: unknown key; received {"beam": 4}; nearest valid key is decoding'),
        ("files: 3", "7: files: must be a list; received 3"),
        ("evaluation: {tokenize: 13b}", '7: evaluation.tokenize: must be one of 13a, intl, zh, char, none; received "13b"; nearest valid value is 13a'),
    ],
)  # fmt: skip
def test_each_kind_of_wrong_value(folder: Path, lines: str, fault: str) -> None:
    assert faults(with_lines(lines)) == [f"recipe.yaml:{fault}".replace("FOLDER", str(folder))]


@pytest.mark.parametrize(
    ("override", "fault"),
    [
        ("data.train.encoding=base64", 'data.train.encoding: must be a text encoding that Python knows, such as utf-8 or latin-1; received "base64"'),
        ("data.train.encoding=8", "data.train.encoding: must be text; put quotes round a number; received 8"),
        ("data.train.weight=0", "data.train.weight: must be greater than 0; received 0"),
        ("data.train.name=a/b", "data.train.name: must be a name of letters, digits, '.', '_' and '-'; received \"a/b\""),
        ("data.train=[]", "data.train: must not be empty; received []"),
        ("data.train={}", "data.train.source: is required: file with the source sentences, or a list of files, all of them to be read line by line"),
        ("data.dev.columns={source: 0}", "data.dev.columns.source: must be a column's name, or its number from 1; received 0"),
        ("data.dev={fraction: 0.9}", "data.dev.fraction: must be at most 0.5; received 0.9"),
        ("data.dev={'a b': {table: dev.tsv}}", "data.dev.a b: must be a name of letters, digits, '.', '_' and '-'; received \"a b\""),
        ("data.test={fraction: 0.1}", "data.test.source: is required: file with the source sentences, or a list of files, all of them to be read line by line"),
        ("training.schedule.name=noma", 'training.schedule.name: must be one of inverse_sqrt, noam, cosine, linear, exponential, constant, reduce_on_plateau; received "noma"; nearest valid value is noam'),
        ("training.schedule={name: noam, peak: 1}", "training.schedule.peak: unknown key; received 1; valid keys here are name, warmup_steps, scale"),
        ("training.schedule=3", "training.schedule: must be a section of keys; received 3"),
        ("training.optimizer.clip_norm=.inf", "training.optimizer.clip_norm: must be a finite number; received Infinity"),
        ("training.seed=-1", "training.seed: must be at least 0; received -1"),
        ("training.steps=1e10", "training.steps: must be at most 1000000000; received 10000000000"),
        ("training.minutes=1e9", "training.minutes: must be at most 10000000; received 1000000000"),
        ("data.dev.table=dev.en", 'data.dev.table: must end in one of .tsv, .tab, .csv, .jsonl, .ndjson, .gz may follow; received "dev.en"'),
        ("data.dev.table=.", 'data.dev.table: must be a file, and FOLDER is a folder; received "."'),
        ("data.dev.columns={source: 1, target: german}", 'data.dev.columns: must all be names, or all numbers of a table without a header; received [1, "german"]'),
        ("data.dev={table: a.jsonl.gz, columns: {source: 1, target: 2}}", "data.dev.columns: must be names: JSON lines have keys and no numbers; received [1, 2]"),
    ],
)  # fmt: skip
def test_faults_of_overrides(folder: Path, override: str, fault: str) -> None:
    (folder / "a.jsonl.gz").touch()
    expected = f"command line: {fault}".replace("FOLDER", str(folder))
    assert expected in faults(Path("recipe.yaml").read_text(), override)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "recipe.yaml:1: is empty; `tf-transformer recipe` prints a complete recipe"),
        (b"# only a comment\n", "recipe.yaml:1: is empty"),
        (b"- a\n- b\n", 'recipe.yaml:1: must be sections of keys; received ["a", "b"]'),
        (b"translate\n", 'recipe.yaml:1: must be sections of keys; received "translate"'),
        (b"task:\n\ttranslate\n", "recipe.yaml:2:1: a tab may not indent; use spaces"),
        (b"task: [\n", "recipe.yaml:2:1: "),
        (b"task: tr\xe4nslate\n", "recipe.yaml:1: must be UTF-8; received the byte 0xE4"),
        (
            b"task: a\n---\ntask: b\n",
            "recipe.yaml:2:1: another YAML document begins here, and a recipe is one",
        ),
        (b"\xff\xfet\x00", "recipe.yaml:1: must be UTF-8; received the byte 0xFF"),
    ],
)
def test_what_is_no_recipe(folder: Path, content: bytes, message: str) -> None:
    Path("recipe.yaml").write_bytes(content)
    with pytest.raises(RecipeError) as caught:
        load_recipe(Path("recipe.yaml"))
    assert len(caught.value.faults) == 1 and str(caught.value).startswith(message)


def test_recipes_that_are_not_there(folder: Path) -> None:
    with pytest.raises(RecipeError, match=r"^nope\.yaml: there is no such recipe$"):
        load_recipe(Path("nope.yaml"))
    with pytest.raises(RecipeError, match=r"is a folder; name the recipe's YAML file in it"):
        load_recipe(folder)


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(folder: Path) -> None:
    text = Path("recipe.yaml").read_bytes().replace(b"\n", b"\r\n")
    Path("recipe.yaml").write_bytes(b"\xef\xbb\xbf" + text)
    assert load_recipe(Path("recipe.yaml")).training.steps == 700


def test_a_key_twice_is_told_beside_the_other_faults(folder: Path) -> None:
    found = faults(with_lines("model: {dropout: 0.1, dropout: 7, layers: 2}"))
    assert found == [
        "recipe.yaml:7: model.dropout: this key stands here twice; first on line 7",
        "recipe.yaml:7: model.layers: unknown key; received 2; nearest valid key is model.num_layers",
    ]


def test_missing_sections(folder: Path) -> None:
    assert faults("task: translate\n") == [
        "recipe.yaml:1: data: is required: the text",
        "recipe.yaml:1: training: give at least one of steps, epochs and minutes, such as training.steps: 20000",
    ]
    assert faults("task: translate\ndata: {train: {table: dev.tsv}}\ntraining: {steps: 1}\n") == [
        "recipe.yaml:2: data.dev: is required: text that validation runs on: an entry, a list, named sets, "
        "or {fraction: 0.05} of train"
    ]


def test_files_are_not_looked_for_when_nobody_asks(folder: Path) -> None:
    Path("train.en").unlink()
    assert load_recipe(Path("recipe.yaml"), check_files=False).training.steps == 700


def test_a_wrong_recipe_stops_before_tensorflow_is_imported(folder: Path) -> None:
    script = (
        "import sys\n"
        "sys.modules['tensorflow'] = sys.modules['keras'] = None\n"
        "from tf_transformer.__main__ import main\n"
        "sys.exit(main(['train', 'recipe.yaml', 'model.droput=1']))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == (
        "command line: model.droput: unknown key; received 1; nearest valid key is model.dropout\n"
    )
