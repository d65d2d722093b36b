"""Run in a process of its own, which needs two CPU devices: prints losses of one and two replicas as JSON."""

import json
import sys

import kbert.command_line  # noqa: F401  a quiet start
from kbert.training.devices.distribution import make_strategy


def main():
    mirrored = make_strategy("mirrored", 2)  # before anything else: it makes the devices

    import numpy as np
    import tensorflow as tf

    from tests.kbert.training.small_training import SmallTraining, random_batches

    batches = random_batches(5, batch_size=8)
    # The first replica's half of every batch is heavier, so that a mean of means would show.
    batches["masked_lm_weights"][:, :4] = 1.0
    assert len(tf.config.list_logical_devices("CPU")) == 2 and mirrored.num_replicas_in_sync == 2

    answer = {}
    for name, strategy in (("one", None), ("two", mirrored)):
        training = SmallTraining(batches, strategy, dropout=0.0, clipnorm=0.1, learning_rate=5e-3)
        answer[name] = training.losses(20)
    copies = [
        [copy.numpy() for copy in training.step._strategy.experimental_local_results(v.value)]
        for v in training.weights.values()
    ]
    answer["replicas_agree"] = all(np.array_equal(first, second) for first, second in copies)

    same = {name: np.concatenate([value[:, :4]] * 2, axis=1) for name, value in batches.items()}
    training = SmallTraining(same, mirrored, dropout=0.3)
    answer["dropout"] = dropout_of_replicas(training, mirrored)
    json.dump(answer, sys.stdout)


def dropout_of_replicas(training, strategy):
    """Whether two replicas, and two steps, draw different dropout; and the same step the same."""
    import tensorflow as tf

    @tf.function
    def masks(step):
        def replica():
            context = tf.distribute.get_replica_context()
            training.step._seed_dropout(step, context.replica_id_in_sync_group)
            layer = training.model.get_layer("encoder").get_layer("layer_0").dropout_layer
            return layer(tf.ones((40,)), training=True)

        return strategy.experimental_local_results(strategy.run(replica))

    first, second = (mask.numpy() for mask in masks(tf.constant(3, tf.int64)))
    again, _ = (mask.numpy() for mask in masks(tf.constant(3, tf.int64)))
    later, _ = (mask.numpy() for mask in masks(tf.constant(4, tf.int64)))
    return {
        "replicas_differ": bool((first != second).any()),
        "steps_differ": bool((first != later).any()),
        "same_step_same_mask": bool((first == again).all()),
    }


if __name__ == "__main__":
    main()
