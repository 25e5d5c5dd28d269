"""Puts the Multi30k files where the recipes look for them.

    python training/multi30k_en_de/prepare.py FOLDER

FOLDER is data/task1 as published at https://github.com/multi30k/dataset, or holds some of its files, with or
without .gz: the raw text, which recipe.yaml trains on, the lower-cased tokenised text of paper.yaml, or both.
Nothing is downloaded here.
"""

import gzip
import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/multi30k/dataset (data/task1)"
DATA = Path(__file__).parent / "data"
PLACES = (".", "raw", "tok", "lc.norm.tok")
FILES = {  # lines and the beginning of the SHA-256 of the files that the recipes' figures are of
    "recipe.yaml": {
        "train.en": (29000, "460a15fbd157e34a"),
        "train.de": (29000, "2c2b73fd2b548fbc"),
        "val.en": (1014, "1f2a23d992769b5b"),
        "val.de": (1014, "660e09eb7e1da2f8"),
        "test_2016_flickr.en": (1000, "399a4382932c1aad"),
        "test_2016_flickr.de": (1000, "4be6b5b3236b79c2"),
    },
    "paper.yaml": {
        "train.lc.norm.tok.en": (29000, "08925f8e0572bcd5"),
        "train.lc.norm.tok.de": (29000, "cb5a23529b65ec20"),
        "val.lc.norm.tok.en": (1014, "46573ce391ae227f"),
        "val.lc.norm.tok.de": (1014, "97232bd273eceb72"),
        "test_2016_flickr.lc.norm.tok.en": (1000, "5b7f32627cf99ece"),
        "test_2016_flickr.lc.norm.tok.de": (1000, "c6a33d39d48f9f51"),
    },
}


def found(folder: Path, name: str) -> bytes | None:
    """The file's bytes, from NAME or NAME.gz in the folder or one of the published ones below it."""
    for place in PLACES:
        path = folder / place / name
        if path.is_file():
            return path.read_bytes()
        if path.with_name(f"{name}.gz").is_file():
            return gzip.decompress(path.with_name(f"{name}.gz").read_bytes())
    return None


def checked(name: str, content: bytes, lines: int, digest: str) -> bytes:
    """The content, when its lines are as many as they should be; another checksum is only reported."""
    received = content.count(b"\n")
    if received != lines:
        raise SystemExit(f"{name} must have {lines} lines. Received: {received}")
    if not hashlib.sha256(content).hexdigest().startswith(digest):
        print(f"{name} differs from the file that the recipe's figures are of", file=sys.stderr)
    return content


def gather(folder: Path, recipe: str) -> dict[str, bytes]:
    """The files of a recipe, checked; none when the folder has none of them."""
    contents = {}
    for name, expected in FILES[recipe].items():
        content = found(folder, name)
        if content is not None:
            contents[name] = checked(name, content, *expected)
    missing = [name for name in FILES[recipe] if name not in contents]
    if contents and missing:
        raise SystemExit(f"{recipe} needs {', '.join(missing)} too, which {folder} lacks; see {PUBLISHED}")
    return contents


def main(folder: Path) -> None:
    gathered = {recipe: contents for recipe in FILES if (contents := gather(folder, recipe))}
    if not gathered:
        raise SystemExit(f"{folder} has none of the files of Multi30k; they are published at {PUBLISHED}")
    DATA.mkdir(exist_ok=True)
    for recipe, contents in gathered.items():
        for name, content in contents.items():
            (DATA / name).write_bytes(content)
        print(f"{len(contents)} files for {recipe} are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
