"""The last lines of a training: commands that work as they stand."""

import shlex
from pathlib import Path

import pytest

from tf_transformer.build.image_classification import ImageClassificationProblem
from tf_transformer.build.language_modelling import LanguageModellingProblem
from tf_transformer.build.problem import Words
from tf_transformer.build.translation import TranslationProblem
from tf_transformer.farewell import farewell
from tf_transformer.run_folder import RunFolder

RUN = RunFolder(Path("runs/my run"))


def test_a_translator() -> None:
    examples = ["-n", "a\tb", "back\\slash", "bell\x07", 'l\'été, "no" $HOME `ls`']
    assert list(farewell(RUN, TranslationProblem.WORDS, examples, has_test=True)) == [
        "  files       results.json (the figures), metrics.jsonl (each validation), samples/, checkpoints/",
        "  translate   echo 'l'\"'\"'été, \"no\" $HOME `ls`' | tf-transformer predict 'runs/my run'",
        "  look        tf-transformer plot curves 'runs/my run'",
        "              tf-transformer plot attention 'runs/my run' 'l'\"'\"'été, \"no\" $HOME `ls`'",
        "              tensorboard --logdir 'runs/my run/tensorboard'",
        "  export      tf-transformer export 'runs/my run' 'exports/my run'",
        "  serve       tf-transformer serve 'exports/my run'",
    ]


def test_a_classifier_of_pictures_that_lie_in_a_table_and_in_files(tmp_path: Path) -> None:
    picture, words = tmp_path / "a 1.png", ImageClassificationProblem.WORDS
    picture.touch()
    lines = list(farewell(RUN, words, ["digits.csv, line 2", str(picture)], has_test=False))
    assert f"  classify    echo {shlex.quote(str(picture))} | tf-transformer predict 'runs/my run'" in lines
    assert "              tf-transformer plot confusion 'runs/my run' --split dev" in lines
    lines = list(farewell(RUN, words, ["digits.csv, line 2"], has_test=True))
    assert "  classify    tf-transformer predict 'runs/my run' < FILE" in lines
    assert "              tf-transformer plot confusion 'runs/my run'" in lines


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("\n\nROMEO:\nO, she doth", "ROMEO:"),
        ("Before we proceed any further, hear me. " * 3, "'Before we proceed any further, hear me.'"),
        (
            "床前明月光" * 20,
            "床前明月光床前明月光床前明月光床前明月光床前明月光床前明月光床前明月光床前明月光",
        ),
    ],
)
def test_a_language_model_begins_as_its_text_does(text: str, prompt: str) -> None:
    lines = list(farewell(RUN, LanguageModellingProblem.WORDS, [text], has_test=True))
    shown = prompt if prompt[0] in "R'" else f"'{prompt}'"
    assert lines[1] == f"  generate    echo {shown} | tf-transformer predict 'runs/my run'"
    assert lines[3].endswith(f"plot attention 'runs/my run' {shown}")


def test_a_task_without_pictures_of_its_own() -> None:
    lines = list(farewell(RUN, Words("point", "plane", "point", "find", "nothing"), [], has_test=True))
    assert lines[1] == "  find        tf-transformer predict 'runs/my run' < FILE"
    assert [line for line in lines if " plot " in line] == [
        "  look        tf-transformer plot curves 'runs/my run'"
    ]
