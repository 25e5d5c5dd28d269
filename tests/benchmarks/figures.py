"""From the slices of a race to its tables."""

from collections.abc import Sequence
from statistics import median
from typing import Any

from race import Runner

HALF = {"mixed_bfloat16": "bfloat16"}
"""The format that the products of a mixed policy are in."""


def figures(runners: Sequence[Runner], megaflop: float) -> list[dict[str, Any]]:
    """All figures of each contestant that trains; ``rounds`` holds its tokens a second by round."""
    ceilings = {
        runner.first["precision"]: median(
            answer["flop"] / answer["seconds"] / 1e9 for answer in runner.slices
        )
        for runner in runners
        if not runner.contestant.batch
    }
    return [_figures(runner, megaflop, ceilings) for runner in runners if runner.contestant.batch]


def _figures(runner: Runner, megaflop: float, ceilings: dict[str, float]) -> dict[str, Any]:
    slices, precision = runner.slices, runner.first["precision"]
    rounds = [answer["target_tokens"] / answer["seconds"] for answer in slices]
    sums = {name: sum(answer[name] for answer in slices) for name in slices[0]}
    ceiling = ceilings[HALF.get(precision, precision)]
    achieved = median(rounds) * megaflop / 1e3
    return {
        "name": runner.contestant.name,
        "batch": runner.contestant.batch,
        "precision": precision,
        "tokens_per_second": median(rounds),
        "slowest": min(rounds),
        "fastest": max(rounds),
        "rounds": rounds,
        "updates": sums["updates"],
        "tokens_per_update": sums["target_tokens"] / sums["updates"],
        "target_padding": 1 - sums["target_tokens"] / sums["target_positions"],
        "source_padding": 1 - sums["source_tokens"] / sums["source_positions"],
        "peak_bytes": max(answer["peak_bytes"] for answer in slices),
        "first_update_seconds": runner.first["first_update_seconds"],
        "gigaflops": achieved,
        "matmul_gigaflops": ceiling,
        "share_of_matmul": achieved / ceiling,
    }


def ratios(rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """How many times as fast each contestant is as each other."""
    return {
        row["name"]: {other["name"]: ratio(row, other) for other in rows if other is not row} for row in rows
    }


def ratio(row: dict[str, Any], other: dict[str, Any]) -> float:
    """The median of the rounds' ratios: a machine that slows down for a round slows both.

    Contestants of different batch sizes have no rounds in common; theirs is the ratio of the medians.
    """
    if row["batch"] != other["batch"]:
        return float(row["tokens_per_second"] / other["tokens_per_second"])
    return float(median(a / b for a, b in zip(row["rounds"], other["rounds"], strict=True)))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The main table as text."""
    head = ("", "precision", "tokens/s", "slowest", "fastest", "per update", "padding", "source", "peak MB")
    cells = [(*head, "start s", "GFLOP/s", "matmul", "share")]
    cells += [
        (
            row["name"],
            row["precision"],
            f"{row['tokens_per_second']:,.0f}",
            f"{row['slowest']:,.0f}",
            f"{row['fastest']:,.0f}",
            f"{row['tokens_per_update']:,.0f}",
            f"{row['target_padding']:.1%}",
            f"{row['source_padding']:.1%}",
            f"{row['peak_bytes'] / 1e6:,.0f}",
            f"{row['first_update_seconds']:.0f}",
            f"{row['gigaflops']:.0f}",
            f"{row['matmul_gigaflops']:.0f}",
            f"{row['share_of_matmul']:.0%}",
        )
        for row in rows
    ]
    return aligned(cells)


def ratio_table(rows: Sequence[dict[str, Any]], peers: Sequence[str]) -> str:
    """How many times as fast each contestant is as each peer, as text."""
    found = ratios(rows)
    cells = [("times as fast as", *peers)]
    for row in rows:
        times = found[row["name"]]
        cells.append((row["name"], *(f"{times[peer]:.2f}" if peer in times else "-" for peer in peers)))
    return aligned(cells)


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Columns of text: the first one to the left, the others to the right."""
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
