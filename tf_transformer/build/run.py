"""From a run folder to a task that answers."""

from dataclasses import dataclass
from pathlib import Path

from tf_transformer.build.model import build_transformer, build_translator
from tf_transformer.checkpoints import Arrays, CheckpointStore
from tf_transformer.errors import RunError
from tf_transformer.models import Transformer
from tf_transformer.recipe.schema import Recipe
from tf_transformer.run_folder import RunFolder
from tf_transformer.tasks.translate import Translator
from tf_transformer.text import Preprocessor


@dataclass(frozen=True)
class LoadedRun:
    """A run that was read: its recipe, its task, and which checkpoint that is.

    Args:
        folder: Where it lies.
        recipe: As resolved when it was trained.
        task: In float32, with the checkpoint's weights.
        checkpoint: The checkpoint's name, such as ``step-00001000`` or ``average``.
        step: Updates behind it.
    """

    folder: RunFolder
    recipe: Recipe
    task: Translator
    checkpoint: str
    step: int


def load(path: str | Path, checkpoint: str = "best") -> Translator:
    """The trained task of a run.

    Args:
        path: A run folder.
        checkpoint: ``"best"``, ``"last"``, ``"average"`` or a step.

    Raises:
        RunError: When there is no such run or checkpoint, or it is damaged.

    Example:

    >>> import tf_transformer
    >>> tf_transformer.load("runs/quickstart").translate(["I love you."])  # doctest: +SKIP
    ["Je t'aime."]
    """
    return load_run(Path(path), checkpoint).task


def load_run(path: Path, checkpoint: str = "best") -> LoadedRun:
    """Reads a run and one of its checkpoints.

    Raises:
        RunError: When there is no such run or checkpoint, or it is damaged.
    """
    folder = RunFolder.open(path)
    recipe = folder.recipe()
    store = CheckpointStore(folder.checkpoints)
    found = store.read(store.resolve(checkpoint))
    preprocessor = Preprocessor.load(folder.tokenizer)
    model = build_transformer(recipe, preprocessor, "float32")
    set_weights(model, found.weights, str(found.folder), preprocessor)
    task = build_translator(recipe, model, preprocessor)
    return LoadedRun(folder, recipe, task, found.name, int(found.state.get("step", 0)))


def set_weights(model: Transformer, weights: Arrays, where: str, preprocessor: Preprocessor) -> None:
    """Puts a checkpoint's weights into a model, by variable path.

    Raises:
        RunError: When a weight is missing, or has another shape; names both shapes, and both vocabulary
            sizes where the vocabulary is what changed.
    """
    variables = {variable.path: variable for variable in model.weights}
    for path, variable in variables.items():
        if path not in weights:
            raise RunError(f"{where}: has no weight {path}: it belongs to a model of another recipe")
        if tuple(weights[path].shape) != tuple(variable.shape):
            sizes = f"{preprocessor.source_vocabulary_size} and {preprocessor.target_vocabulary_size}"
            raise RunError(
                f"{where}: {path} has shape {tuple(weights[path].shape)}, and recipe and tokenizer ask for "
                f"{tuple(variable.shape)} (vocabularies of {sizes}): they do not belong together"
            )
    extra = sorted(set(weights) - set(variables))
    if extra:
        raise RunError(f"{where}: has weights that the recipe's model lacks, such as {extra[0]}")
    for path, variable in variables.items():
        variable.assign(weights[path])
