"""The verb that looks at a machine: ``doctor``."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from tf_transformer.cli.options import AsJson, Debug, Quiet
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.cli.streams import teller
from tf_transformer.cli.tables import aligned
from tf_transformer.errors import printable

if TYPE_CHECKING:
    from tf_transformer.diagnosis.doctor import Diagnosis

_HEAD = ("precision", "last loss", "apart", "skipped", "tokens/s", "GFLOP/s", "of peak", "memory", "start")
_SHOWN = ("tf_transformer", "python", "tensorflow", "keras", "numpy")


def doctor(as_json: AsJson = False, quiet: Quiet = False, debug: Debug = False) -> int:
    """Look whether this machine trains rightly, and how fast.

    A small model takes 50 updates on made data in float32, mixed_bfloat16 and mixed_float16, from the same
    weights with the same batches: losses must agree, on a GPU as on a CPU. Says what to set in recipes. Takes
    about a minute on two cores. The exit code is 1 when something is wrong.

    \b
    Example: tf-transformer doctor
    """
    with quiet_import():
        from tf_transformer.diagnosis.doctor import diagnose
    found = diagnose(tell=teller(quiet))
    if as_json:
        print(json.dumps(_plain(found), indent=2))
    else:
        for line in lines_of(found):
            print(printable(line))
    return 1 if found.wrong else 0


def lines_of(found: "Diagnosis") -> Iterator[str]:
    """The page for a person."""
    from tf_transformer.diagnosis.doctor import TOLERANCE

    yield from _machine_lines(found)
    yield ""
    yield from aligned([_HEAD, *_rows(found)], right=range(1, len(_HEAD)))
    yield ""
    yield f"apart      nats from the loss of the same update in float32, at most; {TOLERANCE:g} is allowed"
    yield "of peak    what the model's products take of the speed of one large product in the same format"
    for place, one in enumerate(found.settings):
        yield f"{'' if place else 'set':<11}{f'{one.name}: {one.value}':<34}  {one.reason}"
    yield ""
    yield from (f"wrong: {line}" for line in found.wrong)
    if not found.wrong:
        yield "right: this machine trains in every precision as in float32"


def _machine_lines(found: "Diagnosis") -> Iterator[str]:
    from tf_transformer.memory import in_gib

    machine, size = found.machine, found.size
    versions = [f"{name} {found.versions[name]}" for name in _SHOWN if name in found.versions]
    yield f"versions   {' · '.join(versions)}"
    for number, gpu in enumerate(machine.gpus):
        capability = f", compute capability {gpu.capability}" if gpu.capability else ""
        yield f"{f'GPU {number}':<11}{gpu.name}{capability}, {in_gib(gpu.memory)}"
    quota = "" if machine.quota is None else f", time of {machine.quota:g}"
    yield f"CPU        {machine.processor}, cores: {machine.cores}{quota}"
    yield f"memory     {in_gib(machine.room[0])} that {machine.room[1]}"
    updates, tokens = len(found.trials[0].losses), size.rows * size.length
    layers = f"{size.layers} + {size.layers} layers of width {size.width}"
    on = "GPU" if machine.gpus else "CPU"
    yield f"trial      on the {on}, {updates} updates of {tokens:,} target tokens, {layers}"


def _rows(found: "Diagnosis") -> Iterator[tuple[str, ...]]:
    from tf_transformer.diagnosis.doctor import apart

    full = found.trials[0]
    for trial in found.trials:
        yield (
            trial.policy,
            f"{trial.losses[-1]:.4f}" if trial.losses else "-",
            "-" if trial is full else f"{apart(trial, full):.4f}",
            str(trial.skipped),
            f"{trial.tokens_per_second:,.0f}",
            f"{trial.gigaflops:,.0f}",
            f"{trial.share_of_peak:.0%}",
            "-" if trial.memory is None else f"{trial.memory / 2**20:,.0f} MiB",
            f"{trial.first_seconds:.1f} s",
        )


def _plain(found: "Diagnosis") -> dict[str, object]:
    """The same for a program."""
    from tf_transformer.diagnosis.doctor import TOLERANCE, apart

    values = asdict(found)
    for values_of, trial in zip(values["trials"], found.trials, strict=True):
        values_of["share_of_peak"] = trial.share_of_peak
        values_of["apart"] = apart(trial, found.trials[0])
    return {**values, "tolerance": TOLERANCE}
