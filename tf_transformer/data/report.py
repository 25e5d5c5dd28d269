"""What happened to the rows of a corpus: how many were read, dropped and noted, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

_SHOWN = 3
"""Line numbers that a report keeps of each finding: enough to look at, short enough for a terminal."""


@dataclass(frozen=True)
class Finding:
    """How often something was found, and the first line numbers of it.

    Attributes:
        count: Number of rows.
        first: The first few line numbers, counted from 1.
    """

    count: int
    first: tuple[int, ...]

    @classmethod
    def at(cls, lines: Sequence[int]) -> "Finding":
        """The finding of these line numbers."""
        return cls(len(lines), tuple(int(line) for line in lines[:_SHOWN]))

    def __add__(self, other: "Finding") -> "Finding":
        return Finding(self.count + other.count, (self.first + other.first)[:_SHOWN])

    def __str__(self) -> str:
        places = ", ".join(str(line) for line in self.first)
        ellipsis = ", …" if self.count > len(self.first) else ""
        return f"{self.count:,} ({'line' if self.count == 1 else 'lines'} {places}{ellipsis})"


def _joined(old: Mapping[str, Finding], new: Mapping[str, Finding]) -> dict[str, Finding]:
    joined = dict(old)
    for reason, finding in new.items():
        if finding.count:
            joined[reason] = joined[reason] + finding if reason in joined else finding
    return joined


@dataclass(frozen=True)
class CorpusReport:
    """What happened to the rows of one corpus.

    Attributes:
        name: The corpus.
        read: Rows that its files have.
        dropped: Rows that are left out, by reason; a row is counted under one reason only.
        noted: Rows that are kept although something is remarkable, by kind; a row may be in several.
        warnings: Sentences about the corpus as a whole.
    """

    name: str
    read: int
    dropped: Mapping[str, Finding] = field(default_factory=dict)
    noted: Mapping[str, Finding] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def kept(self) -> int:
        """Rows that are left."""
        return self.read - sum(finding.count for finding in self.dropped.values())

    def extended(
        self,
        dropped: Mapping[str, Finding] | None = None,
        noted: Mapping[str, Finding] | None = None,
        warnings: Sequence[str] = (),
    ) -> "CorpusReport":
        """This report and what a further step found.

        Args:
            dropped: Rows that the step left out, by reason.
            noted: Rows that it remarked on, by kind.
            warnings: Sentences about the whole corpus.

        Returns:
            A new report; equal reasons are added up.
        """
        return replace(
            self,
            dropped=_joined(self.dropped, dropped or {}),
            noted=_joined(self.noted, noted or {}),
            warnings=self.warnings + tuple(warnings),
        )

    def to_lines(self) -> list[str]:
        """The report as short lines of plain text, for a terminal or for TensorBoard."""
        lines = [f"{self.name}: {self.read:,} rows read, {self.kept:,} kept"]
        lines += [f"  dropped: {reason}: {finding}" for reason, finding in self.dropped.items()]
        lines += [f"  noted: {kind}: {finding}" for kind, finding in self.noted.items()]
        return lines + [f"  warning: {warning}" for warning in self.warnings]

    def to_dict(self) -> dict[str, object]:
        """The report as plain values, for JSON."""
        return {
            "name": self.name,
            "read": self.read,
            "kept": self.kept,
            "dropped": {reason: _plain(finding) for reason, finding in self.dropped.items()},
            "noted": {kind: _plain(finding) for kind, finding in self.noted.items()},
            "warnings": list(self.warnings),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "CorpusReport":
        """The report that `to_dict` wrote."""
        dropped, noted = (
            {
                kind: Finding(found["count"], tuple(found["first_lines"]))
                for kind, found in values[name].items()
            }
            for name in ("dropped", "noted")
        )
        return cls(values["name"], values["read"], dropped, noted, tuple(values["warnings"]))

    @classmethod
    def of_parts(cls, parts: Sequence["CorpusReport"]) -> "CorpusReport":
        """The report of a corpus whose parts were read one by one.

        Args:
            parts: Their reports, in the order of the lines, at least one.
        """
        whole = cls(parts[0].name, 0)
        for part in parts:
            warnings = [warning for warning in part.warnings if warning not in whole.warnings]
            whole = replace(whole.extended(part.dropped, part.noted, warnings), read=whole.read + part.read)
        return whole


def _plain(finding: Finding) -> dict[str, object]:
    return {"count": finding.count, "first_lines": list(finding.first)}
