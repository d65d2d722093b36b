"""Whether weights have changed since they were last looked at."""

import numpy as np
import tensorflow as tf

# So many numbers of each weight are looked at: all of a bias, a sample of a matrix.
_SAMPLE = 64


class WeightChanges:
    """Notices that variables were assigned, by a sample of their numbers.

    Training, loading and every other change of whole weights shows. A change of single numbers of a matrix
    may not; call `AnsweringModel.renew` after such a one.

    Args:
      variables: Keras variables.

    Returns:
      Called without arguments: whether the sample differs from that of the last call, or of the beginning.
    """

    def __init__(self, variables):
        self._variables = [variable.value for variable in variables]
        self._sample = tf.function(self._sampled)
        self._seen = self._sample().numpy()

    def __call__(self) -> bool:
        sample = self._sample().numpy()
        changed = not np.array_equal(sample, self._seen, equal_nan=True)
        self._seen = sample
        return changed

    def _sampled(self):
        return tf.concat([_sample_of(variable) for variable in self._variables], axis=0)


def _sample_of(variable):
    size = variable.shape.num_elements()
    places = np.unique(np.linspace(0, size - 1, min(size, _SAMPLE)).astype(np.int32))
    return tf.cast(tf.gather(tf.reshape(variable, [-1]), places), "float32")
