"""A trained run as an export, written and verified once for all tests."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest


class Exported(NamedTuple):
    """What ``export_saved_model`` gave."""

    folder: Path
    version: Path
    manifest: Any


@pytest.fixture(scope="session")
def exported(
    translator: Any, reversal_pairs: list[tuple[str, str]], tmp_path_factory: pytest.TempPathFactory
) -> Exported:
    """The reversal task, exported."""
    from tf_transformer.export.saved_model import export_saved_model

    folder = tmp_path_factory.mktemp("export") / "reversal"
    samples = [source for source, _ in reversal_pairs[:23]]
    facts = {"checkpoint": "step-00000600", "step": 600, "versions": {"tensorflow": "2"}}
    return Exported(folder, *export_saved_model(translator, folder, samples=samples, facts=facts))
