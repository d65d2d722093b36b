"""Distributed datasets whose iterators end at once."""

from kbert.input_pipelines.epochs import without_autotune


class DistributedBatches:
    """A distributed dataset whose iterators have no tuner for any device, see `without_autotune`.

    tf.distribute reads for each device of a process through a dataset that it makes itself, and it takes no
    options for that dataset. So the function that makes it is wrapped while an iterator is made. The function
    is private to TensorFlow: a version without it raises AttributeError here.

    Args:
      batches: what `tf.distribute.Strategy.distribute_datasets_from_function` returns. Its own options must
        already switch the tuner off.
    """

    def __init__(self, batches):
        self._batches = batches

    @property
    def element_spec(self):
        """As that of the distributed dataset."""
        return self._batches.element_spec

    def __iter__(self):
        from tensorflow.python.data.ops import multi_device_iterator_ops

        make = multi_device_iterator_ops._create_device_dataset
        multi_device_iterator_ops._create_device_dataset = lambda *args: without_autotune(make(*args))
        try:
            return iter(self._batches)
        finally:
            multi_device_iterator_ops._create_device_dataset = make
