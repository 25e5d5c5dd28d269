"""``manifest.json`` of an exported model: what it is, what it needs, and that it was verified."""

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tf_transformer.errors import ExportError
from tf_transformer.files import parse_json, write_json

MANIFEST = "manifest.json"
MANIFEST_FORMAT = 1


class Manifest(BaseModel):
    """The content of ``DIR/<version>/manifest.json``.

    Keys that a newer package added are kept out of sight; a newer *format* is refused.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int = Field(MANIFEST_FORMAT, description="Version of this file's layout.")
    task: str = Field(description="The recipe's task, such as `translate`.")
    labels: tuple[str, ...] = Field((), description="Class names in the order of the probabilities.")
    signatures: tuple[str, ...] = Field(description="Names of the model's signatures.")
    source_vocabulary_size: int = Field(description="Ids that the source side knows.")
    target_vocabulary_size: int = Field(description="Ids that the target side knows.")
    custom_ops: tuple[str, ...] = Field((), description="Ops that core TensorFlow does not have.")
    # A list of names, not any name: a file from elsewhere must not say what is imported here.
    python_modules: tuple[Literal["tensorflow_text"], ...] = Field(
        (), description="Modules to import first, for those ops."
    )
    normal_form: Literal["nfc", "nfkc"] | None = Field(None, description="Unicode normal form of its text.")
    lowercase: bool = Field(False, description="Whether its text is lower-cased.")
    tokenize: str = Field("13a", description="sacreBLEU's tokenizer that its recipe measures with.")
    checkpoint: str = Field("", description="Name of the checkpoint that was exported.")
    step: int = Field(0, description="Updates behind that checkpoint.")
    recipe_sha256: str = Field("", description="Digest of the resolved recipe.")
    versions: dict[str, str] = Field({}, description="Package versions that wrote the model.")
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
        folder: ``DIR/<version>``, beside ``saved_model.pb``.

    Raises:
        ExportError: When it is missing, cut, not a manifest, or of a newer format.
    """
    path = folder / MANIFEST
    try:
        content = parse_json(path.read_bytes())
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
