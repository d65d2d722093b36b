"""Run in a process of its own: in-batch negatives on two replicas and on one device, as JSON.

  python -m tests.kbert.training.devices.coupled_losses CASES

CASES is JSON: name -> arguments of `SmallTraining`. For each case and each number of replicas it prints
losses, gradient norms, an evaluation before the training, and the weights after it.
"""

import json
import sys

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import make_strategy

STEPS, ROWS, TEXTS, LENGTH = 3, 8, 3, 6


def main():
    cases = json.loads(sys.argv[1])
    strategies = {2: make_strategy("mirrored", 2), 1: make_strategy("one_device")}  # the first makes devices
    print(
        json.dumps(
            {name: {n: answer(s, case) for n, s in strategies.items()} for name, case in cases.items()}
        )
    )


def answer(strategy, case):
    """What one training says."""
    from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
    from kbert.training.devices.distribution import distribute
    from kbert.training.evaluation_step import EvaluationStep, evaluate_batches
    from tests.kbert.training.small_training import SmallTraining, parts_of

    task = MultipleNegativesRanking(num_negatives=TEXTS - 2, symmetric=True, scale=5.0)
    batches = random_triplets()
    training = SmallTraining(
        batches, strategy, dropout=0.0, clipnorm=0.1, learning_rate=5e-3, task=task, **case
    )
    evaluated = distribute(strategy, lambda share: parts_of(weighed(batches), share).take(2))
    step = EvaluationStep(task, training.model, strategy, jit_compile=case.get("jit_compile", False))
    metrics = evaluate_batches(task, step, evaluated)
    values = [training.run() for _ in range(STEPS)]
    return {
        "num_replicas": strategy.num_replicas_in_sync,
        "evaluation": metrics,
        "losses": [float(value["loss"]) for value in values],
        "accuracies": [float(value["batch_accuracy"]) for value in values],
        "gradient_norms": [float(value["gradient_norm"]) for value in values],
        "weights": {name: v.tolist() for name, v in training.snapshot().items() if name in training.weights},
    }


def random_triplets():
    """Batches of triplets whose texts have different lengths."""
    import numpy as np

    rng = np.random.default_rng(2)
    shape = (STEPS, ROWS, TEXTS, LENGTH)
    mask = (np.arange(LENGTH) < rng.integers(3, LENGTH + 1, size=(*shape[:3], 1))).astype(np.int32)
    ids = rng.integers(5, 22, size=shape).astype(np.int32) * mask
    targets = np.full(shape[:2], np.nan, np.float32)
    return {"input_ids": ids, "input_mask": mask, "segment_ids": 0 * ids, "targets": targets}


def weighed(batches):
    """The same batches with weights: the last three rows only fill them, as in a last evaluation batch."""
    import numpy as np

    weights = np.ones((STEPS, ROWS), np.float32)
    weights[:, -3:] = 0.0
    return batches | {"example_weights": weights}


if __name__ == "__main__":
    main()
