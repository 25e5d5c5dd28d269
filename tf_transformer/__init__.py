"""Train, evaluate, export and serve Transformers with Keras and TensorFlow."""

__version__ = "0.1.0"
