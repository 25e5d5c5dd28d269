"""From a run folder to a task that answers."""

from dataclasses import dataclass
from pathlib import Path

from tf_transformer.build.model import build_transformer, build_translator
from tf_transformer.checkpoints import AVERAGE, WEIGHTS, Arrays, Checkpoint, CheckpointStore, Index
from tf_transformer.errors import RunError
from tf_transformer.models import Transformer
from tf_transformer.recipe import Recipe, TranslateRecipe
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
        notes: What was odd about the folder, for a person.
    """

    folder: RunFolder
    recipe: TranslateRecipe
    task: Translator
    checkpoint: str
    step: int
    notes: tuple[str, ...] = ()


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
    assert isinstance(recipe, TranslateRecipe)  # there is no other yet
    store = CheckpointStore(folder.checkpoints)
    name, notes = _named(folder, store, recipe, checkpoint)
    found = store.read(name)
    preprocessor = Preprocessor.load(folder.tokenizer)
    check_vocabularies(found, preprocessor, folder.tokenizer)
    model = build_transformer(recipe, preprocessor, "float32")
    set_weights(model, found.weights, str(found.folder), preprocessor)
    task = build_translator(recipe, model, preprocessor)
    return LoadedRun(folder, recipe, task, found.name, int(found.state.get("step", 0)), notes)


def _named(
    folder: RunFolder, store: CheckpointStore, recipe: Recipe, wanted: str
) -> tuple[str, tuple[str, ...]]:
    """The checkpoint that is meant; what is best is read off the checkpoints where no index says it."""
    try:
        return store.resolve(wanted), ()
    except RunError as error:
        if wanted not in ("best", "last"):
            raise
        index, note = mended_index(folder, store, recipe)
        if note is None:
            raise error from None
        return store.resolve(wanted, index), (note,)


def mended_index(
    folder: RunFolder, store: CheckpointStore, recipe: Recipe, *, whole: bool = False
) -> tuple[Index, str | None]:
    """The index of a run's checkpoints; one made from the checkpoints where it is missing or broken.

    Args:
        folder: The run.
        store: Its checkpoints.
        recipe: Says how many validated ones are kept.
        whole: Also an index that names a checkpoint that is gone is broken.

    Returns:
        The index, and a line for a person where it was made anew. Nothing is written.

    Raises:
        RunError: When it is broken and no checkpoint tells what it is.
    """
    try:
        return (store.whole_index() if whole else store.index()), None
    except RunError as error:
        results = folder.results() or {}
        try:
            index = store.made_index(recipe.training.keep, results.get("checkpoint") == AVERAGE)
        except RunError as fault:
            raise RunError(f"{error}; {fault}") from None
        return index, f"{error}; made anew from the checkpoints beside it"


def check_vocabularies(checkpoint: Checkpoint, preprocessor: Preprocessor, tokenizer: Path) -> None:
    """Refuses a tokenizer whose ids are more or fewer than the rows of the checkpoint's embeddings.

    Args:
        checkpoint: Of a run.
        preprocessor: As read from the run.
        tokenizer: Where it was read from.

    Raises:
        RunError: Then; names both sizes, and the file of each.
    """
    for path, table in checkpoint.weights.items():
        layer = path.split("/")[-2] if path.endswith("embedding/table") and table.ndim == 2 else None
        if layer is None:
            continue
        is_source = layer.startswith("source")
        size = preprocessor.source_vocabulary_size if is_source else preprocessor.target_vocabulary_size
        if table.shape[0] != size:
            side = "shared" if preprocessor.shared else "source" if is_source else "target"
            raise RunError(
                f"{tokenizer / side}: the vocabulary has {size:,} pieces, and {checkpoint.folder / WEIGHTS} "
                f"was trained with {table.shape[0]:,}: they do not belong together"
            )


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
