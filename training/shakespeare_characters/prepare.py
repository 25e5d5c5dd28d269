"""Puts the characters of Shakespeare where the recipe looks for them.

    python training/shakespeare_characters/prepare.py FOLDER

FOLDER holds input.txt, as published at https://github.com/karpathy/char-rnn in data/tinyshakespeare (public
domain), which is cut here: the first nine tenths of its characters are for training, the rest is the test
set; or it holds the two parts as train.txt and val.txt. Nothing is downloaded here.

Dev is ten passages of the training text, whole speeches, spread evenly. Its end would not do: the test set
begins in the middle of a play, whose names are learnt from what stands before the cut.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/karpathy/char-rnn (data/tinyshakespeare/input.txt)"
DATA = Path(__file__).parent / "data"
PASSAGES, PASSAGE = 10, 3000  # of dev: their number, and the least characters of each
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


def carved(text: bytes) -> tuple[bytes, bytes]:
    """The text without the passages of dev, and those one after the other."""
    rest, dev, last = [], [], 0
    for number in range(PASSAGES):
        begin = text.index(b"\n\n", len(text) * (2 * number + 1) // (2 * PASSAGES)) + 2
        end = text.index(b"\n\n", begin + PASSAGE) + 2
        rest.append(text[last:begin])
        dev.append(text[begin:end])
        last = end
    return b"".join([*rest, text[last:]]), b"".join(dev)


def main(folder: Path) -> None:
    contents = read(folder)
    check(contents)
    contents["train.txt"], contents["dev.txt"] = carved(contents["train.txt"])
    DATA.mkdir(exist_ok=True)
    for name, content in contents.items():
        (DATA / name).write_bytes(content)
    print(f"{len(contents)} files are in {DATA}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: python {sys.argv[0]} FOLDER\nThe data is published at {PUBLISHED}")
    main(Path(sys.argv[1]))
