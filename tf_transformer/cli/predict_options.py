"""What ``predict`` may be told; most of it is for one task or two."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tf_transformer.cli.options import bounded
from tf_transformer.presets import GREATEST_SEED, LONGEST_ANSWER, MOST_HYPOTHESES


def _option(help: str, metavar: str | None = None, least: float | None = None, most: float = 0) -> Any:
    """An option that need not be given, its number within bounds."""
    check = None if least is None else bounded(least, most)
    return typer.Option(callback=check, metavar=metavar, help=help, show_default=False)


Tag = Annotated[
    str | None,
    _option("The tag of all lines, such as a language, for a model that was trained with tags.", "NAME"),
]
Input = Annotated[
    Path | None,
    _option("Lines to read in place of stdin; .gz too.", "FILE"),
]
Beam = Annotated[
    int | None,
    _option(
        f"Hypotheses kept alive, 1 (greedy) to {MOST_HYPOTHESES}. Default: the recipe's.",
        "N",
        1,
        MOST_HYPOTHESES,
    ),
]
LengthPenalty = Annotated[
    float | None,
    _option(
        "Exponent of the length: score = log P / length^A (mean) or log P / ((5 + length) / 6)^A "
        "(gnmt), as decoding.length_formula of the recipe says. Default: the recipe's.",
        "A",
        0,
        100,
    ),
]
MaxLength = Annotated[
    int | None,
    _option("Most pieces of an answer. Default: the recipe's rule.", "N", 1, LONGEST_ANSWER),
]
MaxLengthFactor = Annotated[
    float | None,
    _option(
        "Most pieces for each source piece; with --max-length so many more. Default: the recipe's.",
        "X",
        0,
        1000,
    ),
]
MinLength = Annotated[
    int | None,
    _option("Least pieces of an answer. Default: the recipe's rule.", "N", 0, LONGEST_ANSWER),
]
MinLengthFactor = Annotated[
    float | None,
    _option(
        "Least pieces for each source piece; with --min-length so many more. Default: the recipe's.",
        "X",
        0,
        1000,
    ),
]
Prefix = Annotated[
    str | None,
    _option("What every answer begins with, in whole words.", "TEXT"),
]
Alternatives = Annotated[
    int | None,
    _option(
        "Answer with N translations that go on from --prefix with different pieces, likeliest first.",
        "N",
        1,
        MOST_HYPOTHESES,
    ),
]
CoveragePenalty = Annotated[
    float | None,
    _option(
        "Weight in the score of log min(attention, 1) of each source piece. Default: the recipe's.",
        "B",
        0,
        100,
    ),
]
Diversity = Annotated[
    float | None,
    _option(
        "Taken off an extension for each likelier one of the same hypothesis, so that the answers of "
        "--n-best differ more. Default: the recipe's.",
        "X",
        0,
        1000,
    ),
]
Temperature = Annotated[
    float | None,
    _option(
        "Below 1 likely pieces become likelier, 0 takes the likeliest. Default: the recipe's, or 1.",
        "T",
        0,
        100,
    ),
]
TopK = Annotated[
    int | None,
    _option(
        "Draw from so many of the likeliest pieces, 0 for all. Default: the recipe's, or 0.",
        "N",
        0,
        GREATEST_SEED,
    ),
]
TopP = Annotated[
    float | None,
    _option(
        "Draw from the likeliest pieces that have this probability. Default: the recipe's, or 1.",
        "P",
        1e-6,
        1,
    ),
]
RepetitionPenalty = Annotated[
    float | None,
    _option("Above 1, pieces that were there before are less likely. Default: the recipe's.", "X", 0.01, 100),
]
NoRepeat = Annotated[
    int | None,
    _option("So many pieces in a row never come twice. Default: the recipe's.", "N", 0, LONGEST_ANSWER),
]
Ban = Annotated[
    list[str] | None,
    _option("A piece that no answer has, <unk> for the unknown one; may be given again.", "PIECE"),
]
Seed = Annotated[
    int | None,
    _option(
        "Seed of what is drawn: the same gives the same. Default: the recipe's, or 1.", "N", 0, GREATEST_SEED
    ),
]
OnLong = Annotated[
    Literal["cut", "split", "refuse"] | None,
    _option(
        "What becomes of a line that the model does not read to its end: cut, split where its sentences "
        "end, or refuse. Default: the recipe's."
    ),
]
Ensemble = Annotated[
    list[Path] | None,
    _option(
        "Another run with the same tokenizer, to average probabilities with; may be given again.",
        "RUN",
    ),
]
NBest = Annotated[
    int,
    typer.Option(
        callback=bounded(1, MOST_HYPOTHESES),
        metavar="N",
        help="Answers for each line, best first, on N lines.",
    ),
]
Scores = Annotated[bool, typer.Option("--scores", help="Put the score and a tab before each answer.")]
Sample = Annotated[
    bool, typer.Option("--sample", help="Draw translations at random in place of searching for the best.")
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="With --json: pieces, their log-probabilities, and which source pieces they come from.",
    ),
]
ReplaceUnknown = Annotated[
    bool,
    typer.Option(
        "--replace-unknown", help="Put the source word attended to most in place of an unknown piece."
    ),
]
Stream = Annotated[
    bool, typer.Option("--stream", help="Show each piece of an answer as soon as it is there.")
]
