"""What a run keeps of each validation on disk: a line of ``metrics.jsonl``, and translations to read."""

from typing import Any

from tf_transformer.evaluation import Outcome
from tf_transformer.files import write_text
from tf_transformer.run_folder import RunFolder


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
            blocks = [
                f"source     {s.source}\nreference  {s.reference}\noutput     {s.output}\n"
                for s in outcome.samples
            ]
            write_text(self.folder.samples / f"step-{record['step']:08d}.txt", "\n".join(blocks))
