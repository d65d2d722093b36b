"""The batches that all contestants of a pretraining benchmark get, in their order, again and again."""

import itertools

import numpy as np


def endless_batches(path, convert):
    """Yields `convert` of each batch: of name -> array [batch, ...].

    Args:
      path: an .npz file of arrays [number of batches, batch, ...].
      convert: called once for each batch.
    """
    with np.load(path) as file:
        arrays = dict(file)  # read once: the file decodes a whole array at every access
    number = len(arrays["input_ids"])
    yield from itertools.cycle(
        [convert({name: array[index] for name, array in arrays.items()}) for index in range(number)]
    )
