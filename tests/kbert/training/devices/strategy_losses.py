"""Run in processes of its own: losses of a small training under strategies, printed as JSON.

  python -m tests.kbert.training.devices.strategy_losses ORDERS

ORDERS is a JSON list of [strategy, number of devices, cases], the one with the most devices first; cases are
name -> arguments of `SmallTraining`, and `num_steps`. With several workers, each prints its own losses.
"""

import json
import signal
import sys

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.config import Devices
from kbert.training.devices.distribution import agreed, distribute, is_chief, make_strategy, wait_for_all


def main():
    orders = json.loads(sys.argv[1])
    # Before anything else: it makes the devices.
    strategies = [make_strategy(Devices(name, num_devices or None)) for name, num_devices, _ in orders]
    answers = [losses(strategy, cases) for strategy, (_, _, cases) in zip(strategies, orders, strict=True)]
    wait_for_all(strategies[0])
    print(json.dumps(answers))


def losses(strategy, cases):
    from tests.kbert.training.small_training import SmallTraining, random_batches

    batches = random_batches(5, batch_size=8)
    # The first rows of every batch weigh more, so that taking a mean of the replicas' means would be noticed.
    batches["masked_lm_weights"][:, :4] = 1.0
    answer = {"num_replicas": strategy.num_replicas_in_sync, "is_chief": is_chief(strategy)}
    answer["agreed"] = agreements(strategy)
    for name, case in cases.items():
        num_steps = case.pop("num_steps")
        if case.pop("keras_fit", False):
            answer[name] = fitted_losses(strategy, num_steps, case)
            continue
        if case.pop("in_batch_negatives", False):
            answer[name] = coupled_losses(strategy, num_steps, case)
            continue
        training = SmallTraining(batches, strategy, **case)
        answer[name] = training.losses(num_steps)
        if len(strategy.experimental_local_results(training.global_step)) > 1:  # replicas in this process
            answer["replicas_agree"] = replicas_agree(training, strategy)
    return answer


def agreements(strategy):
    """What holds for all where nothing happens, a signal reaches the others, and their checkpoint is late."""
    other = not is_chief(strategy)
    cases = (0, False), (signal.SIGTERM * other, False), (0, other)
    return [agreed(strategy, *case) for case in cases]


def coupled_losses(strategy, num_steps, case):
    """An evaluation, then losses and gradient norms of a task whose rows depend on each other."""
    import numpy as np

    from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
    from kbert.training.evaluation_step import EvaluationStep, evaluate_batches
    from tests.kbert.training.small_training import SmallTraining, random_triplets, shares_of

    task = MultipleNegativesRanking(num_negatives=1, symmetric=True, scale=5.0)
    batches = random_triplets(3, batch_size=8)
    training = SmallTraining(batches, strategy, task=task, **case)
    # The last three rows only fill a batch, as in the last one of an evaluation.
    weights = np.tile(np.float32([1, 1, 1, 1, 1, 0, 0, 0]), (len(batches["targets"]), 1))
    weighed = batches | {"example_weights": weights}
    evaluated = distribute(strategy, lambda share: shares_of(weighed, share).take(2))
    step = EvaluationStep(task, training.model, strategy, jit_compile=case.get("jit_compile", False))
    metrics = evaluate_batches(task, step, evaluated)
    values = [training.run() for _ in range(num_steps)]
    return [sorted(metrics.items()), [[float(v["loss"]), float(v["gradient_norm"])] for v in values]]


def fitted_losses(strategy, num_steps, case):
    """Losses and accuracies of Keras's own `fit`."""
    import keras
    import numpy as np

    from kbert.encoder import BertEncoder
    from kbert.tasks.sequences.sequence_classification import SequenceClassification
    from tests.conftest import tiny_encoder_config
    from tests.kbert.test_encoder import random_inputs

    keras.utils.set_random_seed(5)
    config = tiny_encoder_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    with strategy.scope():
        model = SequenceClassification(("a", "b")).build_model(BertEncoder(config))
        model.compile(keras.optimizers.SGD(0.1), metrics={"probabilities": ["accuracy"]})
    labels = np.arange(8, dtype=np.int32) % 2
    history = model.fit(random_inputs(config, 8, 6), labels, epochs=num_steps, verbose=0, **case).history
    return [history["loss"], history["probabilities_accuracy"]]


def replicas_agree(training, strategy):
    """Whether the replicas of this process hold the same weights."""
    import numpy as np

    copies = [strategy.experimental_local_results(v.value) for v in training.weights.values()]
    return all(np.array_equal(first.numpy(), other.numpy()) for first, *others in copies for other in others)


if __name__ == "__main__":
    main()
