"""The examples in the docstrings of ops, layers and models run and give what they show."""

import doctest
import importlib
import pkgutil

import pytest

import tf_transformer.layers
import tf_transformer.models

MODULES = [
    f"{package.__name__}.{module.name}"
    for package in (tf_transformer.layers, tf_transformer.models)
    for module in pkgutil.walk_packages(package.__path__)
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples() -> None:
    finder = doctest.DocTestFinder()
    tests = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(tests) >= len(tf_transformer.layers.__all__) + len(tf_transformer.models.__all__)
