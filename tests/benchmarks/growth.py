"""How time and memory of an update grow: with rows, length, vocabulary, depth and width.

    python tests/benchmarks/growth.py [--updates 3] [--rounds 2] [--json growth.json]
    python tests/benchmarks/growth.py --json growth.json --page [--prepared FILE] [--devices FILE]

Each setting is measured in a process of its own: one update of an encoder-decoder as the trainer does it, on
random ids, the median over some updates of the fastest round; and how far the process grew beyond what it had
before the model was made. The settings change one thing at a time from one that is named first. To these
figures a model is fitted, all coefficients of which are of at least 0 and mean something:

    seconds = start + products / rate of products + attention / rate of attention
              + logits / rate of logits + weights / rate of weights

- products: multiplications and additions of all layers, three times those of the way forward;
- attention: the same of scores and weighted sums, which lengths square;
- logits: the same of the last layer, in chunks of positions;
- weights: how many there are, which the optimizer goes through once an update.

Memory has the same terms: what is kept of all layers for the way back, what attention keeps, one chunk of
logits, and weights with their moments. What the fit is off by is printed for each setting.

`--page` prints the same as Markdown, with what `prepare_scale.py` and `devices_speed.py --json` have written,
and what follows for GPUs on paper.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from growth_page import Fits, page

CHUNK = 1024


@dataclass(frozen=True)
class Setting:
    """What an update is of.

    Attributes:
        rows: Pairs in it.
        length: Positions of each side.
        vocabulary: Ids.
        layers: Layers of the encoder, and of the decoder.
        width: Of the model; four times that inside its feed-forward layers.
    """

    rows: int = 128
    length: int = 32
    vocabulary: int = 8000
    layers: int = 4
    width: int = 128

    @property
    def heads(self) -> int:
        return max(self.width // 32, 1)

    @property
    def weights(self) -> float:
        encoder, decoder = 4 + 8, 8 + 8  # in squares of the width: attention and a feed-forward layer
        return self.layers * (encoder + decoder) * self.width**2 + self.vocabulary * self.width

    def work(self) -> list[float]:
        """What the seconds are a sum of: see above."""
        positions, square = self.rows * self.length, self.rows * self.length**2
        products = 6 * positions * self.layers * (12 + 16) * self.width**2
        attention = 6 * 3 * 2 * square * self.layers * self.width
        logits = 8 * positions * self.vocabulary * self.width  # once more forward, for the way back
        return [1.0, products, attention, logits, self.weights]

    def kept(self) -> list[float]:
        """What the bytes are a sum of."""
        positions, square = self.rows * self.length, self.rows * self.length**2
        layers = positions * self.layers * self.width
        return [
            1.0,
            layers,
            square * self.layers * self.heads,
            min(CHUNK, positions) * self.vocabulary,
            self.weights,
        ]


BASE = Setting()
SETTINGS = (
    BASE,
    *(replace(BASE, rows=rows) for rows in (16, 64, 256, 512)),
    *(replace(BASE, length=length) for length in (8, 16, 64, 128)),
    *(replace(BASE, vocabulary=vocabulary) for vocabulary in (1000, 4000, 16000, 32000)),
    *(replace(BASE, layers=layers) for layers in (1, 2, 8)),
    *(replace(BASE, width=width) for width in (64, 256, 512)),
    Setting(rows=32, length=64, vocabulary=16000, layers=6, width=256),
    Setting(rows=64, length=128, vocabulary=4000, layers=2, width=256),
)
TERMS = ("start", "products", "attention", "logits", "weights")


def measure(setting: Setting, updates: int, rounds: int, precision: str) -> dict[str, float]:
    """Seconds and bytes of an update, in this very process."""
    import keras
    import tensorflow as tf

    from tf_transformer.models import Transformer
    from tf_transformer.optimizers import Adam
    from tf_transformer.training_step import TrainingModel

    keras.utils.set_random_seed(1)
    before = resident()
    model = Transformer(
        setting.vocabulary,
        num_layers=setting.layers,
        hidden_dim=setting.width,
        num_heads=setting.heads,
        intermediate_dim=4 * setting.width,
        dropout=0.1,
        norm="pre",
        dtype=precision,
    )
    trained = TrainingModel(model, 0.1, loss_chunk=CHUNK)
    trained.compile(optimizer=Adam(learning_rate=1e-4))
    shape = (setting.rows, setting.length)
    draw = np.random.default_rng(1)
    source, target = (draw.integers(4, setting.vocabulary, shape).astype(np.int32) for _ in range(2))
    batch = ({"source_ids": source, "target_ids": target}, target)
    data = tf.data.Dataset.from_tensors(batch).cache().repeat()
    trained.fit(data, steps_per_epoch=2, verbose=0, shuffle=False)
    seconds = []
    for _ in range(rounds):
        clock = Clock()
        trained.fit(data, steps_per_epoch=updates, verbose=0, shuffle=False, callbacks=[clock.callback()])
        seconds.append(statistics.median(clock.seconds))
    return {
        "seconds": min(seconds),
        "bytes": resident(highest=True) - before,
        "weights": model.count_params(),
    }


class Clock:
    """The seconds of each update."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def callback(self) -> object:
        """What `fit` calls around an update."""
        import keras

        started = [0.0]
        return keras.callbacks.LambdaCallback(
            on_train_batch_begin=lambda batch, logs: started.__setitem__(0, time.perf_counter()),
            on_train_batch_end=lambda batch, logs: self.seconds.append(time.perf_counter() - started[0]),
        )


def resident(highest: bool = False) -> int:
    """Bytes of this process, now or at their highest."""
    name = "VmHWM" if highest else "VmRSS"
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def fitted(terms: list[list[float]], values: list[float]) -> list[float]:
    """Coefficients of at least 0 whose sums come relatively nearest to values: those below go one by one."""
    rows = np.array(terms) / np.array(values)[:, None]
    used = list(range(rows.shape[1]))
    while True:
        scale = rows[:, used].max(axis=0)
        found = np.linalg.lstsq(rows[:, used] / scale, np.ones(len(values)), rcond=None)[0] / scale
        if (found >= 0).all():
            break
        del used[int(np.argmin(found * scale))]
    whole = np.zeros(rows.shape[1])
    whole[used] = found
    return [float(value) for value in whole]


def fits_of(settings: Sequence[Setting], figures: Sequence[dict[str, float]]) -> Fits:
    """Fits seconds and bytes."""
    terms = {"seconds": [one.work() for one in settings], "bytes": [one.kept() for one in settings]}
    values = {name: [each[name] for each in figures] for name in terms}
    found = {name: fitted(terms[name], values[name]) for name in terms}
    apart = {
        name: [
            float(np.dot(found[name], term)) / value - 1
            for term, value in zip(terms[name], values[name], strict=True)
        ]
        for name in terms
    }
    return Fits(found, apart)


def report(settings: Sequence[Setting], figures: Sequence[dict[str, float]]) -> Iterator[str]:
    """The fits, and what they leave over for each setting."""
    fits = fits_of(settings, figures)
    for name, coefficients in fits.coefficients.items():
        shown = [f"{term} {value:.3g}" for term, value in zip(TERMS, coefficients, strict=True)]
        yield f"{name} = sum of {', '.join(shown)} times what there is of each"
    head = ("rows", 5), ("length", 7), ("ids", 7), ("layers", 7), ("width", 6), ("ms", 9), ("fit", 7)
    yield "".join(f"{name:>{width}}" for name, width in (*head, ("MiB", 8), ("fit", 7)))
    for setting, each, *apart in zip(settings, figures, *fits.apart.values(), strict=True):
        yield (
            f"{setting.rows:>5}{setting.length:>7}{setting.vocabulary:>7}{setting.layers:>7}{setting.width:>6}"
            f"{each['seconds'] * 1e3:>9,.0f}{apart[0]:>+7.0%}{each['bytes'] / 2**20:>8,.0f}{apart[1]:>+7.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--precision", default="float32", choices=["float32", "mixed_bfloat16"])
    parser.add_argument("--json", type=Path, help="where the figures go; what is there is not measured again")
    parser.add_argument("--page", action="store_true", help="print Markdown")
    parser.add_argument("--prepared", type=Path, help="for it: prepare_scale.json")
    parser.add_argument("--devices", type=Path, help="for it: what devices_speed.py --json has written")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        setting = Setting(**json.loads(given.one))
        print(json.dumps(measure(setting, given.updates, given.rounds, given.precision)))
        return
    known = json.loads(given.json.read_text()) if given.json is not None and given.json.exists() else {}
    for setting in SETTINGS:
        name = json.dumps(asdict(setting))
        if name not in known:
            options = [
                "--updates",
                str(given.updates),
                "--rounds",
                str(given.rounds),
                "--precision",
                given.precision,
            ]
            command = [sys.executable, __file__, *options, "--one", name]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            known[name] = json.loads(done.stdout.splitlines()[-1])
            print(f"{name}: {known[name]}", file=sys.stderr, flush=True)
            if given.json is not None:
                given.json.write_text(json.dumps(known, indent=2) + "\n")
    figures = [known[json.dumps(asdict(setting))] for setting in SETTINGS]
    if given.page:
        others = [json.loads(path.read_text()) if path else [] for path in (given.prepared, given.devices)]
        print("\n".join(page(SETTINGS, figures, fits_of(SETTINGS, figures), *others)))
    else:
        print("\n".join(report(SETTINGS, figures)))


if __name__ == "__main__":
    main()
