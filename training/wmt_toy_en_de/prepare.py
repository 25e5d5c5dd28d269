"""Puts the WMT toy corpus where the recipes look for it, 500 of its pairs as dev.

    python training/wmt_toy_en_de/prepare.py FOLDER

FOLDER holds train.en and train.de, 10 000 tokenised pairs of WMT's English-German data, as they come with the
examples of Joey NMT. Every twentieth pair is dev, the others are train. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

DATA = Path(__file__).parent / "data"
FILES = {"train.en": "a4deafe1eb225d98", "train.de": "fe1f824a189baa65"}
"""The beginning of the SHA-256 of the files that the recipes' figures are of."""
LINES, EACH = 10_000, 20


def read(folder: Path, name: str) -> list[bytes]:
    """The lines of a file, when they are as many as they should be; another checksum is only reported."""
    path = folder / name
    if not path.is_file():
        raise SystemExit(
            f"{folder} has no {name}; it comes with the examples of https://github.com/joeynmt/joeynmt"
        )
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    if len(lines) != LINES:
        raise SystemExit(f"{path} must have {LINES} lines. Received: {len(lines)}")
    if not hashlib.sha256(content).hexdigest().startswith(FILES[name]):
        print(f"{path} differs from the file that the recipes' figures are of", file=sys.stderr)
    return lines


def main(folder: Path) -> None:
    found = {name: read(folder, name) for name in FILES}
    DATA.mkdir(exist_ok=True)
    for name, lines in found.items():
        language = name.partition(".")[2]
        dev = lines[::EACH]
        train = [line for place, line in enumerate(lines) if place % EACH]
        (DATA / f"dev.{language}").write_bytes(b"".join(dev))
        (DATA / f"train.{language}").write_bytes(b"".join(train))
    print(f"{LINES - LINES // EACH} pairs for train and {LINES // EACH} for dev are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER")
    main(Path(sys.argv[1]))
