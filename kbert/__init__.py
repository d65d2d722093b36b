"""kbert: the whole life of BERT in TensorFlow and Keras 3."""

__version__ = "0.1.0"
