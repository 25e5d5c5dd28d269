"""The weights of a folder of `transformers`: safetensors, which holds numbers and nothing else."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.errors import DataError

SAFETENSORS = "model.safetensors"
PICKLED = "pytorch_model.bin"

Array = np.ndarray[Any, Any]


def read_weights(folder: Path) -> dict[str, Array]:
    """All weights by name, float32.

    Raises:
        DataError: If there are none, they are pickled, or damaged; or the library that reads them is missing.
    """
    file = folder / SAFETENSORS
    if not file.is_file():
        raise DataError(_missing(folder))
    if find_spec("safetensors") is None:
        raise DataError(f"{file}: needs safetensors to be read: pip install 'tf-transformer[import]'")
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        found = load_file(file)
    except (SafetensorError, OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(f"{file}: must be a file of safetensors. Received: {error}") from None
    return {name: np.asarray(array, np.float32) for name, array in found.items()}


def _missing(folder: Path) -> str:
    if (folder / PICKLED).is_file():
        return (
            f"{folder / PICKLED}: is a pickle, which can run any code when it is read. Convert it where you "
            f'trust it: python -c "from transformers import MarianMTModel as M; '
            f"M.from_pretrained('{folder}').save_pretrained('{folder}', safe_serialization=True)\""
        )
    return f"{folder}: must hold {SAFETENSORS}. Received: no such file"
