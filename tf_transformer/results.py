"""The final figures of a run, with all that makes them comparable: ``results.json``."""

import platform
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_transformer.files import sha256_of
from tf_transformer.processes import cores
from tf_transformer.recipe import Recipe, portable, recipe_digest
from tf_transformer.run_folder import RunFolder, versions


def final_results(
    folder: RunFolder,
    recipe: Recipe,
    metrics: Mapping[str, float],
    signatures: Mapping[str, str],
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """The content of ``results.json``.

    Args:
        folder: The run.
        recipe: As resolved.
        metrics: Final figures, such as ``test_bleu``.
        signatures: sacreBLEU's signatures by figure.
        facts: What the training knows: step, checkpoint, seconds, why it ended.
    """
    return {
        "metrics": dict(metrics),
        "signatures": dict(signatures),
        **facts,
        "seed": recipe.training.seed,
        "precision": recipe.training.precision,
        "recipe_sha256": recipe_digest(recipe),
        "data_sha256": {record.relative: record.sha256 for record in recipe.files},
        "tokenizer_sha256": {
            str(path.relative_to(folder.tokenizer)): sha256_of(path)
            for path in sorted(folder.tokenizer.rglob("*"))
            if path.is_file()
        },
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "versions": versions(),
        "machine": machine(),
        "recipe": portable(recipe),
    }


def commit() -> str | None:
    """The commit of the checkout that this package runs from; None for an installed one."""
    with suppress(OSError, subprocess.CalledProcessError):
        here = Path(__file__).parent
        command = ["git", "-C", str(here), "ls-files", "--error-unmatch", Path(__file__).name]
        subprocess.run(command, check=True, capture_output=True)
        head = subprocess.run(
            ["git", "-C", str(here), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
        )
        return head.stdout.strip()
    return None


def machine() -> dict[str, Any]:
    """What the run was computed on."""
    gpus = [tf.config.experimental.get_device_details(gpu) for gpu in tf.config.list_physical_devices("GPU")]
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": cores(),
        "gpus": [details.get("device_name", "unknown") for details in gpus],
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").split("\n"):
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
