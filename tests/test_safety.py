"""What a run, a recipe or an export from somebody else may do here: nothing but be read, or be refused."""

import ast
import io
import json
import os
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tf_transformer
from tf_transformer.checkpoints import CheckpointStore, Index, step_name
from tf_transformer.errors import ExportError, ProjectError, RecipeError, RunError, TextError
from tf_transformer.files import sha256_of
from tf_transformer.manifest import Manifest, read_manifest, write_manifest
from tf_transformer.recipe import load_recipe
from tf_transformer.run_folder import RunFolder

PACKAGE = Path(tf_transformer.__file__).parent
DEEP = "[" * 100_000


class Trap:
    """Leaves a file where it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str, int]]:
        return os.mknod, (str(self.path), 0o600)


def store_of(folder: Path) -> CheckpointStore:
    """A run's checkpoints, one of them, sound."""
    store = CheckpointStore(folder / "run" / "checkpoints")
    store.write(step_name(3), {"a/b": np.arange(3.0)}, {}, {"step": 3})
    store.write_index(Index(last=3, best=3, kept=[3]))
    return store


def replace_weights(store: CheckpointStore, content: bytes) -> None:
    """Puts other weights into the checkpoint, with the checksum that belongs to them."""
    weights = store.folder / step_name(3) / "weights.npz"
    weights.write_bytes(content)
    state = json.loads((weights.parent / "state.json").read_text())
    state["sha256"]["weights.npz"] = sha256_of(weights)
    (weights.parent / "state.json").write_text(json.dumps(state))


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def calls(source: str) -> Iterator[tuple[str, dict[str, ast.expr]]]:
    """Every call in a source: what is called, and the keywords."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), {word.arg or "**": word.value for word in node.keywords}


RUNS_OR_UNPACKS = {
    "eval",
    "exec",
    "os.system",
    "os.popen",
    "yaml.load",
    "full_load",
    "unsafe_load",
    "unpack_archive",
    "extractall",
    "load_model",
    "enable_unsafe_deserialization",
}


def dangers(source: str) -> list[str]:
    """What in a source could run or unpack what a file says."""
    found = []
    for name, keywords in calls(source):
        if {name, name.rpartition(".")[2]} & RUNS_OR_UNPACKS or {"shell", "safe_mode"} & set(keywords):
            found.append(name)
        if name == "np.load" and ast.unparse(keywords.get("allow_pickle", ast.Constant(None))) != "False":
            found.append(name)
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        found += [name for name in names if name.split(".")[0] in {"pickle", "marshal", "shelve", "joblib"}]
    return found


def test_the_package_calls_nothing_that_runs_what_a_file_says() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert {str(path): found for path, source in sources.items() if (found := dangers(source))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "from joblib import load",
        "def f():\n    eval(x)",
        "np.load(x)",
        "np.load(x, allow_pickle=True)",
        "keras.saving.load_model(x)",
        "subprocess.run(x, shell=True)",
        "yaml.load(x, Loader=y)",
        "keras.config.enable_unsafe_deserialization()",
    ],
)
def test_a_planted_danger_is_found(source: str) -> None:
    assert dangers(source)


def test_a_pickle_among_the_weights_is_not_opened(tmp_path: Path) -> None:
    store, packed = store_of(tmp_path), io.BytesIO()
    np.savez(packed, a=np.array([Trap(tmp_path / "sprung")], object))
    replace_weights(store, packed.getvalue())
    with pytest.raises(RunError, match=r"step-00000003: damaged checkpoint \(.*allow_pickle=False"):
        store.read(step_name(3))
    assert not (tmp_path / "sprung").exists()


def array(content: np.ndarray[Any, Any]) -> bytes:
    packed = io.BytesIO()
    np.save(packed, content)
    return packed.getvalue()


@pytest.mark.parametrize("name", ["../../../evil.npy", "/tmp/evil-absolute.npy", "a/../../evil.npy"])
def test_names_in_an_archive_lead_nowhere(tmp_path: Path, name: str) -> None:
    store, packed = store_of(tmp_path), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, array(np.ones(2)))
    replace_weights(store, packed.getvalue())
    before = everything(tmp_path)
    assert list(store.read(step_name(3)).weights) == [name.removesuffix(".npy")]  # a name, and no path
    assert everything(tmp_path) == before and not Path("/tmp/evil-absolute.npy").exists()


def header(shape: str) -> bytes:
    """An array file that promises a shape and holds nothing."""
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    "member",
    [
        header("(10**15,)"),
        header(f"({10**15},)"),
        header(f"({10**9}, {10**9}, {10**9})"),
        header("(-5,)"),
        header("__import__('os').system('true'),"),
        b"no array at all",
        b"",
    ],
)
def test_arrays_that_deceive_are_damage(tmp_path: Path, member: bytes) -> None:
    store, packed = store_of(tmp_path), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.npy", member)
    replace_weights(store, packed.getvalue())
    with pytest.raises(RunError, match=r"step-00000003: damaged checkpoint \("):
        store.read(step_name(3))


@pytest.mark.parametrize(
    "name", ["../../../secret.npz", "/etc/passwd", "", ".", "weights.npz/../x", "/dev/zero"]
)
def test_a_checkpoint_names_no_file_but_its_own(tmp_path: Path, name: str) -> None:
    store = store_of(tmp_path)
    state = store.folder / step_name(3) / "state.json"
    values = json.loads(state.read_text())
    values["sha256"][name] = "0" * 64
    state.write_text(json.dumps(values))
    with pytest.raises(RunError, match=r"sha256 must name weights\.npz, and may name training\.npz"):
        store.read(step_name(3))


@pytest.mark.parametrize("name", ["../../secret.txt", "/etc/passwd", "/dev/zero"])
def test_a_tokenizer_names_no_file_but_its_own(tmp_path: Path, name: str) -> None:
    from tf_transformer.text import Preprocessor, train_tokenizer

    Preprocessor(train_tokenizer("words", ["a b"], 9)).save(tmp_path / "tokenizer")
    (tmp_path / "secret.txt").write_text("secret")
    manifest = tmp_path / "tokenizer" / "shared" / "tokenizer.json"
    values = json.loads(manifest.read_text())
    values["files"][name] = values["files"]["vocabulary.txt"]
    manifest.write_text(json.dumps(values))
    with pytest.raises(
        TextError, match=r"tokenizer\.json: `files` must be names of files beside it\. Received"
    ):
        Preprocessor.load(tmp_path / "tokenizer")


def test_a_tokenizer_reads_no_device_and_no_depth(tmp_path: Path) -> None:
    from tf_transformer.text import Preprocessor, train_tokenizer

    folder = tmp_path / "tokenizer"
    Preprocessor(train_tokenizer("words", ["a b"], 9)).save(folder)
    (folder / "shared" / "vocabulary.txt").unlink()
    (folder / "shared" / "vocabulary.txt").symlink_to("/dev/zero")
    with pytest.raises(
        TextError, match=r"vocabulary\.txt: must be a file that can be read\. Received: a folder or"
    ):
        Preprocessor.load(folder)
    (folder / "preprocessor.json").write_text("[" * 100_000)
    with pytest.raises(
        TextError, match=r"preprocessor\.json: must be JSON in UTF-8\. Received: nested too deeply"
    ):
        Preprocessor.load(folder)


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    return "\n".join([*lines, *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("task: !!python/object/apply:os.mknod [sprung]", "the tag .*python/object/apply:os.mknod is not"),
        ("task: !!python/name:os.system", "is not allowed in a recipe"),
        ("!!python/object/new:os.mknod {args: [sprung]}", "is not allowed in a recipe|must be sections"),
        (bomb(), "more than 20000 values once anchors are written out"),
        ("a: &a [*a]", "nested more than 20 levels deep"),
        (f"task: {DEEP}", "nested too deeply"),
        (f"task: {'{a: ' * 1000}", "nested too deeply"),
        (f"task: {'- ' * 3000}x", "."),
        ("task: " + "9" * 100_000, "not a readable int"),
        ("x" * 2_000_000, "longer than 1000000 characters, which is no recipe"),
    ],
)  # fmt: skip
def test_a_recipe_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, rule: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recipe.yaml").write_text(text)
    with pytest.raises(RecipeError, match=rule):
        load_recipe(Path("recipe.yaml"))
    with pytest.raises(RecipeError):
        Path("recipe.yaml").write_text("task: translate\n")
        load_recipe(Path("recipe.yaml"), [f"model={text}"])
    assert everything(tmp_path) == {"recipe.yaml"}


def read_state(run: RunFolder) -> object:
    return CheckpointStore(run.checkpoints).read(step_name(3))


def read_tokenizer(run: RunFolder) -> object:
    from tf_transformer.text import Preprocessor

    return Preprocessor.load(run.tokenizer)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("versions.json", RunFolder.check_format),
        ("results.json", RunFolder.results),
        ("metrics.jsonl", RunFolder.metrics),
        ("recipe.yaml", RunFolder.recipe),
        ("checkpoints/index.json", lambda run: CheckpointStore(run.checkpoints).index()),
        (f"checkpoints/{step_name(3)}/state.json", read_state),
        ("manifest.json", lambda run: read_manifest(run.path)),
    ],
)
@pytest.mark.parametrize(
    "content", [DEEP, "9" * 10_000, "\x00", "[]", '"', "NaN", b"\xff\xfe".decode("latin-1")]
)
def test_nested_and_endless_values_are_refused(
    tmp_path: Path, name: str, read: Callable[[RunFolder], object], content: str
) -> None:
    store_of(tmp_path)
    run = RunFolder(tmp_path / "run")
    (run.path / name).write_text(f"{content}\n", encoding="latin-1")
    with pytest.raises(ProjectError, match=name.rpartition("/")[2].partition(".")[0]):
        read(run)


def manifest(**values: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "task": "translate",
        "signatures": ["n_best", "serving_default"],
        "source_vocabulary_size": 11,
        "target_vocabulary_size": 13,
        "verification": {},
    }
    return {**fields, **values}


def test_an_export_does_not_say_what_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tf_transformer.export.loading import load_export

    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "evil.py").write_text("open('sprung', 'w')\n")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "export" / "1"
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").touch()
    write_manifest(folder, Manifest(**manifest()))
    (folder / "manifest.json").write_text(json.dumps(manifest(python_modules=["evil"])))
    with pytest.raises(ExportError, match=r"python_modules\.0: Input should be 'tensorflow_text'"):
        load_export(tmp_path / "export")
    assert "evil" not in sys.modules and not (tmp_path / "sprung").exists()


def test_keras_files_are_loaded_in_keras_safe_mode(tmp_path: Path) -> None:
    import keras

    model = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: x * 2)])
    model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="Lambda"):
        keras.saving.load_model(tmp_path / "model.keras")


def test_names_in_a_keras_file_lead_nowhere(tmp_path: Path) -> None:
    import keras

    (tmp_path / "deep" / "er").mkdir(parents=True)
    path = tmp_path / "deep" / "er" / "model.keras"
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)]).save(path)
    with zipfile.ZipFile(path, "a") as archive:
        for name in ("../evil", "../../evil", str(tmp_path / "absolute"), "assets/../../evil"):
            archive.writestr(name, "evil")
    before = everything(tmp_path)
    with pytest.warns(UserWarning, match="Skipping invalid path"):
        keras.saving.load_model(path)
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("versions.json", RunFolder.check_format),
        ("results.json", RunFolder.results),
        ("metrics.jsonl", RunFolder.metrics),
        ("checkpoints/index.json", lambda run: CheckpointStore(run.checkpoints).index()),
        (f"checkpoints/{step_name(3)}/state.json", read_state),
        (f"checkpoints/{step_name(3)}/weights.npz", read_state),
        ("manifest.json", lambda run: read_manifest(run.path)),
    ],
)
def test_a_link_to_a_device_is_not_read_for_ever(
    tmp_path: Path, name: str, read: Callable[[RunFolder], object]
) -> None:
    store_of(tmp_path)
    run = RunFolder(tmp_path / "run")
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to("/dev/zero")
    with pytest.raises((ProjectError, OSError), match="is no regular file"):
        read(run)


def test_a_recipe_that_never_ends_is_told() -> None:
    with pytest.raises(RecipeError, match="longer than 1000000 characters, which is no recipe"):
        load_recipe(Path("/dev/zero"))
