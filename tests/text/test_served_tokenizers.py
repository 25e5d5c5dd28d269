"""All kinds of tokenizers within a SavedModel, in a process without this package."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf
from tokenizer_kinds import CORE_KINDS, KINDS

from tf_transformer.text import Normalizer, Preprocessor


class Served(tf.Module):
    """A module such as an export holds."""

    def __init__(self, preprocessor: Preprocessor) -> None:
        super().__init__()
        self.preprocessor = preprocessor

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def ids(self, text: tf.Tensor) -> tf.Tensor:
        return self.preprocessor.encode_source(text).to_tensor()

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32)])
    def text(self, ids: tf.Tensor) -> tf.Tensor:
        return self.preprocessor.decode_target(ids)


LOADER = """
import json, sys
core = sys.argv[1] == "core"
sys.modules["tf_transformer"] = None
if core:
    sys.modules["tensorflow_text"] = None
import tensorflow as tf
if not core:
    import tensorflow_text
texts = tf.constant(["IST <s>\\u00a0Ein\\tTest", "", "3.14 (x)", b"\\xff"])
answers = {}
for folder in sys.argv[2:]:
    served = tf.saved_model.load(folder)
    ids = served.ids(texts)
    answers[folder] = [ids.numpy().tolist(), [text.decode() for text in served.text(ids).numpy()]]
if core:
    del sys.modules["tf_transformer"]
    from tf_transformer.text import Preprocessor
    for folder in sys.argv[2:]:
        again = Preprocessor.load(folder + "-files").encode_source(texts).to_tensor().numpy().tolist()
        assert again == answers[folder][0], folder
print(json.dumps(answers))
"""


def clean_process(ring: str, folders: list[Path]) -> subprocess.Popen[str]:
    # A Turkish locale: tf.strings.lower would make a dotless i of an "I" there.
    environment = os.environ | {"LC_ALL": "tr_TR.UTF-8", "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", textwrap.dedent(LOADER), ring, *map(str, folders)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, encoding="utf-8", env=environment)


def served_kinds(tmp_path: Path) -> Iterator[tuple[str, Path, Served]]:
    normalizer = Normalizer(lowercase=True)
    for kind in [*KINDS, "nfc"]:
        form = Normalizer("nfc", lowercase=True) if kind == "nfc" else normalizer
        name = "characters" if kind == "nfc" else kind
        files = tmp_path / f"{kind}-files"
        Preprocessor.train(["ist ein test"], ["3.14 (x)"], name, 300, normalizer=form).save(files)
        served = Served(Preprocessor.load(files))
        tf.saved_model.save(served, str(tmp_path / f"{kind}-here"))
        # The vocabulary must travel with the model: elsewhere there is neither its file nor this folder.
        (tmp_path / f"{kind}-here").rename(tmp_path / kind)
        if kind not in CORE_KINDS:
            shutil.rmtree(files)
        yield kind, tmp_path / kind, served


def operations(served: Served) -> set[str]:
    graphs = (served.ids.get_concrete_function().graph, served.text.get_concrete_function().graph)
    return {operation.type for graph in graphs for operation in graph.get_operations()}


def test_a_saved_model_gives_the_same_in_a_clean_process(tmp_path: Path) -> None:
    kinds = {kind: (path, served) for kind, path, served in served_kinds(tmp_path)}
    rings = {"core": CORE_KINDS, "text": [kind for kind in kinds if kind not in CORE_KINDS]}
    running = {ring: clean_process(ring, [kinds[kind][0] for kind in names]) for ring, names in rings.items()}
    texts = tf.constant(["IST <s>\u00a0Ein\tTest", "", "3.14 (x)", b"\xff"])
    for ring, process in running.items():
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        answers = json.loads(output.splitlines()[-1])
        for kind in rings[ring]:
            path, served = kinds[kind]
            ids = served.preprocessor.encode_source(texts).to_tensor()
            here = [ids.numpy().tolist(), [text.decode() for text in served.text(ids).numpy()]]
            assert answers[str(path)] == here, kind
            assert served.preprocessor.core_ops_only == (ring == "core"), kind
            # The model file is loaded by an operation outside these two graphs.
            named = set(served.preprocessor.custom_ops) - {"SentencepieceOp"}
            assert named <= operations(served), kind
