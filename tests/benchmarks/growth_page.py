"""The page of what a training costs, in Markdown: what was measured and fitted, and what follows on paper.

Nothing here measures. `growth.py --page` hands over its figures, and those of `prepare_scale.py` and
`devices_speed.py` where they are given; what has no figures has no section.
"""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

GPUS = (1, 8, 64)
IN_A_MACHINE = 8
GRADIENT_BYTES = 4
"""Gradients are exchanged in float32."""
REACHED = 0.7
"""Of what a data sheet says of links, what an exchange reaches."""
BIG_VOCABULARY, PIECES_A_ROW, ROWS_A_GPU = 33708, 32, 160
PUBLISHED = {1: 32153, 8: 235077}
"""Target tokens a second of a Transformer (big) on so many V100, mixed precision, 5,120 tokens each: README
of PyTorch/Translation/Transformer in NVIDIA's DeepLearningExamples (2019), DGX-1 with 16 GB."""


@dataclass(frozen=True)
class Machine:
    """Eight GPUs, by their data sheets.

    Attributes:
        peak: Operations a second of one GPU.
        inside: Bytes a second, each way, of one GPU's links to its neighbours.
        between: Bytes a second, each way, of a machine's links to others.
    """

    name: str
    peak: float
    inside: float
    between: float


MACHINES = (
    Machine("V100, 4 x 100 Gbit/s", 125e12, 150e9, 50e9),
    Machine("H100, 8 x 400 Gbit/s", 989e12, 450e9, 400e9),
    Machine("H100, 100 Gbit/s", 989e12, 450e9, 12.5e9),
)


@dataclass(frozen=True)
class Run:
    """A training on paper: how wide its six layers a side are, and target tokens in all."""

    name: str
    width: int
    tokens: float


RUNS = (
    Run("WMT14 en-de, base: 100,000 updates of 25,000 target tokens", 512, 2.5e9),
    Run("WMT14 en-de, big: 300,000 updates of 25,000 target tokens", 1024, 7.5e9),
    Run("a billion lines of 25 target tokens once, big", 1024, 25e9),
)


@dataclass(frozen=True)
class Fits:
    """What was fitted to the figures, and what is left over.

    Attributes:
        coefficients: By figure, `seconds` and `bytes`, one a term.
        apart: By figure, for each setting, how far the fit is off: 0.1 is a tenth too much.
    """

    coefficients: dict[str, list[float]]
    apart: dict[str, list[float]]


def page(
    settings: Sequence[Any],
    figures: Sequence[Mapping[str, float]],
    fits: Fits,
    prepared: Sequence[Mapping[str, Any]],
    devices: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """The lines of the page.

    Args:
        settings: What was measured, see `growth.Setting`.
        figures: Seconds and bytes of each.
        fits: What was fitted to them.
        prepared: What `prepare_scale.py` has written.
        devices: What `devices_speed.py` has written.
    """
    yield from ("## What a training costs", "")
    yield from _growth(settings, figures, fits)
    if prepared:
        yield from _lines(prepared)
    if devices:
        yield from _devices(devices)
    yield from _paper(type(settings[0]), fits, prepared)


def wrapped(text: str, behind: str = "") -> Iterator[str]:
    """A paragraph in lines."""
    yield from textwrap.wrap(text, 118, subsequent_indent=behind, break_on_hyphens=False)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table whose first column is to the left and whose others are to the right."""
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def _growth(settings: Sequence[Any], figures: Sequence[Mapping[str, float]], fits: Fits) -> Iterator[str]:
    yield from wrapped(
        "`python tests/benchmarks/growth.py`: one update of an encoder-decoder on random ids, one thing "
        "changed at a time. B rows of S source and S target positions, V ids, N layers a side, width D and "
        "4 D inside, H heads, W weights:"
    )
    yield ""
    terms = "168 B S N D^2 / products + 36 B S^2 N D / attention + 8 B S V D / logits"
    yield f"    seconds = start + {terms} + w W"
    yield "    bytes   = base + a B S N D + b B S^2 N H + c min(1024, B S) V + d W"
    yield ""
    seconds, sizes = fits.coefficients["seconds"], fits.coefficients["bytes"]
    products, attention, logits = (f"{1e-9 / each:,.0f} GFLOP/s" if each else "free" for each in seconds[1:4])
    a, b, c, d = sizes[1:]
    yield from wrapped(
        f"Fitted by the least squares of relative errors, none below 0: start {seconds[0] * 1e3:.0f} ms, "
        f"products {products}, attention {attention}, logits {logits}, w {seconds[4] * 1e9:.2g} ns; base "
        f"{sizes[0] / 2**20:,.0f} MiB, and in bytes a {a:.3g}, b {b:.3g}, c {c:.3g}, d {d:.3g}. "
        + " ".join(_told_apart(name, apart) for name, apart in fits.apart.items())
    )
    yield ""
    rows = [
        [
            *(f"{size:,}" for size in (one.rows, one.length, one.vocabulary, one.layers, one.width)),
            *(f"{each['seconds'] * 1e3:,.0f}", f"{apart[0]:+.0%}"),
            *(f"{each['bytes'] / 2**20:,.0f}", f"{apart[1]:+.0%}"),
        ]
        for one, each, *apart in zip(settings, figures, *fits.apart.values(), strict=True)
    ]
    yield from table(("B", "S", "V", "N", "D", "ms", "fit", "MiB", "fit"), rows)


def _told_apart(name: str, apart: Sequence[float]) -> str:
    off = [abs(each) for each in apart]
    return f"For {name} the fit is off by {median(off):.0%} in the median, {max(off):.0%} at most."


def _lines(found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield from wrapped(
        "**Lines of the corpus** (`python tests/benchmarks/prepare_scale.py`). Memory is that of all "
        "processes together: a page that several share counted in each, and in brackets once. Reading is a "
        "whole epoch of batches, made and thrown away."
    )
    yield ""
    rows = [
        [
            f"{one['lines']:,}",
            f"{one['preparing']['seconds']:,.0f}",
            f"{one['preparing']['cpu']:,.0f}",
            f"{one['lines'] / one['preparing']['cpu']:,.0f}",
            _memory(one["preparing"]),
            f"{one['reading']['rows'] / one['reading']['reading']:,.0f}",
            _memory(one["reading"]),
        ]
        for one in found
    ]
    yield from table(
        ("lines", "prepared in s", "s of CPU", "lines/s of CPU", "MiB", "rows/s read", "MiB"), rows
    )
    for few, many in pairwise(found):
        ratio = many["preparing"]["cpu"] / few["preparing"]["cpu"] * few["lines"] / many["lines"]
        yield f"{many['lines']:,} lines took {ratio:.2f} times the CPU that {few['lines']:,} foretell."
    yield ""


def _memory(found: Mapping[str, float]) -> str:
    return f"{found['resident']:,.0f} ({found['proportional']:,.0f})"


def _devices(rounds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    first = next(iter(rounds[0]))
    yield from wrapped(
        "**Devices, hosts and pieces** (`python tests/benchmarks/devices_speed.py`), all on the same "
        "cores, where "
        f'an exchange can only cost. The ratio is to "{first}", the median of those within a round.'
    )
    yield ""
    rows = []
    for name in rounds[0]:
        speeds = [one[name]["tokens_per_second"] for one in rounds]
        ratios = [one[name]["tokens_per_second"] / one[first]["tokens_per_second"] for one in rounds]
        reach = f"{min(speeds):,.0f} to {max(speeds):,.0f}"
        peak = max(one[name]["peak_mb"] for one in rounds)
        rows.append([name, f"{median(speeds):,.0f}", reach, f"{median(ratios):.2f}", f"{peak:,.0f}"])
    yield from table(("", "target tokens/s", "range", "ratio", "peak MB"), rows)


def _setting(of: Any, width: int) -> Any:
    """What a GPU has of an update."""
    return of(ROWS_A_GPU, PIECES_A_ROW, BIG_VOCABULARY, 6, width)


def operations(setting: Any) -> float:
    """Operations of an update on a GPU, which has the logits in memory and does not compute them twice."""
    _, products, attention, logits, _ = setting.work()
    return float(products + attention + 0.75 * logits)


def exchange(machine: Machine, gpus: int, weights: float) -> float:
    """Seconds of adding up gradients by rings: inside of machines, and between them."""
    size, machines = GRADIENT_BYTES * weights, gpus / IN_A_MACHINE
    inside = 2 * (1 - 1 / min(gpus, IN_A_MACHINE)) * size / (REACHED * machine.inside)
    between = 2 * (1 - 1 / machines) * size / (REACHED * machine.between) if machines > 1 else 0.0
    return inside + between


def on_paper(of: Any, machine: Machine, gpus: int, width: int) -> tuple[float, float]:
    """Target tokens a second, and the part of the time that the exchange takes."""
    setting = _setting(of, width)
    compute = operations(setting) / (share_of_peak(of) * machine.peak)
    spent = exchange(machine, gpus, setting.weights)
    return gpus * ROWS_A_GPU * PIECES_A_ROW / (compute + spent), spent / (compute + spent)


def share_of_peak(of: Any) -> float:
    """What the published training reaches of its GPU's peak."""
    setting = _setting(of, 1024)
    each = operations(setting) / (ROWS_A_GPU * PIECES_A_ROW)
    return float(PUBLISHED[1] * each / MACHINES[0].peak)


def _paper(of: Any, fits: Fits, prepared: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "**On 1, 8 and 64 GPUs, on paper.** No run of this size was made. Assumed is:"
    yield ""
    for text in _assumptions(of, fits):
        yield from wrapped(f"- {text}", behind="  ")
    yield ""
    rows = []
    for run in RUNS:
        for machine in MACHINES:
            found = [on_paper(of, machine, gpus, run.width) for gpus in GPUS]
            times = [f"{_span(run.tokens / speed)} ({part:.0%})" for speed, part in found]
            rows.append([run.name, machine.name, *times])
    head = ("training", "GPUs, links of a machine to others", *(f"on {gpus} (exchange)" for gpus in GPUS))
    yield from table(head, rows)
    if not prepared:
        return
    last = prepared[-1]
    rate = last["lines"] / last["preparing"]["cpu"]
    reads = last["reading"]["rows"] / last["reading"]["reading"]
    wanted = on_paper(of, MACHINES[1], GPUS[-1], RUNS[-1].width)[0] / 25
    waits = ", which is more, so there they would wait for it" if wanted > reads else ""
    yield from wrapped(
        f"A billion lines are prepared in {_span(1e9 / rate)} of one core's time, which `--workers` and "
        f"Beam share. A host reads {reads:,.0f} rows/s as measured above, and each host reads all of them; "
        f"{GPUS[-1]} {MACHINES[1].name.split(',')[0]} would take {wanted:,.0f} rows/s of 25 target "
        f"tokens{waits}."
    )


def _assumptions(of: Any, fits: Fits) -> Iterator[str]:
    tokens, big = ROWS_A_GPU * PIECES_A_ROW, _setting(of, 1024)
    eight, _ = on_paper(of, MACHINES[0], 8, 1024)
    size = sum(each * term for each, term in zip(fits.coefficients["bytes"], big.kept(), strict=True))
    yield (
        f"A GPU has {tokens:,} target and as many source tokens of each update, so an update has "
        f"{tokens * 8:,} and {tokens * 64:,} of them on 8 and 64 GPUs. Such updates learn as much of a "
        "token as small ones do, which ends somewhere. Validation and checkpoints take nothing. By the "
        f"formula above, far beyond what was measured, the big model takes {size / 2**30:.0f} GiB for it in "
        "float32."
    )
    yield (
        f"A GPU reaches {share_of_peak(of):.0%} of its data sheet's peak, operations counted as above, the "
        f"logits with 6 B S V D: so much follows from {PUBLISHED[1]:,} target tokens/s of one V100 that "
        f"NVIDIA published for the big model, mixed precision and {BIG_VOCABULARY:,} pieces. Faster GPUs "
        "usually reach a smaller share."
    )
    yield (
        f"Gradients are added up in float32 by rings, at {REACHED:.0%} of the data sheets' links, behind "
        "the computation and not beside it: each GPU sends 2 (1 - 1/8) of them inside a machine of 8, a "
        f"machine 2 (1 - 1/m) of them to the next of m. Of 8 V100 this makes {eight:,.0f} target tokens/s; "
        f"published are {PUBLISHED[8]:,}."
    )


def _span(seconds: float) -> str:
    """A time for a person, in two digits."""
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.2g} {name}" if seconds < 100 * unit else f"{seconds / unit:,.0f} {name}"
    return f"{seconds:.2g} s"
