"""Tasks: a model, its text side and its search, joined into text in, answer out."""

from tf_transformer.tasks.classification import Answer
from tf_transformer.tasks.classify import TextClassifier
from tf_transformer.tasks.classify_images import ImageClassifier
from tf_transformer.tasks.classify_vectors import VectorClassifier
from tf_transformer.tasks.generate import Generator
from tf_transformer.tasks.hypothesis import Hypothesis
from tf_transformer.tasks.options import SearchOptions
from tf_transformer.tasks.sampling_options import SamplingOptions
from tf_transformer.tasks.translate import Translator

__all__ = [
    "Answer",
    "Generator",
    "Hypothesis",
    "ImageClassifier",
    "SamplingOptions",
    "SearchOptions",
    "TextClassifier",
    "Translator",
    "VectorClassifier",
]
