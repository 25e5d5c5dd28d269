"""Puts the sentences of SemEval-2010 task 8 where the recipe looks for them.

    python training/semeval_relations/prepare.py FOLDER

FOLDER holds train.tsv and dev.tsv, the 8 000 sentences of TRAIN_FILE.TXT (CC BY 3.0) in two parts: number,
relation with its direction, and sentence with its <e1> and <e2>, parted by tabs. Hendrickx et al., 2010
(https://aclanthology.org/S10-1006), say where they are published. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://aclanthology.org/S10-1006 (SemEval-2010 task 8, TRAIN_FILE.TXT)"
DATA = Path(__file__).parent / "data"
FILES = {  # lines, and the beginning of the SHA-256 of the tables that the recipe's figures are of
    "train.tsv": (7169, "9d3c0e536efe6d1f"),
    "dev.tsv": (831, "f886586851d01851"),
}
MARKS = ("<e1>", "</e1>", "<e2>", "</e2>")


def read(folder: Path, name: str) -> bytes:
    """A table."""
    if not (folder / name).is_file():
        raise SystemExit(f"{folder} lacks {name}; where the data is published: {PUBLISHED}")
    return (folder / name).read_bytes()


def check(name: str, content: bytes) -> None:
    """Refuses other rows than there should be, and reports those that the figures are not of."""
    lines, digest = FILES[name]
    rows = [row.split("\t") for row in content.decode().removesuffix("\n").split("\n")]
    if len(rows) != lines:
        raise SystemExit(f"{name} must have {lines} lines. Received: {len(rows)}")
    for number, row in enumerate(rows, start=1):
        if len(row) != 3 or any(row[2].count(mark) != 1 for mark in MARKS):
            raise SystemExit(
                f"{name}, line {number}: must have number, relation and a sentence with both entities"
            )
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
