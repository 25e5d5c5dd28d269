"""Puts the hand-written digits of 8 x 8 pixels where the recipe looks for them.

    python training/digits/prepare.py FOLDER

FOLDER holds digits.csv.gz: a digit a row, 64 pixels from 0 to 16 and the label, as it comes with scikit-learn
(sklearn/datasets/data/digits.csv.gz, BSD-3; the test part of the UCI data set "Optical Recognition of
Handwritten Digits"). The first 1 437 rows become train.csv, the last 360 test.csv. Nothing is downloaded
here.
"""

import gzip
import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/scikit-learn/scikit-learn (sklearn/datasets/data/digits.csv.gz)"
DATA = Path(__file__).parent / "data"
DIGEST = "6ebb3d2fee246a4e"  # the beginning of the SHA-256 of the table that the recipe's figures are of
ROWS, TRAIN_ROWS = 1797, 1437


def read(folder: Path) -> bytes:
    """The table."""
    path = folder / "digits.csv.gz"
    if not path.is_file():
        raise SystemExit(f"{folder} lacks {path.name}; the data is published at {PUBLISHED}")
    return gzip.decompress(path.read_bytes())


def check(table: bytes) -> None:
    """Refuses a table of another shape, and reports one that the figures are not of."""
    rows = table.removesuffix(b"\n").split(b"\n")
    if len(rows) != ROWS or any(row.count(b",") != 64 for row in rows):
        raise SystemExit(f"digits.csv.gz: must have {ROWS} rows of 65 columns. Received: {len(rows)} rows")
    if not hashlib.sha256(table).hexdigest().startswith(DIGEST):
        print("digits.csv.gz differs from the file that the recipe's figures are of", file=sys.stderr)


def main(folder: Path) -> None:
    table = read(folder)
    check(table)
    rows = table.removesuffix(b"\n").split(b"\n")
    DATA.mkdir(exist_ok=True)
    for name, part in (("train.csv", rows[:TRAIN_ROWS]), ("test.csv", rows[TRAIN_ROWS:])):
        (DATA / name).write_bytes(b"".join(row + b"\n" for row in part))
    print(f"2 files are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
