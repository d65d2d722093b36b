"""Run in processes of its own: losses of a small training under strategies, printed as JSON.

  python -m tests.kbert.training.devices.strategy_losses ORDERS

ORDERS is a JSON list of [strategy, number of devices, cases], the one with the most devices first; cases are
name -> arguments of `SmallTraining`, and `num_steps`. With several workers, each prints its own losses.
"""

import json
import sys

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import is_chief, make_strategy, wait_for_all

IN_PARTS = {"gradient_accumulation_steps": 2, "all_reduce_dtype": "bfloat16"}


def main():
    orders = json.loads(sys.argv[1])
    # Before anything else: it makes the devices.
    strategies = [make_strategy(name, num_devices or None) for name, num_devices, _ in orders]
    answers = [losses(strategy, cases) for strategy, (_, _, cases) in zip(strategies, orders, strict=True)]
    wait_for_all(strategies[0])
    print(json.dumps(answers))


def losses(strategy, cases):
    from kbert.config import LoraConfig
    from tests.kbert.training.small_training import SmallTraining, random_batches

    batches = random_batches(5, batch_size=8)
    # The first rows of every batch weigh more, so that taking a mean of the replicas' means would be noticed.
    batches["masked_lm_weights"][:, :4] = 1.0
    answer = {"num_replicas": strategy.num_replicas_in_sync, "is_chief": is_chief(strategy)}
    for name, case in cases.items():
        num_steps = case.pop("num_steps")
        if "lora" in case:
            case["lora"] = LoraConfig(**case["lora"])
        training = SmallTraining(batches, strategy, **case)
        answer[name] = training.losses(num_steps)
    if "halved" in cases:
        answer["sums"] = {dtype: sums_in(strategy, dtype) for dtype in ("float32", "bfloat16")}
        answer["collectives"] = collectives(SmallTraining(batches, strategy, **IN_PARTS), strategy)
    if len(strategy.experimental_local_results(training.global_step)) > 1:  # replicas in this process
        answer["replicas_agree"] = replicas_agree(training, strategy)
        answer["dropout"] = dropout_of_replicas(SmallTraining(batches, strategy, dropout=0.3), strategy)
    return answer


def gradients_of_replica(number):
    """Two gradients that need more digits than bfloat16 has; NumPy can make them as well."""
    import tensorflow as tf

    places = tf.cast(tf.range(7), tf.float32) + 1.0 + tf.cast(number, tf.float32)
    return [tf.sqrt(places), -100.0 / places]


def sums_in(strategy, dtype):
    """What `all_reduce_gradients` makes of two gradients and of a count that bfloat16 cannot hold."""
    import tensorflow as tf

    from kbert.training.devices.gradient_all_reduce import all_reduce_gradients

    @tf.function
    def summed():
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            count = 1001.0 + tf.cast(number, tf.float32)
            return all_reduce_gradients(gradients_of_replica(number), {"count": count}, dtype)

        return strategy.experimental_local_results(strategy.run(replica))[0]

    gradients, others = summed()
    return {"gradients": [g.numpy().tolist() for g in gradients], "count": float(others["count"])}


def collectives(training, strategy):
    """What one replica sends in a step: the dtype of each sum over replicas -> its numbers.

    Only sums outside of the loop over the parts of a batch are found.
    """
    iterator = training._batches
    graph = training.step._global_step_on.get_concrete_function(iterator.element_spec).graph
    sums = [op.inputs[0] for op in graph.get_operations() if op.type.startswith("CollectiveReduce")]
    here = len(strategy.experimental_local_results(training.global_step))
    sizes = {}
    for tensor in sums:
        name = tensor.dtype.name
        sizes[name] = sizes.get(name, 0) + tensor.shape.num_elements() // here
    weights = sum(v.shape.num_elements() for v in training.optimizer.variables)
    return {"sizes": sizes, "parameters": weights}


def replicas_agree(training, strategy):
    """Whether the replicas of this process hold the same weights."""
    import numpy as np

    copies = [strategy.experimental_local_results(v.value) for v in training.weights.values()]
    return all(np.array_equal(first.numpy(), other.numpy()) for first, *others in copies for other in others)


def dropout_of_replicas(training, strategy):
    """Whether different replicas and steps draw different dropout, and the same step draws the same."""
    import tensorflow as tf

    layer = training.model.get_layer("encoder").get_layer("layer_0").dropout_layer

    @tf.function
    def masks(step):
        def replica():
            context = tf.distribute.get_replica_context()
            training.step._seed_dropout(step, context.replica_id_in_sync_group)
            return layer(tf.ones((40,)), training=True)

        return strategy.experimental_local_results(strategy.run(replica))

    def drawn(step):
        return [tuple(mask.numpy().tolist()) for mask in masks(tf.constant(step, tf.int64))]

    first, again, later = drawn(3), drawn(3), drawn(4)
    return {
        "replicas_differ": len(set(first)) == len(first),
        "steps_differ": first[0] != later[0],
        "same_step_same_mask": first == again,
    }


if __name__ == "__main__":
    main()
