"""The greedy answers of OpenNMT-tf's own `infer`, with their log-probabilities.

Settings: config (the YAML file of the training), model (its model file), checkpoint, lines (a file of pieces
with spaces between them), number, answers (a JSON file).
"""

import json
import sys
from pathlib import Path
from typing import Any

import opennmt
import tensorflow as tf
import yaml
from opennmt.config import load_model_from_file


def main() -> None:
    """Restores the weights alone and answers in batches of 16."""
    given: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    config = yaml.safe_load(Path(given["config"]).read_text(encoding="utf-8"))
    params = {**config["params"], "beam_width": 1}
    model = load_model_from_file(given["model"])
    model.initialize(config["data"], params=params)
    model.create_variables()
    tf.train.Checkpoint(model=model).restore(given["checkpoint"]).expect_partial()
    assert opennmt.__version__
    dataset = model.examples_inputter.make_inference_dataset(given["lines"], 16, length_bucket_width=2)
    infer = tf.function(model.infer, input_signature=(dataset.element_spec,))
    answers: list[dict[str, Any]] = [{}] * given["number"]
    for features in dataset:
        found = {name: tensor.numpy() for name, tensor in infer(features).items()}
        for row, index in enumerate(found["index"]):
            length = int(found["length"][row][0])
            tokens = [token.decode() for token in found["tokens"][row][0][:length]]
            answers[index] = {"pieces": tokens, "log_probability": float(found["log_probs"][row][0])}
    Path(given["answers"]).write_text(json.dumps(answers), encoding="utf-8")


if __name__ == "__main__":
    main()
