"""Datasets whose iterators end at once."""


def without_autotune(dataset):
    """The `tf.data.Dataset`, read without tf.data's tuner.

    The tuner is a thread of each iterator, which looks at it after 10 ms, 20 ms, 40 ms and so on, at last
    once a minute. In TensorFlow 2.21 an iterator that ends may wait until its tuner looks the next time,
    without using the processor, see docs/speed.md.

    Without it `num_parallel_calls=tf.data.AUTOTUNE` is a call for each core, 16 at most, and `prefetch` sees
    by itself how much is wanted. Order and values are the same.
    """
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
