"""What of a model of OpenNMT-tf stands beside its checkpoint: the YAML file of its training, vocabularies."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tf_transformer.errors import DataError
from tf_transformer.files import read_file

_FIRST = ["<blank>", "<s>", "</s>"]


@dataclass(frozen=True)
class Settings:
    """What a checkpoint does not say.

    Args:
        vocabularies: The vocabulary files of source and target.
        sentencepiece: The SentencePiece models whose pieces they list.
        num_heads: The number of heads; None for that of OpenNMT-tf's models of this width.
        activation: In the feed-forward layers.
        source_end: Whether sources end with the end token.
        decoding: Of our recipe.
    """

    vocabularies: tuple[Path, Path]
    sentencepiece: tuple[Path, Path]
    num_heads: int | None
    activation: str
    source_end: bool
    decoding: Mapping[str, Any]


def read_settings(
    config: Path,
    sentencepiece: tuple[Path | None, Path | None] = (None, None),
    num_heads: int | None = None,
    activation: str = "relu",
) -> Settings:
    """Reads the YAML file of a training.

    Args:
        config: What `onmt-main --config` was given; paths in it start at its folder or at the current one.
        sentencepiece: The models of source and target, in place of those that its tokenization names.
        num_heads: See `Settings`.
        activation: See `Settings`.

    Raises:
        DataError: If something is missing, or is not supported; names the key.
    """
    data, params = _sections(config)
    source, target = (
        _file(config, f"{side}_vocabulary", data.get(f"{side}_vocabulary")) for side in ("source", "target")
    )
    models = [
        given or _model_of(config, data, f"{side}_tokenization")
        for given, side in zip(sentencepiece, ("source", "target"), strict=True)
    ]
    return Settings(
        (source, target),
        (models[0], models[1]),
        num_heads,
        activation,
        _source_end(config, data),
        _decoding(params),
    )


def _sections(config: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        found = yaml.safe_load(read_file(config))
        return {**found["data"]}, {**(found.get("params") or {})}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        rule = "must be the YAML file that the model was trained with, with a section data"
        raise DataError(f"{config}: {rule}. Received: {' '.join(str(error).split())}") from None


def _file(config: Path, key: str, name: Any) -> Path:
    """A file that a configuration names."""
    places = [config.parent / str(name), Path(str(name))]
    for place in places:
        if name is not None and place.is_file():
            return place
    raise DataError(f"{config}: data.{key} must name a file that is there. Received: {name}")


def _model_of(config: Path, data: Mapping[str, Any], key: str) -> Path:
    """The SentencePiece model of a tokenization that does nothing but run it."""
    given = data.get(key)
    params = given.get("params") if isinstance(given, dict) else None
    if not isinstance(params, dict) or "sp_model_path" not in params:
        raise DataError(
            f"{config}: data.{key} must name an sp_model_path, or --sentencepiece the model of the text: "
            f"only text that was split by one can be read. Received: {given}"
        )
    others = {name: value for name, value in params.items() if name not in ("sp_model_path", "mode")}
    if others or params.get("mode", "none") != "none":
        shown = others or {"mode": params.get("mode")}
        raise DataError(
            f"{config}: data.{key} must have the mode none and no other params. Received: {shown}"
        )
    return _file(config, f"{key}.params.sp_model_path", params["sp_model_path"])


def _source_end(config: Path, data: Mapping[str, Any]) -> bool:
    """Whether sources end with the end token."""
    usual = {"source": {"start": False, "end": False}, "target": {"start": True, "end": True}}
    found = {}
    for side, controls in usual.items():
        key = f"{side}_sequence_controls"
        given = {**controls, **(data.get(key) or data.get("sequence_controls") or {})}
        found[side] = given
        fixed = ("start",) if side == "source" else ("start", "end")
        for name in fixed:
            if given[name] != controls[name]:
                value = str(controls[name]).lower()
                raise DataError(f"{config}: data.{key}.{name} must be {value}. Received: {given[name]}")
    return bool(found["source"]["end"])


def _decoding(params: Mapping[str, Any]) -> dict[str, Any]:
    """The recipe's section: OpenNMT-tf searches greedily, and without a penalty, unless told otherwise."""
    return {
        "beam": int(params.get("beam_width", 1)),
        "length_formula": "gnmt",
        "length_penalty": float(params.get("length_penalty", 0)),
        "max_length_factor": 0.0,
        "max_length_margin": int(params.get("maximum_decoding_length", 250)),
        "coverage_penalty": float(params.get("coverage_penalty", 0)),
    }


def read_pieces(file: Path) -> list[str]:
    """The pieces of a vocabulary file but for its three special ones.

    Raises:
        DataError: If it does not begin with those.
    """
    try:
        lines = read_file(file).decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise DataError(f"{file}: must be UTF-8") from None
    lines = [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]
    if lines[:3] != _FIRST:
        raise DataError(f"{file}: must begin with the lines {', '.join(_FIRST)}. Received: {lines[:3]}")
    return lines[3:]
