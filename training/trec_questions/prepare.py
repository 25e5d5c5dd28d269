"""Puts TREC's questions where the recipe looks for them.

    python training/trec_questions/prepare.py FOLDER

FOLDER holds train_5500.label and TREC_10.label, as published at https://cogcomp.seas.upenn.edu/Data/QA/QC (Li
and Roth, 2002), of which the coarse labels are taken; or the same as train.tsv and test.tsv, a label and a
question a line. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://cogcomp.seas.upenn.edu/Data/QA/QC (train_5500.label, TREC_10.label)"
DATA = Path(__file__).parent / "data"
FILES = {  # as published, lines, the beginning of the SHA-256 of the tables that the recipe's figures are of
    "train.tsv": ("train_5500.label", 5452, "0c35c0ad80b2667b"),
    "test.tsv": ("TREC_10.label", 500, "bc8b9b5aaa361716"),
}
LABELS = {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}


def table(content: str) -> str:
    """Published lines such as "DESC:manner How did …" as a coarse label, a tab and the question."""
    rows = (line.partition(" ") for line in content.removesuffix("\n").split("\n"))
    return "".join(f"{label.partition(':')[0]}\t{question.strip()}\n" for label, _, question in rows)


def read(folder: Path, name: str) -> bytes:
    """A table, as it is or from the published file."""
    published = folder / FILES[name][0]
    if published.is_file():
        return table(published.read_text(encoding="latin-1")).encode()
    if not (folder / name).is_file():
        raise SystemExit(f"{folder} lacks {published.name}; the data is published at {PUBLISHED}")
    return (folder / name).read_bytes()


def check(name: str, content: bytes) -> None:
    """Refuses another number of questions and strange labels, and reports what the figures are not of."""
    _, lines, digest = FILES[name]
    rows = content.decode().removesuffix("\n").split("\n")
    if len(rows) != lines:
        raise SystemExit(f"{name} must have {lines} lines. Received: {len(rows)}")
    strange = sorted({row.partition("\t")[0] for row in rows} - LABELS)
    if strange:
        raise SystemExit(f"{name} must have labels among {sorted(LABELS)}. Received: {strange[0]}")
    if not hashlib.sha256(content).hexdigest().startswith(digest):
        print(f"{name} differs from the table that the recipe's figures are of", file=sys.stderr)


def main(folder: Path) -> None:
    contents = {name: read(folder, name) for name in FILES}
    for name, content in contents.items():
        check(name, content)
    DATA.mkdir(exist_ok=True)
    for name, content in contents.items():
        (DATA / name).write_bytes(content)
    print(f"{len(contents)} files are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
