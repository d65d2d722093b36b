"""kbert: the whole life of BERT in TensorFlow and Keras 3."""
