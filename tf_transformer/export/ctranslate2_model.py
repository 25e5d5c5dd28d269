"""CTranslate2 models: a translator in the form that this runtime takes, verified sentence by sentence.

::

    DIR/<version>/
      model.bin  config.json  shared_vocabulary.json (or one of each side)
      tokenizer/           what makes pieces of text, and text of pieces
      manifest.json        what it is, how it is searched with, and that it was verified
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ctranslate2

from tf_transformer.errors import ExportError, TextError
from tf_transformer.export.ctranslate2_spec import check_model, specification
from tf_transformer.export.ctranslate2_trial import verify_answers
from tf_transformer.export.versions import Card, write_version
from tf_transformer.manifest import (
    Manifest,
    check_whole,
    file_sizes,
    newest_version,
    read_manifest,
)
from tf_transformer.presets import LONGEST_ANSWER, WeightKind
from tf_transformer.tasks import Translator
from tf_transformer.tasks.ctranslate2_translator import (
    CTranslate2Translator,
    decoding_facts,
    decoding_options,
    vocabularies,
)
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.text import Preprocessor

TOKENIZER = "tokenizer"
_LEAST_POSITIONS, _MOST_POSITIONS = 1024, 4096
_RANKED = "CTranslate2 follows it, and ranks what is left by other probabilities"
_ELSEWISE = {
    "diversity": "CTranslate2 has no such search",
    "no_repeat": _RANKED,
    "min_length_factor": _RANKED,
    "min_length_margin": _RANKED,
}
"""Search options by which its answers are none of the run's."""
_QUANTIZATIONS: dict[WeightKind, str | None] = {"float32": None, "float16": "float16", "int8": "int8"}


@dataclass(frozen=True)
class CTranslate2Model:
    """A CTranslate2 model that was loaded.

    Args:
        folder: The version's folder.
        manifest: Its manifest.
        task: What translates with it.
    """

    folder: Path
    manifest: Manifest
    task: CTranslate2Translator


def export_ctranslate2(
    task: Any,
    folder: Path,
    *,
    samples: Sequence[str],
    facts: Mapping[str, Any],
    weights: WeightKind = "float32",
    card: Card | None = None,
) -> tuple[Path, Manifest]:
    """Writes a translator as the next version under ``folder``, for CTranslate2.

    Args:
        task: A translator in float32.
        folder: The export's folder; versions are its numbered subfolders.
        samples: Sentences that the model must answer as the translator does.
        facts: Fields of the manifest that the run knows.
        weights: How weights are stored.
        card: Makes the model card, see `model_card`; there is none without it.

    Returns:
        The folder of the new version, and its manifest.

    Raises:
        ExportError: When CTranslate2 has no form for the translator, the folder cannot be written, or the
            model answers differently; nothing is left behind then.
    """
    _check(task)
    options: SearchOptions = task.options
    longest = _longest_answer(task)

    def write(aside: Path) -> Manifest:
        aside.mkdir()
        _write_model(task, aside, weights, longest)
        engine = _engine(aside)
        search = {"max_source_length": task.max_source_length, "longest_answer": longest}
        ours = CTranslate2Translator(engine, task.preprocessor, options, **search)
        return Manifest(
            kind="ctranslate2",
            task=task.TASK,
            signatures=(),
            weights=weights,
            **task.manifest_facts(),
            **search,
            decoding=decoding_facts(options),
            verification=verify_answers(task, ours, samples, weights),
            files=file_sizes(aside),
            **facts,
        )

    return write_version(folder, "ctranslate2", write, card)


def load_ctranslate2(path: Path) -> CTranslate2Model:
    """Loads the newest version under an exported folder, or the version that ``path`` is.

    Raises:
        ExportError: When there is none, it is not whole, or it cannot be loaded.
    """
    folder = newest_version(path)
    manifest = read_manifest(folder)
    check_whole(folder, manifest)
    try:
        task = CTranslate2Translator(
            _engine(folder),
            Preprocessor.load(folder / TOKENIZER),
            decoding_options(manifest.decoding),
            max_source_length=manifest.max_source_length,
            longest_answer=manifest.longest_answer,
        )
    except (TextError, TypeError, ValueError) as error:
        raise ExportError(f"{folder}: cannot be loaded ({' '.join(str(error).split())})") from None
    return CTranslate2Model(folder, manifest, task)


def _check(task: Any) -> None:
    """Refuses what CTranslate2 cannot do, by its key."""
    if not isinstance(task, Translator):
        raise ExportError(
            f"task: CTranslate2 is for translate here. Received: {task.TASK}; export with --format savedmodel"
        )
    check_model(task.model.settings)
    usual = SearchOptions()
    for name, rule in _ELSEWISE.items():
        if getattr(task.options, name) != getattr(usual, name):
            raise ExportError(
                f"decoding.{name}: {rule}; set it to {getattr(usual, name):g} in the run's recipe. "
                f"Received: {getattr(task.options, name):g}"
            )


def _longest_answer(task: Any) -> int:
    """The most pieces of an answer that positions are written for."""
    settings, options = task.model.settings, task.options
    if settings.positions == "learned":
        return int(settings.max_length) - 1  # the start token takes one
    if settings.positions in ("relative", "rotary"):
        return LONGEST_ANSWER
    wanted: int = int(task.max_source_length * options.max_length_factor) + options.max_length_margin
    return min(max(wanted, _LEAST_POSITIONS), _MOST_POSITIONS) - 1


def _write_model(task: Any, folder: Path, weights: WeightKind, longest: int) -> None:
    source, target = vocabularies(task.preprocessor)
    positions = max(task.max_source_length, _LEAST_POSITIONS), min(longest + 1, _MOST_POSITIONS)
    spec = specification(task.model, source, target, positions)
    spec.config.add_source_eos = task.preprocessor.source_end
    spec.validate()
    spec.optimize(quantization=_QUANTIZATIONS[weights])
    spec.save(str(folder))
    task.preprocessor.save(folder / TOKENIZER)


def _engine(folder: Path) -> Any:
    try:
        return ctranslate2.Translator(str(folder), device="auto")
    except (RuntimeError, ValueError) as error:  # what the library says of files that it cannot read
        raise ExportError(f"{folder}: cannot be loaded ({' '.join(str(error).split())})") from None
