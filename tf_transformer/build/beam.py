"""Work that is dealt out by Apache Beam: to threads or processes of this machine, or to a cluster."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from tf_transformer.errors import RunError

Task = TypeVar("Task")
_MOST_LETTERS = 400


def by_beam(
    work: Callable[[Task], object], tasks: Sequence[Task], runner: str, options: Sequence[str]
) -> None:
    """Does some work on each of some tasks as a pipeline, and waits until all of it is done.

    A task that a runner does twice, as runners may, does no harm: it writes the same file, whole each time.

    Args:
        work: Can be sent to other machines, which have this package.
        tasks: What it is called with.
        runner: Name of a runner, such as ``DirectRunner``, ``FlinkRunner`` or ``SparkRunner``.
        options: Options of the pipeline, ``--name=value``.

    Raises:
        RunError: When Beam is not installed, knows no such runner, or the pipeline fails.
    """
    try:
        import apache_beam as beam
        from apache_beam.options.pipeline_options import PipelineOptions
    except ImportError:
        raise RunError("--runner needs Apache Beam: pip install 'tf-transformer[beam]'") from None
    try:
        with beam.Pipeline(runner, PipelineOptions([*options])) as pipeline:
            # Without the shuffle all tasks would be one bundle, on one machine.
            _ = pipeline | beam.Create([*tasks]) | beam.Reshuffle() | beam.Map(work)
    except Exception as error:
        raise RunError(f"--runner {runner}: {' '.join(str(error).split())[:_MOST_LETTERS]}") from error
