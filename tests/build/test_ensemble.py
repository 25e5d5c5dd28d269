"""Which runs may answer together."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tf_transformer.build.ensemble import together
from tf_transformer.build.run import LoadedRun
from tf_transformer.errors import RunError
from tf_transformer.models import Transformer
from tf_transformer.tasks import Translator
from tf_transformer.text import Normalizer, Preprocessor


def run(
    name: str, letters: str = "abc", *, seed: int = 1, length: int = 9, lowercase: bool = False
) -> LoadedRun:
    texts = [" ".join(letters)]
    side = Preprocessor.train(texts, texts, tokenizer="words", normalizer=Normalizer(lowercase=lowercase))
    sizes = {"num_layers": 1, "hidden_dim": 4, "intermediate_dim": 6, "num_heads": 2}
    model = Transformer(side.target_vocabulary_size, seed=seed, **sizes)
    task = Translator(model, side, beam_size=2, max_source_length=length)
    folder: Any = SimpleNamespace(path=Path(name))
    problem: Any = None
    return LoadedRun(folder, problem, task, "step-3", 3, (f"{name} is odd",))


def test_the_first_run_searches_with_the_probabilities_of_all() -> None:
    found = together(run("one"), [run("two", seed=2, length=5), run("three", seed=3)])
    assert found.folder.path == Path("one") and found.task.max_source_length == 5
    assert len(found.task.model.members) == 3 and found.task.options.beam_size == 2
    assert found.notes[:3] == ("one is odd", "two is odd", "three is odd")
    assert "two: checkpoint step-3, in the ensemble" in found.notes


@pytest.mark.parametrize("other", [run("two", "abd"), run("two", "abcd"), run("two", lowercase=True)])
def test_another_tokenizer_is_refused(other: LoadedRun) -> None:
    with pytest.raises(
        RunError, match="two: an ensemble needs one tokenizer, and this one's differs from that of one"
    ):
        together(run("one"), [other])


def test_another_task_is_refused() -> None:
    folder: Any = SimpleNamespace(path=Path("two"))
    problem: Any = None
    other = LoadedRun(folder, problem, object(), "best", 1)
    with pytest.raises(RunError, match="two: an ensemble is of translators, and this is none"):
        together(run("one"), [other])
