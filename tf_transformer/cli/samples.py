"""Source sentences that an export is tried with."""

from contextlib import suppress

from tf_transformer.build import LoadedRun
from tf_transformer.build.data import build_normalizer, read_entry
from tf_transformer.errors import DataError

_MOST = 32


def sample_sources(loaded: LoadedRun) -> list[str]:
    """Some source sentences of the run's own data; fewer, from its samples, where the data is not at hand.

    Args:
        loaded: The run that is exported.
    """
    data = loaded.recipe.data
    entries = [*data.dev_sets.values(), *data.test_sets.values(), *data.train_entries]
    normalizer = build_normalizer(loaded.recipe.text)
    for entry in entries[:1]:
        with suppress(DataError, OSError):
            sources = read_entry(entry, normalizer).columns["source"]
            return list(sources[:: max(1, len(sources) // _MOST)][:_MOST])
    found: list[str] = []
    for path in sorted(loaded.folder.samples.glob("*.txt"))[-1:]:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        found += [line.removeprefix("source").strip() for line in lines if line.startswith("source ")]
    return found[:_MOST]
