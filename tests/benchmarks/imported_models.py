"""Whether imported models answer as in the systems that they come from.

    python tests/benchmarks/imported_models.py --marian VENV --source train.en --target train.de
    python tests/benchmarks/imported_models.py --opennmt VENV --config data.yml --model model.py \\
        --checkpoint run/ckpt-150 --sentencepiece sp.model --heads 4 --source test.en --pieces test.sp.en

Each system runs in a virtual environment of its own. `--marian` (transformers, torch, sentencepiece) makes a
model of random weights, with pieces learnt from the first lines of both files; the ids of the texts, the
logits of the answers and the greedy answers are compared. `--opennmt` lets OpenNMT-tf answer greedily to text
that is split already, and this project to the text itself: pieces and log-probabilities are compared.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from tf_transformer.importing.imported import write_run
from tf_transformer.importing.marian import read_marian
from tf_transformer.importing.opennmt_tf import read_opennmt_tf
from tf_transformer.importing.opennmt_tf_settings import read_settings
from tf_transformer.presets import END_ID, PAD_ID, START_ID, UNKNOWN_ID

CONTESTANTS = Path(__file__).parent / "contestants"
TOLERANCE = {"logits": 1e-4, "log_probability": 1e-3}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--marian", type=Path, help="virtual environment of transformers")
    parser.add_argument("--opennmt", type=Path, help="virtual environment of OpenNMT-tf")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--target", type=Path, help="for --marian")
    parser.add_argument("--pieces", type=Path, help="the source, split by SentencePiece; for --opennmt")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--model", type=Path)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--sentencepiece", type=Path)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--work", type=Path, help="folder for files; by default a temporary one")
    return parser.parse_args()


def lines_of(file: Path, number: int) -> list[str]:
    """The first lines of a file."""
    return file.read_text(encoding="utf-8").split("\n")[:number]


def ask(venv: Path, script: str, settings: dict[str, Any], folder: Path) -> None:
    """Runs a contestant in its environment; it writes its answers."""
    file = folder / f"{script}.json"
    file.write_text(json.dumps(settings), encoding="utf-8")
    python = venv.absolute() / "bin" / "python"
    subprocess.run([str(python), str(CONTESTANTS / script), str(file)], check=True)


def marian(given: argparse.Namespace, folder: Path) -> list[str]:
    """Ids, logits and greedy answers of a random model."""
    texts = [*lines_of(given.source, given.sentences), "Æ 中 a", "  two  spaces "]
    files = {}
    for side in ("source", "target"):
        files[side] = str(folder / f"{side}.txt")
        Path(files[side]).write_text("\n".join(lines_of(getattr(given, side), 2000)), encoding="utf-8")
    answers, model = folder / "marian.npz", folder / "marian"
    ask(
        given.marian,
        "marian_answers.py",
        {"folder": str(model), **files, "texts": texts, "answers": str(answers)},
        folder,
    )
    theirs = np.load(answers)
    run = write_run(read_marian(model), folder / "marian-run")
    numbers = json.loads(str(theirs["tables"]))
    ours = _theirs_to_ours(numbers, run.task.preprocessor.source_tokens)
    sources = run.task.encode(texts).to_list()
    # Pieces that their vocabulary lacks have ids of their own here, with the vector of the unknown one.
    first = len(numbers) + 1
    known = [[one if one < first else UNKNOWN_ID for one in row] for row in sources]
    same_ids = sum(
        _mapped(row, ours, numbers) == own for row, own in zip(theirs["source"], known, strict=True)
    )
    source_ids = run.task.encode(texts).to_tensor().numpy()
    target_ids = ours[theirs["target"]]
    target_ids[:, 0] = START_ID
    logits = run.task.model({"source_ids": source_ids, "target_ids": target_ids}).numpy()
    pad = numbers["<pad>"]
    real = theirs["target"][:, 1:] != pad
    real = np.concatenate([np.ones((len(real), 1), bool), real], axis=1)
    error = np.abs(logits[..., ours] - theirs["logits"])[real].max()
    greedy = run.task.n_best(texts, 1, beam_size=1, max_length_margin=19, details=True)
    names = {number: token for token, number in numbers.items()}
    same = 0
    for row, (best,) in zip(theirs["answers"], greedy, strict=True):
        pieces = [names[int(number)] for number in row if int(number) not in (pad, 0)]
        own = [piece for piece in best.details.pieces if piece != "</s>"]
        same += pieces == own
    return [
        f"Marian: the same source ids for {same_ids} of {len(texts)} texts",
        f"Marian: {int(real.sum()):,} positions, logits of size up to {np.abs(theirs['logits']).max():.2f} "
        f"differ by {error:.2e} at most (allowed: {TOLERANCE['logits']:g})",
        f"Marian: the same greedy pieces for {same} of {len(texts)} texts",
    ]


def _theirs_to_ours(numbers: dict[str, int], tokens: list[str]) -> np.ndarray[Any, Any]:
    """Our id of each of their ids."""
    ids = {token: number for number, token in enumerate(tokens)}
    special = {"<pad>": PAD_ID, "<unk>": UNKNOWN_ID, "</s>": END_ID}
    ordered = sorted(numbers, key=numbers.__getitem__)
    return np.array([special.get(token, ids[token]) for token in ordered])


def _mapped(row: Any, ours: np.ndarray[Any, Any], numbers: dict[str, int]) -> list[int]:
    return [int(ours[number]) for number in row if number != numbers["<pad>"]]


def opennmt(given: argparse.Namespace, folder: Path) -> list[str]:
    """Greedy pieces and log-probabilities of a trained model."""
    texts = lines_of(given.source, given.sentences)
    pieces, answers = folder / "pieces.txt", folder / "opennmt.json"
    pieces.write_text(
        "".join(f"{line}\n" for line in lines_of(given.pieces, given.sentences)), encoding="utf-8"
    )
    settings = {
        "config": str(given.config.absolute()),
        "model": str(given.model.absolute()),
        "checkpoint": str(given.checkpoint.absolute()),
        "lines": str(pieces),
        "number": len(texts),
        "answers": str(answers),
    }
    ask(given.opennmt, "opennmt_answers.py", settings, folder)
    theirs = json.loads(answers.read_text(encoding="utf-8"))
    models = (given.sentencepiece, given.sentencepiece)
    found = read_opennmt_tf(given.checkpoint, read_settings(given.config, models, given.heads))
    run = write_run(found, folder / "opennmt-run")
    ours = run.task.n_best(texts, 1, beam_size=1, details=True)
    same, errors = 0, [0.0]
    for wanted, (best,) in zip(theirs, ours, strict=True):
        own = [piece for piece in best.details.pieces if piece != "</s>"]
        if own == wanted["pieces"]:
            same += 1
            errors.append(abs(best.log_probability - wanted["log_probability"]))
    number = sum(len(one["pieces"]) for one in theirs)
    return [
        f"OpenNMT-tf: the same {number:,} greedy pieces for {same} of {len(texts)} sentences "
        f"({100 * same / len(texts):.1f} %, wanted: 99 %)",
        f"OpenNMT-tf: their log-probabilities differ by {max(errors):.2e} at most "
        f"(allowed: {TOLERANCE['log_probability']:g})",
    ]


def main() -> None:
    """Compares, prints."""
    given = arguments()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.work or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        if given.marian:
            print("\n".join(marian(given, folder)))
        if given.opennmt:
            print("\n".join(opennmt(given, folder)))


if __name__ == "__main__":
    main()
