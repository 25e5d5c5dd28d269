"""What a validation leaves on disk."""

import json
import math
from pathlib import Path

from tf_transformer.callbacks.records import Records
from tf_transformer.evaluation import Outcome, Sample
from tf_transformer.run_folder import RunFolder


def test_a_line_and_a_file_of_samples_for_each_validation(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    records = Records(RunFolder(tmp_path))
    samples = (Sample("a b", "x y", "x"), Sample("c", "z", ""))
    records.on_validation({"step": 30, "loss": 2.5, "val_loss": math.nan}, Outcome({}, samples))
    records.on_validation({"step": 60, "loss": 1.5}, Outcome({}))
    lines = (tmp_path / "metrics.jsonl").read_text().split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"step": 30, "loss": 2.5, "val_loss": None},
        {"step": 60, "loss": 1.5},
    ]
    assert [path.name for path in (tmp_path / "samples").iterdir()] == ["step-00000030.txt"]
    assert (tmp_path / "samples" / "step-00000030.txt").read_text() == (
        "source     a b\nreference  x y\noutput     x\n\nsource     c\nreference  z\noutput     \n"
    )
