"""What a machine computes in each precision, whether that is right, and what recipes should say here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tf_transformer.diagnosis.machine import THREADS, Machine, this_machine
from tf_transformer.diagnosis.precisions import ON_CPU, ON_GPU, POLICIES, UPDATES, Size, Trial, try_precisions
from tf_transformer.precision import WORTH_IT, PrecisionChoice, choose_precision
from tf_transformer.run_folder import versions

TOLERANCE = 0.02
"""Nats by which a loss may be apart from that of the same update in float32.

Formats with 8 or 11 bits round each number by 0.2 % or 0.02 % at most; the losses of such a model, of about 7
nats, are apart by 0.0005 to 0.002 then. A softmax, a norm or a sum of losses in such a format, in place of
float32, makes ten times that and more.
"""
MOST_SKIPPED = 10
"""Updates that a loss scale may take to find its size: it begins at 2^15 and halves with each."""
LEARNT = 1.0
"""Nats by which the loss must fall in these updates; it falls by 2."""


@dataclass(frozen=True)
class Setting:
    """What to set, and why.

    Args:
        name: A key of a recipe, or a variable of the environment.
        value: Its value here.
        reason: Why.
    """

    name: str
    value: str
    reason: str


@dataclass(frozen=True)
class Diagnosis:
    """What was found out.

    Args:
        versions: Of the packages, by name.
        machine: What there is.
        size: Of the model and batches that were tried.
        trials: The precisions, float32 first.
        chosen: What ``training.precision: auto`` takes here.
        settings: What a recipe, or the environment, should say.
        wrong: What is wrong; nothing where all is right.
    """

    versions: dict[str, Any]
    machine: Machine
    size: Size
    trials: Sequence[Trial]
    chosen: PrecisionChoice
    settings: Sequence[Setting]
    wrong: Sequence[str]


def diagnose(
    size: Size | None = None, updates: int = UPDATES, tell: Callable[[str], None] = lambda line: None
) -> Diagnosis:
    """Looks at this machine, and trains a small model in each precision.

    Args:
        size: Of the model and its batches; by default a small one, or a larger one where there is a GPU.
        updates: How many in each precision.
        tell: Told what is done, line by line.
    """
    machine = this_machine()
    size = size or (ON_GPU if machine.gpus else ON_CPU)
    trials = try_precisions(size, POLICIES, updates, tell)
    chosen = choose_precision()
    faults = {trial.policy: trial_faults(trial, trials[0], updates) for trial in trials}
    right = [trial for trial in trials if not faults[trial.policy]]
    return Diagnosis(
        versions=versions(),
        machine=machine,
        size=size,
        trials=trials,
        chosen=chosen,
        settings=settings(machine, right, chosen),
        wrong=[*machine.faults(), *(fault for found in faults.values() for fault in found)],
    )


def apart(trial: Trial, full: Trial) -> float:
    """How far the loss of any update is from that of float32, at most, in nats."""
    count = min(len(trial.losses), len(full.losses))
    if not count:
        return float("inf")
    return float(np.max(np.abs(np.subtract(trial.losses[:count], full.losses[:count]))))


def trial_faults(trial: Trial, full: Trial, updates: int = UPDATES) -> list[str]:
    """What is wrong with a precision, one line each.

    Args:
        trial: Of the precision.
        full: That of float32, with the same updates.
        updates: How many there were to be.
    """
    found = []
    if trial.skipped > MOST_SKIPPED or len(trial.losses) < updates:
        found.append(
            f"{trial.policy}: {trial.skipped} updates had to be skipped before {updates} were taken, and "
            f"{MOST_SKIPPED} are as many as a loss scale may take: its gradients overflow at any scale"
        )
    if not np.all(np.isfinite(trial.losses)):
        found.append(f"{trial.policy}: a loss is not finite")
    elif trial is full and trial.losses and trial.losses[0] - trial.losses[-1] < LEARNT:
        found.append(
            f"{trial.policy}: the loss went from {trial.losses[0]:.3f} to {trial.losses[-1]:.3f}, and falls "
            f"by {LEARNT:g} at least where all is right"
        )
    elif (distance := apart(trial, full)) > TOLERANCE:
        found.append(
            f"{trial.policy}: a loss is {distance:.4f} apart from that of the same update in float32, and "
            f"{TOLERANCE:g} is allowed"
        )
    return found


def settings(machine: Machine, right: Sequence[Trial], chosen: PrecisionChoice) -> list[Setting]:
    """What to write into a recipe or the environment here.

    Args:
        machine: What there is.
        right: The precisions that nothing is wrong with.
        chosen: What ``auto`` takes.
    """
    count, best, asked = len(machine.gpus), machine.best_threads, machine.threads
    devices = {0: "takes the CPU", 1: "takes the GPU"}.get(count, f"takes all {count} GPUs")
    found = [_precision(machine, right, chosen), Setting("training.devices", "auto", devices)]
    if asked is not None and asked != best:
        found.append(Setting(THREADS, str(best), f"so many cores are there, and it says {asked}"))
    elif asked is None and best < machine.cores:
        reason = f"the control group gives no more, and TensorFlow takes {machine.cores}"
        found.append(Setting(THREADS, str(best), reason))
    return found


def _precision(machine: Machine, right: Sequence[Trial], chosen: PrecisionChoice) -> Setting:
    """The fastest right precision; float16 only on a GPU, where bfloat16 is not as fast."""
    speeds = {trial.policy: trial.tokens_per_second for trial in right}
    usable = ["mixed_bfloat16", *(["mixed_float16"] if machine.gpus else [])]
    best, full = "float32", speeds.get("float32", 0.0)
    for policy in usable:
        if speeds.get(policy, 0.0) >= WORTH_IT * speeds.get(best, 0.0):
            best = policy
    reason = "no other one is so much faster"
    if best != "float32":
        reason = f"{speeds[best] / full:.1f} times as fast as float32" if full else "float32 is wrong here"
    if best == chosen.policy:
        return Setting("training.precision", "auto", f"takes {best}: {reason}")
    return Setting(
        "training.precision", best, f"{reason}, of this small model; auto would take {chosen.policy}"
    )
