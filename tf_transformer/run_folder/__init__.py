"""The folder of a run: what lies where, who may write, and how its records grow.

::

    runs/quickstart/
      recipe.yaml       resolved: every key, absolute and relative paths, a checksum of each file
      versions.json     the format of this folder and the packages that wrote it
      lock              who trains in it now; not there when nobody does
      tokenizer/  checkpoints/  tensorboard/  samples/
      metrics.jsonl     one object a validation
      events.jsonl      one object for each thing that happened to the run, such as a changed key
      results.json      the final figures
"""

from tf_transformer.run_folder.folder import RunFolder
from tf_transformer.run_folder.formats import RUN_FORMAT, changes_since
from tf_transformer.run_folder.naming import default_run_path, record_results
from tf_transformer.run_folder.overview import Overview, find_runs, overview_of
from tf_transformer.run_folder.versions import versions

__all__ = [
    "RUN_FORMAT",
    "Overview",
    "RunFolder",
    "changes_since",
    "default_run_path",
    "find_runs",
    "overview_of",
    "record_results",
    "versions",
]
