"""Run in a process of its own, which makes two CPU devices: whether tf.data's tuner is on for each of them.

Prints for tf.distribute's own iterator and for kbert's what `autotune.enabled` is of each device, as JSON.
"""

import json

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import distribute, make_strategy


def main():
    strategy = make_strategy("mirrored", 2)  # before anything else: it makes the devices

    import tensorflow as tf

    from kbert.input_pipelines.epochs import without_autotune

    def numbers(share):
        batches = tf.data.Dataset.range(8).batch(4, drop_remainder=True).map(lambda x: {"x": x})
        return without_autotune(batches)

    def tuners_of(batches):
        (of_worker,) = iter(batches)._iterators
        return [one._dataset.options().autotune.enabled for one in of_worker._iterator._device_iterators]

    ours = distribute(strategy, numbers)
    parts = [strategy.experimental_local_results(batch["x"]) for batch in ours]
    print(
        json.dumps(
            {
                "tf.distribute": tuners_of(strategy.distribute_datasets_from_function(numbers)),
                "kbert": tuners_of(ours),
                "parts": [[part.numpy().tolist() for part in batch] for batch in parts],
            }
        )
    )


if __name__ == "__main__":
    main()
