"""What a run keeps of each validation on disk: a line of ``metrics.jsonl``, and translations to read."""

from typing import Any

from tf_transformer.evaluation import Outcome
from tf_transformer.run_folder import RunFolder
from tf_transformer.run_folder.samples import Answered, write_samples


class Records:
    """Writes ``metrics.jsonl`` and ``samples/``.

    Args:
        folder: The run.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder

    def on_validation(self, record: dict[str, Any], outcome: Outcome) -> None:
        """Appends the figures; writes the samples of this step as text."""
        self.folder.append_metrics(record)
        if outcome.samples:
            samples = [Answered(one.source, one.reference, one.output) for one in outcome.samples]
            write_samples(self.folder.samples, record["step"], samples)
