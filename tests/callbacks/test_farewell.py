"""The last lines of a training: commands that work as they stand."""

import shlex
from pathlib import Path

import pytest

from tf_transformer.callbacks.farewell import farewell
from tf_transformer.run_folder import RunFolder

RUN = RunFolder(Path("runs/my run"))


def test_a_translator() -> None:
    examples = ["-n", "a\tb", "back\\slash", "bell\x07", "x" * 81, 'l\'été, "no" $HOME `ls`']
    assert list(farewell(RUN, "translate", "translate", examples, has_test=True)) == [
        "  there       results.json (the figures), metrics.jsonl (each validation), samples/, checkpoints/",
        "  translate   echo 'l'\"'\"'été, \"no\" $HOME `ls`' | tf-transformer predict 'runs/my run'",
        "  look        tf-transformer plot curves 'runs/my run'",
        "              tf-transformer plot attention 'runs/my run' 'l'\"'\"'été, \"no\" $HOME `ls`'",
        "              tensorboard --logdir 'runs/my run/tensorboard'",
        "  export      tf-transformer export 'runs/my run' 'exports/my run'",
        "  serve       tf-transformer serve 'exports/my run'",
    ]


def test_a_classifier_of_pictures_that_lie_in_a_table_and_in_files(tmp_path: Path) -> None:
    picture = tmp_path / "a 1.png"
    picture.touch()
    lines = list(
        farewell(RUN, "classify_images", "classify", ["digits.csv, line 2", str(picture)], has_test=False)
    )
    assert f"  classify    echo {shlex.quote(str(picture))} | tf-transformer predict 'runs/my run'" in lines
    assert "              tf-transformer plot confusion 'runs/my run' --split dev" in lines
    assert not [line for line in lines if "attention" in line]
    (asked,) = [
        line
        for line in farewell(RUN, "classify_images", "classify", ["a.csv, line 2"], True)
        if "predict" in line
    ]
    assert asked == "  classify    tf-transformer predict 'runs/my run' < FILE"


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("\n\nROMEO:\nO, she doth", "ROMEO:"),
        ("Before we proceed any further, hear me speak.", "'Before we proceed any further, hear me'"),
        ("床前明月光" * 10, "床前明月光" * 8),
    ],
)
def test_a_language_model_begins_as_its_text_does(text: str, prompt: str) -> None:
    (asked,) = [line for line in farewell(RUN, "generate", "generate", [text], True) if "predict" in line]
    assert (
        asked
        == f"  generate    echo {shlex.quote(prompt.strip(chr(39)))} | tf-transformer predict 'runs/my run'"
    )
