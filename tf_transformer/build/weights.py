"""Weights of a checkpoint into a model, where they belong together."""

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from tf_transformer.checkpoints import WEIGHTS, Arrays, Checkpoint
from tf_transformer.errors import RunError
from tf_transformer.run_folder import RunFolder


def vocabulary_tables(weights: Arrays) -> Iterator[tuple[str, str]]:
    """The paths of tables with a row for each token, each with the name of its layer."""
    for path, table in weights.items():
        if path.endswith("embedding/table") and table.ndim == 2:
            yield path, path.split("/")[-2]


def check_vocabularies(
    checkpoint: Checkpoint, tokenizer: Path, side_of: Callable[[str], tuple[str, int]]
) -> None:
    """Refuses a tokenizer whose ids are more or fewer than the rows of the checkpoint's embeddings.

    Args:
        checkpoint: Of a run.
        tokenizer: Where its tokenizers were read from.
        side_of: The name of an embedding layer to the folder of its tokenizer, and the tokenizer's size.

    Raises:
        RunError: Then; names both sizes, and the file of each.
    """
    for path, layer in vocabulary_tables(checkpoint.weights):
        side, size = side_of(layer)
        table = checkpoint.weights[path]
        if table.shape[0] != size:
            raise RunError(
                f"{tokenizer / side}: the vocabulary has {size:,} pieces, and {checkpoint.folder / WEIGHTS} "
                f"was trained with {table.shape[0]:,}: they do not belong together"
            )


def check_tokenizer(checkpoint: Checkpoint, folder: RunFolder) -> None:
    """Refuses a run whose tokenizer is another one than its checkpoint was trained with.

    Its ids may be as many, and mean other pieces. A checkpoint of an older version does not say.

    Raises:
        RunError: Then.
    """
    known = checkpoint.state.get("side")
    if known is not None and known != folder.tokenizer_digest():
        raise RunError(
            f"{folder.tokenizer}: is not what {checkpoint.folder} was trained with: it is of another run, or "
            "was changed, and its ids mean other pieces. Put the run's own back"
        )


def set_weights(
    model: Any, weights: Arrays, where: str, sizes: str = "", fresh: Collection[str] = ()
) -> None:
    """Puts a checkpoint's weights into a model, by variable path.

    Args:
        model: Takes them.
        weights: By path.
        where: Where they were read, for a message.
        sizes: What beside the recipe decides the shapes, for a message.
        fresh: Paths of those that the model keeps as they are.

    Raises:
        RunError: When a weight is missing, or has another shape; names both shapes.
    """
    variables = {variable.path: variable for variable in model.weights if variable.path not in fresh}
    for path, variable in variables.items():
        if path not in weights:
            raise RunError(f"{where}: has no weight {path}: it belongs to a model of another recipe")
        if tuple(weights[path].shape) != tuple(variable.shape):
            raise RunError(
                f"{where}: {path} has shape {tuple(weights[path].shape)}, and recipe and tokenizer ask for "
                f"{tuple(variable.shape)}{f' ({sizes})' if sizes else ''}: they do not belong together"
            )
    extra = sorted(set(weights) - set(variables))
    if extra:
        raise RunError(f"{where}: has weights that the recipe's model lacks, such as {extra[0]}")
    for path, variable in variables.items():
        variable.assign(weights[path])
