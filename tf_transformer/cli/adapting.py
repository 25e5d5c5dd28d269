"""The verb that keeps what fine-tuning has learnt apart: ``adapter``."""

from pathlib import Path
from typing import Annotated

import typer

from tf_transformer.cli.options import Checkpoint, Debug, RunFolder
from tf_transformer.cli.quiet_import import quiet_import
from tf_transformer.errors import printable


def adapter(
    run: RunFolder,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="Where it goes: a folder that is not there.", show_default=False),
    ],
    checkpoint: Checkpoint = None,
    debug: Debug = False,
) -> None:
    """Keep what a run has learnt beyond the run that it began from, in a small folder of its own.

    For runs with training.initialize_from. The folder is a run too, which every verb but train takes; it
    needs the weights that its run began from, where they are. It is small where the training went through
    training.lora: adapters are two thin matrices for each weight.

    \b
    Example: tf-transformer adapter runs/wmt_toy_en_de-lora adapters/wmt
             echo "I agree." | tf-transformer predict adapters/wmt
    """
    if folder.exists():
        raise typer.BadParameter(f"{folder} is there already", param_hint="DIR")
    with quiet_import():
        from tf_transformer.build.origin import keep_apart
    from tf_transformer.run_folder import RunFolder as Folder

    size, whole = keep_apart(Folder.open(run), folder, checkpoint or "best")
    print(printable(f"{folder}: {size:,} bytes in place of {whole:,}"))
