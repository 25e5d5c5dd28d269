"""Puts the characters of Shakespeare where the recipe looks for them.

    python training/shakespeare_characters/prepare.py FOLDER

FOLDER holds input.txt, as published at https://github.com/karpathy/char-rnn in data/tinyshakespeare (public
domain), which is cut here: the first nine tenths of its characters are for training, the rest is the test
set; or it holds the two parts as train.txt and val.txt. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/karpathy/char-rnn (data/tinyshakespeare/input.txt)"
DATA = Path(__file__).parent / "data"
FILES = {  # characters and the beginning of the SHA-256 of the files that the recipe's figures are of
    "train.txt": (1003854, "a9e24e23a1ec7774"),
    "val.txt": (111540, "c54f3753a4e6e3c3"),
}


def read(folder: Path) -> dict[str, bytes]:
    """The contents of both files, cut from input.txt where the folder has that."""
    if (folder / "input.txt").is_file():
        text = (folder / "input.txt").read_bytes()  # ASCII: a byte is a character
        cut = int(len(text) * 0.9)
        return {"train.txt": text[:cut], "val.txt": text[cut:]}
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}; the data is published at {PUBLISHED}")
    return {name: (folder / name).read_bytes() for name in FILES}


def check(contents: dict[str, bytes]) -> None:
    """Refuses another number of characters, and reports files that the figures are not of."""
    for name, content in contents.items():
        characters, digest = FILES[name]
        if len(content) != characters:
            raise SystemExit(f"{name} must have {characters} characters. Received: {len(content)}")
        if not hashlib.sha256(content).hexdigest().startswith(digest):
            print(f"{name} differs from the file that the recipe's figures are of", file=sys.stderr)


def main(folder: Path) -> None:
    contents = read(folder)
    check(contents)
    DATA.mkdir(exist_ok=True)
    for name, content in contents.items():
        (DATA / name).write_bytes(content)
    print(f"{len(contents)} files are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
