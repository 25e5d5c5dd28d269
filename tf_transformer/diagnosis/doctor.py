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
class Diagnosis:
    """What was found out.

    Args:
        versions: Of the packages, by name.
        machine: What there is.
        size: Of the model and batches that were tried.
        trials: The precisions, float32 first.
        chosen: What ``training.precision: auto`` takes here.
        settings: What a recipe, or the environment, should say, each with the reason.
        wrong: What is wrong; nothing where all is right.
    """

    versions: dict[str, Any]
    machine: Machine
    size: Size
    trials: Sequence[Trial]
    chosen: PrecisionChoice
    settings: dict[str, str]
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


def settings(machine: Machine, right: Sequence[Trial], chosen: PrecisionChoice) -> dict[str, str]:
    """What to write into a recipe or the environment here, each with a reason.

    Args:
        machine: What there is.
        right: The precisions that nothing is wrong with.
        chosen: What ``auto`` takes.
    """
    found = {"training.precision": _precision(machine, right, chosen), "training.devices": "auto: the CPU"}
    if machine.gpus:
        count = len(machine.gpus)
        found["training.devices"] = "auto: the GPU" if count == 1 else f"auto: all {count} GPUs"
    best, asked = machine.best_threads, machine.threads
    if asked is not None and asked != best:
        found[THREADS] = f"{best}: so many cores are there, and it says {asked}"
    elif asked is None and best < machine.cores:
        found[THREADS] = f"{best}: the control group gives no more, and TensorFlow takes {machine.cores}"
    return found


def _precision(machine: Machine, right: Sequence[Trial], chosen: PrecisionChoice) -> str:
    """The fastest right precision; float16 only on a GPU, where bfloat16 is not as fast."""
    speeds = {trial.policy: trial.tokens_per_second for trial in right}
    usable = ["mixed_bfloat16", *(["mixed_float16"] if machine.gpus else [])]
    best, speed = "float32", speeds.get("float32", 0.0)
    for policy in usable:
        if speeds.get(policy, 0.0) >= WORTH_IT * speed:
            best, speed = policy, speeds[policy]
    if best == "float32":
        reason = "no other one is worth it"
    else:
        times = speed / speeds["float32"] if speeds.get("float32") else 0.0
        reason = f"{times:.1f} times as fast as float32"
    if best == chosen.policy:
        return f"auto: takes {best}, {reason}"
    return f"{best}: {reason} with this small model; auto would take {chosen.policy} ({chosen.reason})"
