"""An exported folder as something that answers: no model code, only what the SavedModel holds."""

import importlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_transformer.errors import ExportError
from tf_transformer.export.one_signature import OneByOne, loading, reason
from tf_transformer.manifest import Manifest, check_whole, newest_version, read_manifest
from tf_transformer.tasks.batches import at_once

EXAMPLES_AT_ONCE = 64


@dataclass(frozen=True)
class ExportedModel:
    """A SavedModel that was loaded.

    Args:
        folder: The version's folder.
        manifest: Its manifest.
        signatures: Its signatures by name.
    """

    folder: Path
    manifest: Manifest
    signatures: Any

    def rows(
        self,
        signature: str,
        examples: Sequence[Any],
        outputs: Sequence[str],
        beside: Mapping[str, Sequence[Any]] | None = None,
    ) -> list[tuple[Any, ...]]:
        """Runs a signature on examples.

        Args:
            signature: Its name.
            examples: Texts, or the bytes of images.
            outputs: Names of what it returns.
            beside: Its other arguments by name, text for each example; None for none.

        Returns:
            A row an example, in their order, with a plain value for each of ``outputs``.

        Raises:
            ExportError: When it cannot be run on them.
        """
        # Of similar length together, so that short ones need not wait for long ones; the longest first.
        order = sorted(range(len(examples)), key=lambda place: -len(examples[place]))
        batches = [
            order[start : start + EXAMPLES_AT_ONCE] for start in range(0, len(order), EXAMPLES_AT_ONCE)
        ]

        def answered(places: list[int]) -> list[tuple[Any, ...]]:
            with self._running(signature):
                function = self.signatures[signature]
                (name,) = function.structured_input_signature[1].keys() - (beside or {}).keys()
                columns = {name: examples, **(beside or {})}
                batch = {key: [column[place] for place in places] for key, column in columns.items()}
                found = function(**{key: tf.constant(values, tf.string) for key, values in batch.items()})
                return list(zip(*(_plain(found[output].numpy().tolist()) for output in outputs), strict=True))

        answers: list[tuple[Any, ...]] = [()] * len(examples)
        for places, rows in zip(batches, at_once(answered, batches), strict=True):
            for place, row in zip(places, rows, strict=True):
                answers[place] = row
        return answers

    def call(self, signature: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Runs a signature on arrays.

        Args:
            signature: Its name.
            arguments: Its arguments by name.

        Returns:
            What it returns, arrays by name.

        Raises:
            ExportError: When it cannot be run on them.
        """
        with self._running(signature):
            function = self.signatures[signature]
            specs = function.structured_input_signature[1]
            given = {name: tf.constant(value, specs[name].dtype) for name, value in arguments.items()}
            return {name: tensor.numpy() for name, tensor in function(**given).items()}

    @contextmanager
    def _running(self, signature: str) -> Iterator[None]:
        try:
            yield
        except (tf.errors.OpError, KeyError, TypeError, ValueError) as error:
            raise ExportError(f"{self.folder}: {signature} cannot be run ({reason(error)})") from None


def load_export(path: Path, *, at_need: bool = False) -> ExportedModel:
    """Loads the newest version under an exported folder, or the version that ``path`` is.

    Args:
        path: The folder.
        at_need: Load each signature when it is first run, and not all of them now: for who runs one, which
            is there sooner, but not for who runs many, since each has the variables once more.

    Raises:
        ExportError: When there is none, it is not whole, or TensorFlow cannot load it; of a signature that is
            loaded at need, when it is run.
    """
    folder = newest_version(path)
    manifest = read_manifest(folder)
    if manifest.kind != "savedmodel":
        raise ExportError(
            f"{folder}: is a model for {manifest.kind}; export the run without --format for this"
        )
    check_whole(folder, manifest)
    with loading(folder):
        for module in manifest.python_modules:
            importlib.import_module(module)
        signatures = OneByOne(folder) if at_need else tf.saved_model.load(str(folder)).signatures
    for name in manifest.signatures:
        if name not in signatures:
            raise ExportError(f"{folder}: has no signature {name}, which its manifest names")
    return ExportedModel(folder, manifest, signatures)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value
