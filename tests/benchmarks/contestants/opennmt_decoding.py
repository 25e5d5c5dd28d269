"""OpenNMT-tf in its own environment: the graph and the batches of its own `infer`, kept from pass to pass.

Settings: those of `passes.py`; config (its YAML file, absolute paths in it), model (its model file), threads.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import opennmt
import tensorflow as tf
import yaml
from opennmt.config import load_model_from_file
from opennmt.utils.checkpoint import Checkpoint
from passes import compete
from slices import settings


class Decoder:
    """A model with a graph for one beam size.

    Args:
        given: The settings.
        size: The beam size.
    """

    def __init__(self, given: dict[str, Any], size: int) -> None:
        self.config = yaml.safe_load(Path(given["config"]).read_text(encoding="utf-8"))
        self.config.setdefault("params", {})["beam_width"] = size
        self.model = load_model_from_file(given["model"])
        self.model.initialize(self.config["data"], params=self.config["params"])
        Checkpoint.from_config(self.config, self.model).restore(weights_only=True)
        self.graph: Any = None

    def decode(self, lines: Sequence[str], scratch: Path) -> list[list[str]]:
        """The pieces of the best answers, in the order of lines."""
        scratch.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        given = self.config["infer"]
        dataset = self.model.examples_inputter.make_inference_dataset(
            str(scratch),
            given["batch_size"],
            batch_type=given["batch_type"],
            length_bucket_width=given["length_bucket_width"],
        )
        if self.graph is None:
            self.graph = tf.function(self.model.infer, input_signature=(dataset.element_spec,))
        answers: list[list[str]] = [[]] * len(lines)
        for features in dataset:
            found = {name: tensor.numpy() for name, tensor in self.graph(features).items()}
            for index, tokens, lengths in zip(found["index"], found["tokens"], found["length"], strict=True):
                answers[index] = [token.decode() for token in tokens[0][: lengths[0]]]
        return answers


def main() -> None:
    """Decodes until the race is over."""
    given = settings()
    tf.config.threading.set_intra_op_parallelism_threads(given["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(given["threads"])
    assert opennmt.__version__
    decoders = {size: Decoder(given, size) for size in (given["beam"], 1)}
    scratch = Path(given["answers"]).with_suffix(".lines")

    def decode(sentences: Sequence[dict[str, Any]], size: int) -> list[list[str]]:
        return decoders[size].decode([" ".join(sentence["pieces"]) for sentence in sentences], scratch)

    compete(given, decode)


if __name__ == "__main__":
    main()
