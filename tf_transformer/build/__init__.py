"""The one place that turns recipes and run folders into objects: below it nothing sees a recipe."""

from tf_transformer.build.problem import Problem
from tf_transformer.build.problems import problem_of
from tf_transformer.build.run import LoadedRun, load, load_run

__all__ = ["LoadedRun", "Problem", "load", "load_run", "problem_of"]
