"""What all kinds of tokenizers promise: ids, round trips, control ids, saving, and clean processes."""

import json
import math
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tf_transformer.errors import TextError
from tf_transformer.presets import SPECIAL_TOKENS
from tf_transformer.text import (
    Normalizer,
    Preprocessor,
    Tokenizer,
    import_tokenizer,
    load_tokenizer,
    train_tokenizer,
)

DIRTY = Path(__file__).parents[3] / "shared" / "data" / "dirty"
KINDS = ["sentencepiece", "wordpiece", "words", "characters", "bytes"]
CORE_KINDS = ["words", "characters", "bytes"]

CORPUS = [
    "<pad> is a token", "say <s> and </s>", "an <unk> word", "[MASK] me", "<|endoftext|> now", "▁under ▁",
    "low@@ er case@@", "<2de> translate", '{"a": 1}', "%s %d {} \\n \\t", "<0x41> ##ing ￭x ￭",
    "￭￭ a_b don't 3.14", "Äpfel, Öl und Übermut!", "我喜欢茶。", "an \u200bapple",
]  # fmt: skip


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {kind: train_tokenizer(kind, CORPUS, 420) for kind in KINDS}


@pytest.fixture(params=KINDS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]


def round_trip(tokenizer: Tokenizer, texts: list[str]) -> list[str]:
    return [text.decode() for text in tokenizer.detokenize(tokenizer.tokenize(texts)).numpy()]


def test_special_ids_are_fixed(tokenizer: Tokenizer) -> None:
    assert tuple(tokenizer.tokens[:4]) == SPECIAL_TOKENS
    assert len(tokenizer.tokens) == len(set(tokenizer.tokens)) == tokenizer.vocabulary_size <= 420


def test_known_text_comes_back(tokenizer: Tokenizer) -> None:
    assert round_trip(tokenizer, CORPUS) == CORPUS


def test_no_text_becomes_a_control_id(tokenizer: Tokenizer) -> None:
    texts = [*CORPUS, *SPECIAL_TOKENS, "".join(SPECIAL_TOKENS), "<S>", "</s", "[PAD]", "[UNK]"]
    ids = tokenizer.tokenize(texts)
    assert ids.dtype == tf.int32
    assert not set(ids.flat_values.numpy().tolist()) & {0, 2, 3}
    assert all(len(row) for row in ids.to_list())


def test_empty_strings_and_batches(tokenizer: Tokenizer) -> None:
    assert tokenizer.tokenize(["", "a", ""]).row_lengths().numpy().tolist()[::2] == [0, 0]
    assert round_trip(tokenizer, [""]) == [""]
    assert tokenizer.tokenize([]).nrows().numpy() == 0
    assert tokenizer.detokenize(tf.zeros([0, 3], tf.int32)).shape == [0]
    assert tokenizer.detokenize(tf.zeros([2, 0], tf.int32)).numpy().tolist() == [b"", b""]


def test_invalid_bytes_do_not_stop_it(tokenizer: Tokenizer) -> None:
    ids = tokenizer.tokenize([b"a\xff\xc3 b", b"\xed\xa0\x80"])
    for text in tokenizer.detokenize(ids).numpy():
        text.decode("utf-8")


def test_padding_start_and_end_are_left_out(tokenizer: Tokenizer) -> None:
    ids = tokenizer.tokenize(["an apple", "me"]).to_list()
    rows = [[2, *row, 3] for row in ids]
    padded = tf.ragged.constant(rows, tf.int32).to_tensor()
    for form in (padded, tf.cast(padded, tf.int64), tf.ragged.constant(rows, tf.int32)):
        assert tokenizer.detokenize(form).numpy().tolist() == round_trip_bytes(tokenizer, ids)


def round_trip_bytes(tokenizer: Tokenizer, ids: list[list[int]]) -> list[bytes]:
    result: list[bytes] = tokenizer.detokenize(tf.ragged.constant(ids, tf.int32)).numpy().tolist()
    return result


def test_the_unknown_is_marked_or_dropped(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    for kind, tokenizer in tokenizers.items():
        ids = tf.constant([[1]])
        assert tokenizer.detokenize(ids).numpy().tolist() == [b"<unk>"], kind
        tokenizer.save(tmp_path / kind)
        for options, expected in (({"unknown_mark": "??"}, b"??"), ({"unknown": "drop"}, b"")):
            path = tmp_path / kind / "tokenizer.json"
            manifest = json.loads(path.read_text())
            manifest["options"] |= options
            path.write_text(json.dumps(manifest))
            assert load_tokenizer(tmp_path / kind).detokenize(ids).numpy().tolist() == [expected], kind
    with pytest.raises(ValueError, match=r'`unknown` must be "mark" or "drop"\. Received: \'copy\''):
        train_tokenizer("bytes", [], unknown="copy")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"texts": "a b"}, r"`texts` must be a list of strings\. Received: one string, 'a b'"),
        ({"texts": ["a", 1]}, r"`texts` must be a list of strings\. Received: int at place 1"),
        ({"kind": ["words"]}, r"`kind` must be one of .*Received: \['words'\]"),
        ({"vocabulary_size": 300.0}, r"`vocabulary_size` must be a whole number, .*Received: 300\.0"),
        ({"vocabulary_size": 10**12}, r"`vocabulary_size` must be from 1 to 2147483647\. Received: 10{12}"),
        ({"unknown_mark": None}, r"`unknown_mark` must be a string\. Received: None"),
        ({"unknown_mark": "a\nb"}, r"`unknown_mark` must have no line breaks .*Received: 'a\\nb'"),
        ({"unknown_mark": "\ud800"}, r"`unknown_mark` must have no line breaks .*Received: '\\ud800'"),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_arguments_of_every_kind(kind: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        train_tokenizer(**{"kind": kind, "texts": ["a b"], "vocabulary_size": 300, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"byte_fallback": "no"}, r"`byte_fallback` must be True or False\. Received: 'no'"),
        ({"character_coverage": "1"}, r"`character_coverage` must be a finite number, .*Received: '1'"),
        ({"character_coverage": math.nan}, r"`character_coverage` must be a finite number, .*Received: nan"),
    ],
)
def test_wrong_arguments_of_sentencepiece(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        train_tokenizer("sentencepiece", ["a b"], 300, **arguments)


def test_wrong_arguments(tokenizer: Tokenizer) -> None:
    with pytest.raises(TypeError, match=r"`ids` must be integers\. Received: float32"):
        tokenizer.detokenize([[4.0]])
    with pytest.raises(ValueError, match=r"`strings` must have the shape \[B\]\. Received: shape \(1, 1\)"):
        tokenizer.tokenize([["a"]])
    for ids in ([4, 5], [[[4, 5]]], 4):
        with pytest.raises(ValueError, match=r"`ids` must have the shape \[B, T\]\. Received: shape \("):
            tokenizer.detokenize(ids)
    for wrong in (100_000, -1):
        with pytest.raises(tf.errors.OpError):
            tokenizer.detokenize(tf.constant([[wrong]]))


def test_direct_and_in_tf_data(tokenizer: Tokenizer) -> None:
    data = tf.data.Dataset.from_tensor_slices(CORPUS).batch(7).map(tokenizer.tokenize)
    rows = [row for batch in data for row in batch.to_list()]
    assert (
        rows == tokenizer.tokenize(CORPUS).to_list() == [tokenizer.tokenize([t]).to_list()[0] for t in CORPUS]
    )


def test_cleared_caches_do_no_harm(tokenizer: Tokenizer) -> None:
    before = tokenizer.tokenize(CORPUS).to_list()
    tf.random.set_seed(7)  # drops kernels, and with them every resource that has no name of its own
    assert tokenizer.tokenize(CORPUS).to_list() == before
    assert round_trip(tokenizer, CORPUS) == CORPUS


def test_saved_and_loaded_is_the_same(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "here")
    loaded = load_tokenizer(tmp_path / "here")
    assert type(loaded) is type(tokenizer)
    assert (loaded.tokens, loaded.options) == (tokenizer.tokens, tokenizer.options)
    assert loaded.tokenize(CORPUS).to_list() == tokenizer.tokenize(CORPUS).to_list()


@pytest.mark.parametrize("kind", ["wordpiece", "words", "characters"])
def test_line_breaks_in_the_corpus_add_no_lines_to_the_vocabulary(kind: str, tmp_path: Path) -> None:
    made = train_tokenizer(kind, ["a\rb", "c\u2028d\x85e f"], 50)
    made.save(tmp_path)
    content = (tmp_path / "vocabulary.txt").read_bytes()
    assert len(content.decode("utf-8").splitlines()) == content.count(b"\n") == made.vocabulary_size
    assert load_tokenizer(tmp_path).tokens == made.tokens


def test_the_same_corpus_gives_the_same_files(tokenizer: Tokenizer) -> None:
    assert train_tokenizer(tokenizer.kind, iter(CORPUS), 420).to_files() == tokenizer.to_files()


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=19), min_size=1, max_size=7))
@pytest.mark.parametrize("kind", ["sentencepiece", "bytes"])
def test_every_normalised_text_comes_back(
    kind: str, tokenizers: dict[str, Tokenizer], texts: list[str]
) -> None:
    texts = Normalizer().normalize_texts(texts)
    assert round_trip(tokenizers[kind], texts) == texts


@settings(deadline=None, max_examples=40)
@given(st.lists(st.text("".join(CORPUS), max_size=19), min_size=1, max_size=7))
@pytest.mark.parametrize("kind", ["wordpiece", "characters"])
def test_text_of_known_characters_comes_back(
    kind: str, tokenizers: dict[str, Tokenizer], texts: list[str]
) -> None:
    texts = Normalizer().normalize_texts(texts)
    assert round_trip(tokenizers[kind], texts) == texts


def damaged(tokenizer: Tokenizer, folder: Path, change: dict[str, object]) -> Path:
    tokenizer.save(folder)
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "morphemes"}, r"`kind` must be one of sentencepiece, .*Received: 'morphemes'"),
        ({"vocabulary_size": "many"}, r"`vocabulary_size` must be of type int\. Received: 'many'"),
        ({"options": {"joined": 1}}, r"must describe a tokenizer of kind words\. Received: .*'joined'"),
        ({"files": {}}, r"must describe a tokenizer of kind words\. Received: 'vocabulary\.txt'"),
        ({"format": 2}, r"format must be 1\. Received: 2"),
    ],
)
def test_a_damaged_manifest_is_named(
    tokenizers: dict[str, Tokenizer], tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = damaged(tokenizers["words"], tmp_path / "words", change)
    with pytest.raises(TextError, match=rf"tokenizer\.json: {message}"):
        load_tokenizer(folder)


def test_another_size_or_content_is_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    words = tokenizers["words"]
    size = words.vocabulary_size
    words.save(tmp_path / "longer")
    with (tmp_path / "longer" / "vocabulary.txt").open("a") as file:
        file.write("more\n")
    with pytest.raises(
        TextError, match=rf"vocabulary\.txt: must have {size} lines, .*Received: {size + 1} lines"
    ):
        load_tokenizer(tmp_path / "longer")
    words.save(tmp_path / "changed")
    path = tmp_path / "changed" / "vocabulary.txt"
    path.write_bytes(path.read_bytes().replace(b"apple", b"apples"))
    with pytest.raises(
        TextError, match=r"vocabulary\.txt: must be the file that was saved, SHA-256 .*Received: SHA"
    ):
        load_tokenizer(tmp_path / "changed")
    folder = damaged(tokenizers["sentencepiece"], tmp_path / "pieces", {"vocabulary_size": 7})
    with pytest.raises(TextError, match=r"sentencepiece\.model: must have 7 pieces, .*Received: 3\d\d"):
        load_tokenizer(folder)
    folder = damaged(tokenizers["bytes"], tmp_path / "bytes", {"vocabulary_size": 261})
    with pytest.raises(TextError, match=r"tokenizer\.json: `vocabulary_size` must be 260, .*Received: 261"):
        load_tokenizer(folder)


def test_a_half_written_folder_is_refused(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    tokenizers["sentencepiece"].save(tmp_path)
    path = tmp_path / "sentencepiece.model"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(TextError, match=r"sentencepiece\.model: must be a SentencePiece model\. Received: "):
        load_tokenizer(tmp_path)
    path.unlink()
    with pytest.raises(
        TextError, match=r"sentencepiece\.model: must be a file that can be read\. Received: No such"
    ):
        load_tokenizer(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(
        TextError, match=r"tokenizer\.json: must be a file that can be read\. Received: No such"
    ):
        load_tokenizer(tmp_path)


def test_arguments_of_training_and_importing() -> None:
    with pytest.raises(ValueError, match=r"`kind` must be one of .*, bytes\. Received: 'bpe'"):
        train_tokenizer("bpe", ["a"])
    with pytest.raises(
        ValueError, match=r"`model_type` and `byte_fallback` must be left alone .*kind='words'"
    ):
        train_tokenizer("words", ["a"], byte_fallback=False)
    with pytest.raises(
        ValueError, match=r"`character_coverage` must be None with .*'bytes'\. Received: 0\.99"
    ):
        train_tokenizer("bytes", ["a"], character_coverage=0.99)
    with pytest.raises(ValueError, match=r'`kind` must be one that has a file.* Received: "bytes"'):
        import_tokenizer("bytes", "nothing")
    for kind in ("words", "characters"):
        with pytest.raises(ValueError, match=r"`vocabulary_size` must be at least 5\. Received: 4"):
            train_tokenizer(kind, ["a"], 4)
    for kind in KINDS[:-1]:
        with pytest.raises(TextError, match=r"needs at least one text that is not empty\. Received: none"):
            train_tokenizer(kind, ["", ""], 300)


@pytest.mark.skipif(not DIRTY.exists(), reason="the dirty corpus is not there")
@pytest.mark.parametrize(
    "case", ["22_emoji.zh", "23_zero_width.de", "33_special_token_text.en", "34_case.tr"]
)
def test_dirty_text_comes_back(case: str) -> None:
    lines = Normalizer().normalize_texts((DIRTY / case).read_bytes().decode("utf-8").split("\n")[:-1])
    for kind in KINDS:
        tokenizer = train_tokenizer(kind, lines, 420)
        assert round_trip(tokenizer, lines) == lines, kind
        stranger = train_tokenizer(kind, ["nothing of this"], 420)
        ids = stranger.tokenize(lines)
        assert not set(ids.flat_values.numpy().tolist()) & {0, 2, 3}, kind


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
