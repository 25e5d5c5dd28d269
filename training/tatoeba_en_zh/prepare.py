"""Puts the English-Chinese pairs of Tatoeba where the recipe looks for them.

    python training/tatoeba_en_zh/prepare.py FOLDER

FOLDER holds train.tsv, dev.tsv and dev.strict.tsv, or cmn.txt as published at
https://www.manythings.org/anki/ in cmn-eng.zip (sentences of tatoeba.org, CC BY 2.0 FR), which is split here:
an English sentence goes into one file only, and dev.strict.tsv is the part of dev.tsv whose Chinese side is
not in train.tsv. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://www.manythings.org/anki/ (cmn-eng.zip)"
DATA = Path(__file__).parent / "data"
FILES = {  # lines and the beginning of the SHA-256 of the files that the recipe's figures are of
    "train.tsv": (28890, "0bd03d4a9ef8517c"),
    "dev.tsv": (1543, "ef331d1980273bfb"),
    "dev.strict.tsv": (1195, "318a4c6f4d13cda1"),
}


def split(text: str) -> dict[str, list[str]]:
    """Splits the published table by a hash of the English sentence: 1 in 20 for dev."""
    pairs = ["\t".join(line.split("\t")[:2]) for line in text.split("\n") if line.count("\t") >= 1]
    files: dict[str, list[str]] = {"train.tsv": [], "dev.tsv": []}
    for pair in pairs:
        digest = hashlib.sha256(pair.split("\t")[0].encode()).digest()
        files["dev.tsv" if digest[0] % 20 == 0 else "train.tsv"].append(pair)
    known = {pair.split("\t")[1] for pair in files["train.tsv"]}
    files["dev.strict.tsv"] = [pair for pair in files["dev.tsv"] if pair.split("\t")[1] not in known]
    return files


def read(folder: Path) -> dict[str, bytes]:
    """The contents of the three files: as they lie in the folder, or split from cmn.txt."""
    if (folder / "cmn.txt").is_file():
        files = split((folder / "cmn.txt").read_text(encoding="utf-8-sig"))
        return {name: "".join(f"{pair}\n" for pair in pairs).encode() for name, pairs in files.items()}
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise SystemExit(f"{folder} lacks {', '.join(missing)}; the data is published at {PUBLISHED}")
    return {name: (folder / name).read_bytes() for name in FILES}


def check(contents: dict[str, bytes]) -> None:
    """Refuses a line without exactly two columns, and reports files that the figures are not of."""
    for name, content in contents.items():
        for number, line in enumerate(content.removesuffix(b"\n").split(b"\n"), start=1):
            if line.count(b"\t") != 1:
                raise SystemExit(f"{name}, line {number}: must have two columns. Received: {line[:80]!r}")
        lines, digest = FILES[name]
        if content.count(b"\n") != lines or not hashlib.sha256(content).hexdigest().startswith(digest):
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
