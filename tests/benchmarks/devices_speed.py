"""What it costs to spread updates over devices, hosts or pieces, on the cores of one machine.

    python tests/benchmarks/devices_speed.py --rounds 5 --seconds 10

trains a Transformer (4 + 4 layers, width 128, 256 inside, 4 heads, 8 000 pieces, no dropout) on batches of
one shape, made up, in a process for each way and round, the ways in turns. Nothing else should run meanwhile.

How to read it: tokens/s are real target tokens, the median over the rounds and their range; a ratio is the
median of the ratios within a round, to the first way. All ways have the same two cores and do the same
updates. "2 devices" and "2 hosts" each compute half of an update and add up gradients; on one machine that
can only cost, and it says what the exchange costs, not what more machines would bring. The hosts talk over
the loopback network.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

WAYS: dict[str, dict[str, Any]] = {
    "1 device, 2 threads": {"threads": 2},
    "1 device, 1 thread": {"threads": 1},
    "2 devices": {"threads": 2, "devices": "cpu:2"},
    "2 hosts, 1 thread each": {"threads": 1, "hosts": 2},
    "2 pieces": {"threads": 2, "pieces": 2},
    "8 pieces": {"threads": 2, "pieces": 8},
}
LENGTH, PIECES = 32, 8000


def work(way: dict[str, Any], batch_tokens: int, seconds: float) -> dict[str, float]:
    """Trains one way, in this process; tokens a second, and MB that were taken at most."""
    import resource

    import keras
    import numpy as np
    import tensorflow as tf

    from tf_transformer.cluster import find_cluster, meet
    from tf_transformer.devices import open_devices
    from tf_transformer.models import Transformer
    from tf_transformer.optimizers import Adam
    from tf_transformer.presets import MODEL_PRESETS
    from tf_transformer.replicas import Shares
    from tf_transformer.training_step import TrainingModel

    cluster = find_cluster(os.environ)
    if cluster is not None:
        meet(cluster, {}, print)
    devices = open_devices(way.get("devices", "auto"), cluster)
    rows = batch_tokens // LENGTH
    with devices.scope():
        model = Transformer(vocabulary_size=PIECES, dropout=0.0, seed=1, **MODEL_PRESETS["tiny"])
        size = -(-rows // way["pieces"]) * LENGTH if "pieces" in way else None
        trained = TrainingModel(model, 0.1, micro_batch=size)
        trained.compile(optimizer=Adam(1e-4, global_clipnorm=1.0))
        trained.optimizer.build(model.trainable_variables)

    def batches(shares: Shares) -> tf.data.Dataset:
        ids = np.random.default_rng(1).integers(4, PIECES, (rows, LENGTH)).astype(np.int32)
        parts = [ids[number :: shares.count] for number in shares.numbers]
        data = tf.data.Dataset.from_tensors(({"source_ids": parts[0], "target_ids": parts[0]}, parts[0]))
        for part in parts[1:]:
            more = tf.data.Dataset.from_tensors(({"source_ids": part, "target_ids": part}, part))
            data = data.concatenate(more)
        return data.repeat()

    class Clock(keras.callbacks.Callback):
        """Counts after five updates, for so many seconds; the chief's clock counts."""

        updates, begun = 0, 0.0

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            float(logs["loss"])
            if batch == 4:
                self.begun = time.perf_counter()
            elif batch > 4:
                self.updates += 1
                self.spent = time.perf_counter() - self.begun
                if int(logs["wish"]) or (devices.num_hosts == 1 and self.spent >= seconds):
                    self.model.stop_training = True
                elif devices.is_chief and self.spent >= seconds:
                    self.model.wish.assign(1)

    clock = Clock()
    trained.fit(devices.feed(batches), verbose=0, shuffle=False, callbacks=[clock])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"tokens_per_second": clock.updates * rows * LENGTH / clock.spent, "peak_mb": peak}


def run(name: str, batch_tokens: int, seconds: float) -> dict[str, float]:
    """One way in processes of its own."""
    hosts = WAYS[name].get("hosts", 1)
    taken = [socket.create_server(("localhost", 0)) for _ in range(hosts)]
    addresses = [f"localhost:{server.getsockname()[1]}" for server in taken]
    for server in taken:
        server.close()
    processes = []
    for index in range(hosts):
        threads = str(WAYS[name]["threads"])
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_NUM_INTRAOP_THREADS": threads}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        if hosts > 1:
            task = {"type": "worker", "index": index}
            environment["TF_CONFIG"] = json.dumps({"cluster": {"worker": addresses}, "task": task})
        words = [sys.executable, __file__, "--way", name]
        words += ["--batch-tokens", str(batch_tokens), "--seconds", str(seconds)]
        output = subprocess.PIPE
        processes.append(subprocess.Popen(words, env=environment, stdout=output, stderr=output, text=True))
    said = [process.communicate() for process in processes]
    if any(process.returncode for process in processes):
        raise SystemExit(f"{name}: {said[0][1]}")
    found: dict[str, float] = json.loads(said[0][0].splitlines()[-1])
    return found


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch-tokens", type=int, default=4096, help="target tokens of an update")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="length of a turn")
    parser.add_argument("--only", nargs="+", default=list(WAYS), metavar="WAY", choices=list(WAYS))
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(work(WAYS[given.way], given.batch_tokens, given.seconds)))
        return
    rounds = [
        {name: run(name, given.batch_tokens, given.seconds) for name in given.only}
        for _ in range(given.rounds)
    ]
    print(f"{'':<24}{'tokens/s':>9}{'range':>16}{'ratio':>7}{'peak MB':>9}")
    for name in given.only:
        speeds = [each[name]["tokens_per_second"] for each in rounds]
        ratios = [
            each[name]["tokens_per_second"] / each[given.only[0]]["tokens_per_second"] for each in rounds
        ]
        peak = max(each[name]["peak_mb"] for each in rounds)
        reach = f"{min(speeds):,.0f}-{max(speeds):,.0f}"
        print(f"{name:<24}{median(speeds):>9,.0f}{reach:>16}{median(ratios):>7.2f}{peak:>9,.0f}")
    if given.json:
        given.json.write_text(json.dumps(rounds, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
