"""The verb that makes runs of other systems' models: ``import``, with one word for each system."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from tf_transformer.cli.options import Debug, Quiet, bounded
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.errors import printable

if TYPE_CHECKING:
    from tf_transformer.importing.imported import Imported

import_models = typer.Typer(
    help="Make a run of a model that another system has trained.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

_Run = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of the run that is made.", show_default=False)
]


@import_models.callback()
def _import() -> None:
    """Holds the systems together."""


def _file(text: str) -> Any:
    return typer.Option(metavar="FILE", help=text, show_default=False)


@import_models.command("opennmt-tf")
def opennmt_tf(
    checkpoint: Annotated[
        Path,
        typer.Argument(
            metavar="CHECKPOINT",
            help="A checkpoint without its ending, such as run/ckpt-5000, or the folder of some.",
            show_default=False,
        ),
    ],
    run: _Run,
    config: Annotated[
        Path, _file("The YAML file that it was trained with: it names vocabularies and search.")
    ],
    sentencepiece: Annotated[
        Path | None,
        _file("The SentencePiece model of the text; by default that of the YAML file."),
    ] = None,
    target_sentencepiece: Annotated[Path | None, _file("The same for the target, where it differs.")] = None,
    heads: Annotated[
        int | None,
        typer.Option(
            callback=bounded(1, 65536),
            metavar="N",
            help="Attention heads; by default 8 for a width of 512, and 16 for 1024.",
            show_default=False,
        ),
    ] = None,
    activation: Annotated[
        Literal["relu", "gelu_tanh", "swish"], typer.Option(help="In its feed-forward layers.")
    ] = "relu",
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make a run of a Transformer of OpenNMT-tf 2.

    The run predicts, scores, exports and serves like any, with its own tokens, weights and search. OpenNMT-tf
    need not be installed. Text must have been split by SentencePiece.

    Exit codes: 0 when the run was made; 1 for a failure; 2 for a wrong command line.

    \b
    Example: tf-transformer import opennmt-tf onmt/run runs/onmt --config data.yml --sentencepiece sp.model
    """

    def read() -> "Imported":
        from tf_transformer.importing.opennmt_tf import read_opennmt_tf
        from tf_transformer.importing.opennmt_tf_settings import read_settings

        models = sentencepiece, target_sentencepiece or sentencepiece
        return read_opennmt_tf(checkpoint, read_settings(config, models, heads, activation))

    _made(run, read, quiet)


@import_models.command("marian")
def marian(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="Folder with config.json, model.safetensors, vocab.json, source.spm and target.spm.",
            show_default=False,
        ),
    ],
    run: _Run,
    quiet: Quiet = False,
    debug: Debug = False,
) -> None:
    """Make a run of a Marian model, OPUS-MT's among them, as transformers saves it.

    The run predicts, scores, exports and serves like any, with its own tokens, weights and search. The
    library transformers need not be installed: safetensors reads the weights, see the extra 'import' of this
    package. Models of several target languages are refused.

    Exit codes: 0 when the run was made; 1 for a failure; 2 for a wrong command line.

    \b
    Example: tf-transformer import marian opus-mt-en-de runs/opus-mt-en-de
    """

    def read() -> "Imported":
        from tf_transformer.importing.marian import read_marian

        return read_marian(model)

    _made(run, read, quiet)


def _made(run: Path, read: Callable[[], "Imported"], quiet: bool) -> None:
    with quiet_import():
        from tf_transformer.importing.imported import demand_free, write_run
    demand_free(run)
    found = read()
    loaded = write_run(found, run)
    if not quiet:
        sizes, side = loaded.recipe.model, found.side
        lines = [
            f"{found.origin}: {sizes.num_layers} layers, width {sizes.hidden_dim}, {sizes.num_heads} heads, "
            f"{side.target_vocabulary_size:,} pieces",
            *found.remarks,
            f"next: tf-transformer predict {run} --input FILE",
        ]
        for line in lines:
            print(printable(line), file=sys.stderr)
    print(run)
