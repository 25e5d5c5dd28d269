"""Puts the Multi30k files where the recipe looks for them.

    python training/multi30k_en_de/prepare.py FOLDER

FOLDER holds the raw text of task 1, with or without .gz, as published at
https://github.com/multi30k/dataset in data/task1/raw. Nothing is downloaded here.
"""

import gzip
import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/multi30k/dataset (data/task1/raw)"
DATA = Path(__file__).parent / "data"
FILES = {  # lines and the beginning of the SHA-256 of the files that the recipe's figures are of
    "train.en": (29000, "460a15fbd157e34a"),
    "train.de": (29000, "2c2b73fd2b548fbc"),
    "val.en": (1014, "1f2a23d992769b5b"),
    "val.de": (1014, "660e09eb7e1da2f8"),
    "test_2016_flickr.en": (1000, "399a4382932c1aad"),
    "test_2016_flickr.de": (1000, "4be6b5b3236b79c2"),
}


def read(folder: Path, name: str) -> bytes:
    """The file's bytes, from NAME or NAME.gz."""
    if (folder / name).is_file():
        return (folder / name).read_bytes()
    if (folder / f"{name}.gz").is_file():
        return gzip.decompress((folder / f"{name}.gz").read_bytes())
    raise SystemExit(f"{folder} has neither {name} nor {name}.gz; the data is published at {PUBLISHED}")


def checked(name: str, content: bytes) -> bytes:
    """The content, when its lines are as many as they should be; another checksum is only reported."""
    lines, digest = FILES[name]
    found = content.count(b"\n")
    if found != lines:
        raise SystemExit(f"{name} must have {lines} lines. Received: {found}")
    if not hashlib.sha256(content).hexdigest().startswith(digest):
        print(f"{name} differs from the file that the recipe's figures are of", file=sys.stderr)
    return content


def main(folder: Path) -> None:
    contents = {name: checked(name, read(folder, name)) for name in FILES}
    DATA.mkdir(exist_ok=True)
    for name, content in contents.items():
        (DATA / name).write_bytes(content)
    print(f"{len(contents)} files are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
