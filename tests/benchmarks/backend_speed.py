"""How fast the model core trains on a Keras backend: one compiled update, random ids, no data pipeline.

    KERAS_BACKEND=jax python tests/benchmarks/backend_speed.py --preset base big --precision mixed_bfloat16

needs Keras and the backend alone (`jax[cuda12]` on a machine with a GPU); under JAX and PyTorch it imports no
TensorFlow. It trains with dropout, smoothed cross-entropy and Adam; most of its time is compilation.

Under JAX `--devices 8` spreads the rows of a batch over eight devices, and `--model-parallel 2` splits the
weights of each model over two of them; XLA_FLAGS=--xla_force_host_platform_device_count=8 makes eight devices
of a CPU, to try it out.

How to read it:

- compile: from the first call to the end of the first update, once for each shape.
- tokens/s: target tokens, none of them padding; the median of a few measurements of `--updates` updates each,
  and their range.
- TFLOP/s: the products of matrices alone, 2 for each multiplication and addition, three times the forward
  path's for forward and backward; attention is counted over the whole square. Norms, softmax, dropout and
  Adam take time and count nothing.
- of matmul: its share of what one product of two square matrices (`--matmul`) reached in the same precision.
- of peak: its share of what the chip's data sheet promises for dense bfloat16 products, which no program
  reaches (`--peak-tflops` for a chip that is not in the table, or for another format).
"""

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # where the package is not installed, it is beside us
os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from backend_updates import UPDATES, Batch, Update, chip
from keras import ops

from tf_transformer.models import Transformer, layout_map
from tf_transformer.presets import MODEL_PRESETS

PEAK_TFLOPS = {
    "H200 NVL": 835,
    "H200": 989,
    "H100 NVL": 835,
    "H100 PCIe": 756,
    "H100": 989,
    "B200": 2250,
    "A100": 312,
    "L40S": 362,
    "L4": 121,
}
"""Dense bfloat16 products, by a part of the chip's name; the first that fits."""
MEASUREMENTS, MATMULS = 3, 10


@dataclass(frozen=True)
class Shape:
    """A batch: rows, and the lengths of both sides."""

    rows: int
    source: int
    target: int


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", nargs="+", choices=sorted(MODEL_PRESETS), default=["base"])
    parser.add_argument("--precision", nargs="+", default=["mixed_bfloat16"], metavar="POLICY")
    parser.add_argument("--rows", type=int, default=256)
    parser.add_argument("--source-length", type=int, default=32)
    parser.add_argument("--target-length", type=int, default=32)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--updates", type=int, default=20, help="updates of a measurement")
    parser.add_argument("--devices", type=int, default=1, help="that share a batch, under JAX")
    parser.add_argument("--model-parallel", type=int, default=1, metavar="N", help="of them share a model")
    parser.add_argument("--matmul", type=int, help="side of that product; by default 8192, on a CPU 1024")
    parser.add_argument("--peak-tflops", type=float, help="of the chip, for this precision")
    parser.add_argument("--json", type=Path, help="write all figures there")
    given = parser.parse_args()
    if given.devices % given.model_parallel or given.rows % (given.devices // given.model_parallel):
        parser.error("--model-parallel must divide --devices, and the number of models --rows")
    if given.devices > 1 and keras.backend.backend() != "jax":
        parser.error("--devices is for KERAS_BACKEND=jax")
    return given


def spread(devices: int, model_parallel: int) -> None:
    """Has models and batches made from now on spread over devices."""
    if devices == 1:
        return
    names = np.array(keras.distribution.list_devices()[:devices])
    if len(names) < devices:
        raise SystemExit(f"there are {len(names)} devices, not {devices}")
    shape = (devices // model_parallel, model_parallel)
    mesh = keras.distribution.DeviceMesh(shape, ("batch", "model"), names.reshape(shape))
    split = keras.distribution.ModelParallel(layout_map=layout_map(mesh), batch_dim_name="batch")
    keras.distribution.set_distribution(split)


def megaflop_per_update(preset: str, vocabulary: int, shape: Shape) -> float:
    """Multiplications and additions in the products of one update, in 10^6."""
    sizes = MODEL_PRESETS[preset]
    width, inner, layers = sizes["hidden_dim"], sizes["intermediate_dim"], sizes["num_layers"]
    projections, feed_forward = 4 * 2 * width**2, 2 * 2 * width * inner
    encoder = projections + feed_forward + 4 * shape.source * width
    # Of the attention to the source, query and output belong to the target's positions, key and value not.
    decoder = 1.5 * projections + feed_forward + 4 * (shape.target + shape.source) * width
    source = layers * (encoder + 0.5 * projections)
    target = layers * decoder + 2 * width * vocabulary
    return 3 * shape.rows * (shape.source * source + shape.target * target) / 1e6


def random_batch(vocabulary: int, shape: Shape) -> Batch:
    """Ids without padding, the same for every update."""
    random = np.random.default_rng(1)
    lengths = {"source_ids": shape.source, "target_ids": shape.target, "labels": shape.target}
    batch = {
        name: ops.convert_to_tensor(random.integers(4, vocabulary, (shape.rows, length), dtype=np.int32))
        for name, length in lengths.items()
    }
    split = keras.distribution.distribution()
    if split is None:
        return batch
    return {
        name: keras.distribution.distribute_tensor(ids, split.get_data_layout(ids.shape))
        for name, ids in batch.items()
    }


def peak_tflops(name: str, precision: str) -> float | None:
    """What the data sheet promises, where it is known here."""
    if precision != "mixed_bfloat16":
        return None
    return next((peak for part, peak in PEAK_TFLOPS.items() if part.lower() in name.lower()), None)


def seconds_of(update: Update, batch: Batch, count: int) -> float:
    """The time of some updates, to the end of the last one; a loss that is no number is refused."""
    begin = time.perf_counter()
    for _ in range(count):
        loss = update(batch)
    value = float(loss)  # waits for the device
    seconds = time.perf_counter() - begin
    if not np.isfinite(value):
        raise SystemExit(f"the loss is {value}: nothing that is measured means anything")
    return seconds


def matmul_tflops(size: int, precision: str) -> float:
    """What the device reaches in one large product, in the policy's compute format."""
    values = np.random.default_rng(1).standard_normal((size, size), dtype=np.float32)
    matrix = ops.cast(values, keras.DTypePolicy(precision).compute_dtype)
    float(ops.matmul(matrix, matrix)[0, 0])  # compiles both
    begin = time.perf_counter()
    for _ in range(MATMULS):
        product = ops.matmul(matrix, matrix)
    float(product[0, 0])  # waits for the device, which takes them in order
    return 2 * size**3 * MATMULS / (time.perf_counter() - begin) / 1e12


@dataclass(frozen=True)
class Figures:
    """What was measured of one model in one precision."""

    preset: str
    precision: str
    parameters: int
    compile_seconds: float
    update_seconds: float
    tokens_per_second: float
    slowest: float
    fastest: float
    tflops: float
    matmul_tflops: float
    share_of_matmul: float
    share_of_peak: float | None


def measure(
    preset: str, precision: str, shape: Shape, given: argparse.Namespace, peak: float | None
) -> Figures:
    """Builds a model, compiles its update, and times it."""
    keras.utils.clear_session()
    model = Transformer(
        given.vocabulary, **MODEL_PRESETS[preset], dropout=given.dropout, dtype=precision, seed=1
    )
    optimizer = keras.optimizers.Adam(1e-4, beta_2=0.98)
    optimizer.build(model.trainable_variables)
    update = UPDATES[keras.backend.backend()](model, optimizer)
    batch = random_batch(given.vocabulary, shape)
    compiled = seconds_of(update, batch, 1)
    seconds_of(update, batch, 2)
    times = [seconds_of(update, batch, given.updates) / given.updates for _ in range(MEASUREMENTS)]
    tokens, middle = shape.rows * shape.target, statistics.median(times)
    tflops = megaflop_per_update(preset, given.vocabulary, shape) / middle / 1e6
    ceiling = given.devices * matmul_tflops(given.matmul or (1024 if chip() == "cpu" else 8192), precision)
    return Figures(
        preset=preset,
        precision=precision,
        parameters=model.count_params(),
        compile_seconds=compiled,
        update_seconds=middle,
        tokens_per_second=tokens / middle,
        slowest=tokens / max(times),
        fastest=tokens / min(times),
        tflops=tflops,
        matmul_tflops=ceiling,
        share_of_matmul=tflops / ceiling,
        share_of_peak=tflops / (given.devices * peak) if peak else None,
    )


def line_of(found: Figures) -> str:
    """A measurement for people."""
    peak = "" if found.share_of_peak is None else f", {found.share_of_peak:.1%} of peak"
    return (
        f"{found.preset} {found.precision}: {found.parameters:,} parameters, "
        f"compile {found.compile_seconds:.1f} s, {found.update_seconds * 1e3:.1f} ms an update, "
        f"{found.tokens_per_second:,.0f} tokens/s ({found.slowest:,.0f} to {found.fastest:,.0f}), "
        f"{found.tflops:.3g} TFLOP/s, {found.share_of_matmul:.1%} of matmul ({found.matmul_tflops:.3g}){peak}"
    )


def measurements(given: argparse.Namespace, name: str) -> Iterator[Figures]:
    """Every preset in every precision, each printed when it is done."""
    shape = Shape(given.rows, given.source_length, given.target_length)
    for preset in given.preset:
        for precision in given.precision:
            peak = given.peak_tflops or peak_tflops(name, precision)
            found = measure(preset, precision, shape, given, peak)
            print(line_of(found), flush=True)
            yield found


def main() -> None:
    """Measures and prints."""
    given, name = arguments(), chip()
    spread(given.devices, given.model_parallel)
    backend = f"{keras.backend.backend()}, Keras {keras.version()}"
    print(
        f"{given.devices} x {name}; {backend}; {given.rows} rows of {given.source_length} + "
        f"{given.target_length} tokens, vocabulary {given.vocabulary}, dropout {given.dropout}",
        flush=True,
    )
    rows = [asdict(figures) for figures in measurements(given, name)]
    if given.json:
        settings = {key: value for key, value in vars(given).items() if not isinstance(value, Path)}
        record = {"chip": name, "backend": backend, "settings": settings, "figures": rows}
        given.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
