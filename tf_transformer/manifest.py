"""Exported models: their numbered folders, and ``manifest.json`` in each.

The manifest says what the model is, what it needs, and that it was verified.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tf_transformer.errors import ExportError
from tf_transformer.files import folder_fault, parse_json, read_file, write_json
from tf_transformer.presets import ExportKind, WeightKind
from tf_transformer.run_folder import RunFolder

MANIFEST = "manifest.json"
CARD = "README.md"
MANIFEST_FORMAT = 1
_MOST_DIGITS = 18

_MODELS: dict[ExportKind, str] = {"savedmodel": "saved_model.pb", "ctranslate2": "model.bin"}
"""What a version of each kind has beside its manifest."""


class Manifest(BaseModel):
    """The content of ``DIR/<version>/manifest.json``.

    Keys that a newer package added are kept out of sight; a newer *format* is refused.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int = Field(MANIFEST_FORMAT, description="Version of this file's layout.")
    kind: ExportKind = Field("savedmodel", description="What runs the model.")
    task: str = Field(description="The recipe's task, such as `translate`.")
    labels: tuple[str, ...] = Field((), description="Class names in the order of the probabilities.")
    special_tokens: tuple[str, ...] = Field(
        (), description="Tokens that its text may hold as they are spelled."
    )
    source_columns: int = Field(
        1, description="Columns of its `text`, with a tab between each two where there are several."
    )
    tags: tuple[str, ...] = Field(
        (), description="What its signatures' second input, `tag`, may be; none: there is no such input."
    )
    image_form: dict[str, Any] = Field({}, description="Height, width and channels of its pictures.")
    features: int = Field(0, description="Numbers in each vector of its sequences.")
    signatures: tuple[str, ...] = Field(description="Names of the model's signatures.")
    source_vocabulary_size: int = Field(0, description="Ids that the source side knows.")
    target_vocabulary_size: int = Field(0, description="Ids that the target side knows.")
    weights: WeightKind = Field("float32", description="How its matrices are stored.")
    max_source_length: int = Field(
        0, description="Of a CTranslate2 model: the pieces that it reads of a source, the end counted."
    )
    longest_answer: int = Field(0, description="Of such a model: the pieces that an answer has at most.")
    decoding: dict[str, Any] = Field(
        {}, description="Of such a model: how `predict` searches with it, as the recipe said."
    )
    custom_ops: tuple[str, ...] = Field((), description="Ops that core TensorFlow does not have.")
    # A list of names, not any name: a file from elsewhere must not say what is imported here.
    python_modules: tuple[Literal["tensorflow_text"], ...] = Field(
        (), description="Modules to import first, for those ops."
    )
    normal_form: Literal["nfc", "nfkc"] | None = Field(None, description="Unicode normal form of its text.")
    lowercase: bool = Field(False, description="Whether its text is lower-cased.")
    tokenize: str = Field("13a", description="sacreBLEU's tokenizer that its recipe measures with.")
    leave_out: tuple[str, ...] = Field((), description="Classes that its recipe's macro-F1 leaves out.")
    directed: bool = Field(False, description="Whether both directions of a relation are one class there.")
    rouge: Literal["stemmed", "plain", "characters"] | None = Field(
        None, description="Of which words its recipe measures ROUGE, if it does."
    )
    checkpoint: str = Field("", description="Name of the checkpoint that was exported.")
    step: int = Field(0, description="Updates behind that checkpoint.")
    recipe_sha256: str = Field("", description="Digest of the resolved recipe.")
    versions: dict[str, str] = Field({}, description="Package versions that wrote the model.")
    files: dict[str, int] = Field({}, description="Length in bytes of each other file of the version.")
    verification: dict[str, Any] = Field(description="What the clean process compared, and its result.")


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Writes the manifest into the folder of an exported version.

    Raises:
        OSError: When the folder cannot be written.
    """
    write_json(folder / MANIFEST, manifest.model_dump(mode="json"))


def read_manifest(folder: Path) -> Manifest:
    """Reads the manifest of an exported version.

    Args:
        folder: ``DIR/<version>``.

    Raises:
        ExportError: When it is missing, cut, not a manifest, or of a newer format.
    """
    path = folder / MANIFEST
    try:
        content = parse_json(read_file(path))
    except FileNotFoundError:
        raise ExportError(f"{path}: no manifest, so this is not a finished export") from None
    except ValueError as error:
        raise ExportError(f"{path}: not a manifest of this package: invalid JSON: {error}") from None
    newer = content.get("format") if isinstance(content, dict) else None
    if isinstance(newer, int) and newer > MANIFEST_FORMAT:
        raise ExportError(
            f"{path}: written in format {newer} by a newer version; this one reads up to format "
            f"{MANIFEST_FORMAT}. Install the newer tf-transformer to read it"
        )
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "the file"
        raise ExportError(f"{path}: not a manifest of this package: {where}: {fault['msg']}") from None


def file_sizes(folder: Path) -> dict[str, int]:
    """Length in bytes of each file of a version but manifest and model card, by its path inside."""
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    sizes = {path.relative_to(folder).as_posix(): path.stat().st_size for path in paths}
    return {name: size for name, size in sizes.items() if name not in (MANIFEST, CARD)}


def check_whole(folder: Path, manifest: Manifest) -> None:
    """Refuses a version that was copied in part: a file that is cut may still load, and answer wrongly.

    Raises:
        ExportError: When a file that the manifest names is not there, or has another length.
    """
    sizes = file_sizes(folder) if manifest.files else {}
    for name, size in manifest.files.items():
        if sizes.get(name) != size:
            found = f"has {sizes[name]:,} of {size:,} bytes" if name in sizes else "is not there"
            raise ExportError(f"{folder}: is no whole export: {name} {found}")


def next_version(folder: Path) -> int:
    """One more than the highest number that anything in ``folder`` is called by, 1 where there is none."""
    if not folder.is_dir():
        return 1
    return max((int(path.name) for path in folder.iterdir() if _is_number(path.name)), default=0) + 1


def newest_version(folder: Path) -> Path:
    """The folder of the highest version of an export; ``folder`` itself when it is a version.

    Raises:
        ExportError: When there is no exported model.
    """
    if _is_model(folder):
        return folder
    versions = version_folders(folder)
    if not versions:
        raise ExportError(f"{folder}: no exported model (a folder with a numbered version) is here")
    return versions[max(versions)]


def version_folders(folder: Path) -> dict[int, Path]:
    """The versions in the folder of an export, by their numbers."""
    found = [path for path in folder.glob("*") if _is_number(path.name) and _is_model(path)]
    return {int(path.name): path for path in found}


def is_export(folder: Path) -> bool:
    """Whether a folder is an exported version, or holds one."""
    with suppress(ExportError):
        return newest_version(folder).is_dir()
    return False


def export_fault(folder: Path, kind: ExportKind = "savedmodel") -> str | None:
    """Why no version can be exported into a folder, for a refusal before any work; None where one can.

    Args:
        folder: The folder.
        kind: What the version is for: those in one folder are of one kind, since servers take the newest.
    """
    if RunFolder(folder).exists():
        return f"{folder}: is the folder of a run; name another one for the export"
    if _is_model(folder):
        return f"{folder}: is an exported version; name the folder that its versions are in"
    others = [other for other in _MODELS if other != kind and list(folder.glob(f"*/{_MODELS[other]}"))]
    if others:
        return f"{folder}: holds versions for {others[0]}; name another folder for {kind}"
    return folder_fault(folder)


def _is_model(folder: Path) -> bool:
    return any((folder / name).is_file() for name in _MODELS.values())


def _is_number(name: str) -> bool:
    """Whether a name is a version to TensorFlow Serving, which counts in 64 bits."""
    return name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS
