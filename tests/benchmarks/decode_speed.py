"""How fast this project translates, side by side with its peers, in one run on one machine.

    python tests/benchmarks/decode_speed.py --run RUN --source test.en --target test.de \\
        --ctranslate2 MODEL --beam-sampler --opennmt VENV --opennmt-config FILE --opennmt-model FILE

lets each contestant translate the same sentences: all of them by beam search, all by greedy search, and some
of them by beam search each by itself. Every one has a process of its own that is started once, passes over
the sentences so that its graphs are made, and then works in turns with the others; while one works, the rest
are stopped. Nothing else should run meanwhile. How each is called stands at the top of its script in
`contestants/`.

`--ctranslate2` takes a model that `tf-transformer export --format ctranslate2` made of the same run.
OpenNMT-tf brings a model of its own: the YAML file that it was trained with and its model file, with the
run's pieces as its vocabulary. `--slow N` lets OpenNMT-tf and the sampler of keras_nlp pass over the first N
sentences, not over all.

How to read it:

- tokens/s: tokens of the contestant's own best answers, end tokens counted, by the time from the first to the
  last answer; the median over the rounds, and their range. Absolute figures move with the machine. The ratios
  are what counts: each is the median of the ratios within a round.
- length: tokens of a mean answer. Who says more does more work a sentence.
- alone: milliseconds for a sentence by itself, the median of all and their 99th percentile.
- start s: from the start of the process to the first answer. peak MB: the most memory it had resident.
- BLEU: of the sentences that it passed over, by the recipe's tokenizer.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import race
import sacrebleu
from figures import aligned, ratio
from race import Contestant, Runner
from train_speed import machine, say

import tf_transformer
from tf_transformer.build.run import load_run
from tf_transformer.tasks import Translator
from tf_transformer.tasks.options import replace_options


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=Path, required=True, help="a trained run with SentencePiece pieces")
    parser.add_argument("--source", type=Path, required=True, help="sentences, one a line")
    parser.add_argument("--target", type=Path, required=True, help="their translations, for BLEU")
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--ctranslate2", type=Path, help="a CTranslate2 model of the same run")
    parser.add_argument("--compute-types", nargs="+", default=["float32", "int8"], help="CTranslate2's")
    parser.add_argument("--beam-sampler", action="store_true", help="keras_nlp's sampler over our model")
    parser.add_argument("--opennmt", type=Path, help="virtual environment of OpenNMT-tf")
    parser.add_argument("--opennmt-config", type=Path)
    parser.add_argument("--opennmt-model", type=Path)
    parser.add_argument("--sentences", type=int, default=10**9, help="only the first so many")
    parser.add_argument("--slow", type=int, default=10**9, help="sentences for the slow contestants")
    parser.add_argument("--alone", type=int, default=100, help="sentences that are translated alone")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="contestants by name")
    parser.add_argument("--json", type=Path, help="write all figures there")
    parser.add_argument("--work", type=Path, help="folder for files and logs; by default a temporary one")
    return parser.parse_args()


def prepare(given: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Writes the sentences and our exports; the settings that all contestants share."""
    task = load_run(given.run, "best").task
    assert isinstance(task, Translator)
    lines = given.source.read_text(encoding="utf-8").split("\n")[:-1][: given.sentences]
    rows = [
        [task.preprocessor.source_tokens[number] for number in ids[:-1]]
        for ids in task.encode(lines).to_list()
    ]
    sentences = [{"text": line, "pieces": row} for line, row in zip(lines, rows, strict=True)]
    (folder / "sentences.json").write_text(json.dumps(sentences), encoding="utf-8")
    exports = {}
    for size in {given.beam, 1}:
        options = replace_options(task.options, beam_size=size)
        plain = Translator(task.model, task.preprocessor, options, max_source_length=task.max_source_length)
        exports[str(size)] = str(folder / f"beam{size}")
        plain.export(exports[str(size)])
    return {
        "sentences": str(folder / "sentences.json"),
        "beam": given.beam,
        "alone": given.alone,
        "number": len(lines),
        "threads": given.threads,
        "run": str(given.run.absolute()),
        "exports": exports,
        "custom_ops": bool(task.custom_ops),
        "pieces": str(next((given.run / "tokenizer").rglob("sentencepiece.model")).absolute()),
        "length_penalty": task.options.length_penalty,
        "batch": 2048,
        "rows": 32,
    }


def contestants(given: argparse.Namespace, folder: Path, shared: dict[str, Any]) -> Iterator[Contestant]:
    """Everyone who takes part."""
    here = Path(sys.executable)
    number = min(given.slow, shared["number"])
    slow = {"number": number, "alone": min(given.alone, max(1, number // 4))}

    def one(name: str, script: str, python: Path = here, **own: Any) -> Contestant:
        answers = folder / f"{name.replace(' ', '_')}.json.answers"
        return Contestant(name, script, python, {**shared, **own, "answers": str(answers)}, 1, 0.0)

    yield one("ours", "ours_decoding.py")
    if given.ctranslate2:
        for kind in given.compute_types:
            own = {"folder": str(given.ctranslate2.absolute()), "compute_type": kind}
            yield one(f"CTranslate2 {kind}", "ctranslate2_decoding.py", **own)
    if given.beam_sampler:
        yield one("BeamSampler", "beam_sampler.py", **slow)
    if given.opennmt:
        python = given.opennmt.absolute() / "bin" / "python"
        own = {"config": str(given.opennmt_config.absolute()), "model": str(given.opennmt_model.absolute())}
        yield one("OpenNMT-tf", "opennmt_decoding.py", python, **own, **slow)


def figures(runner: Runner, references: Sequence[str], tokenize: str) -> dict[str, Any]:
    """All figures of a contestant."""
    rounds = [answer["target_tokens"] / answer["seconds"] for answer in runner.slices]
    greedy = [answer["greedy_tokens"] / answer["greedy_seconds"] for answer in runner.slices]
    alone = 1e3 * np.array([answer["alone"] for answer in runner.slices]).ravel()
    number = runner.contestant.settings["number"]
    pieces = json.loads(Path(runner.contestant.settings["answers"]).read_text(encoding="utf-8"))
    texts = ["".join(row).replace("\u2581", " ").strip() for row in pieces]
    return {
        "name": runner.contestant.name,
        "batch": 1,
        "tokens_per_second": median(rounds),
        "slowest": min(rounds),
        "fastest": max(rounds),
        "rounds": rounds,
        "greedy": median(greedy),
        "length": runner.slices[-1]["target_tokens"] / number,
        "alone_p50": float(np.median(alone)),
        "alone_p99": float(np.quantile(alone, 0.99)),
        "start_seconds": runner.first["first_update_seconds"],
        "peak_bytes": max(answer["peak_bytes"] for answer in runner.slices),
        "sentences": number,
        "bleu": sacrebleu.corpus_bleu(texts, [list(references[:number])], tokenize=tokenize).score,
    }


def table(rows: Sequence[dict[str, Any]]) -> str:
    """All figures, as text."""
    head = ("", "tokens/s", "slowest", "fastest", "of ours", "greedy", "length", "alone p50", "p99")
    cells = [(*head, "start s", "peak MB", "sentences", "BLEU")]
    cells += [
        (
            row["name"],
            f"{row['tokens_per_second']:,.0f}",
            f"{row['slowest']:,.0f}",
            f"{row['fastest']:,.0f}",
            f"{ratio(row, rows[0]):.2f}",
            f"{row['greedy']:,.0f}",
            f"{row['length']:.1f}",
            f"{row['alone_p50']:.1f}",
            f"{row['alone_p99']:.1f}",
            f"{row['start_seconds']:.1f}",
            f"{row['peak_bytes'] / 1e6:,.0f}",
            f"{row['sentences']:,}",
            f"{row['bleu']:.2f}",
        )
        for row in rows
    ]
    return aligned(cells)


def main() -> None:
    """Prepares, races, prints."""
    given, where = arguments(), machine()
    race.keep_to_cores(given.threads)
    tokenize = tf_transformer.recipe.load_recipe(given.run / "recipe.yaml").evaluation.tokenize
    references = given.target.read_text(encoding="utf-8").split("\n")
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.work or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        everyone = list(contestants(given, folder, prepare(given, folder)))
        runners = [
            Runner(one, folder, given.threads) for one in everyone if not given.only or one.name in given.only
        ]
        race.run(runners, given.rounds, say)
        rows = [figures(runner, references, tokenize) for runner in runners]
    print(f"{where}; {given.threads} threads, beam {given.beam}, {given.rounds} rounds\n\n{table(rows)}")
    if given.json:
        settings = {key: value for key, value in vars(given).items() if not isinstance(value, Path)}
        record = {"machine": where, "settings": settings, "contestants": rows}
        given.json.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
