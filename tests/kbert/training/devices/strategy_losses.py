"""Run in processes of its own: losses of a small training under a strategy, printed as JSON.

  python -m tests.kbert.training.devices.strategy_losses STRATEGY NUM_DEVICES CASES

CASES is a JSON object, name -> arguments of `SmallTraining`, and `num_steps`. With several workers every one
prints its own.
"""

import json
import sys

import kbert.command_line  # noqa: F401  a quiet start
from kbert.training.devices.distribution import is_chief, make_strategy, wait_for_all


def main():
    name, num_devices, cases = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
    strategy = make_strategy(name, num_devices or None)  # before anything else: it makes the devices

    from tests.kbert.training.small_training import SmallTraining, random_batches

    batches = random_batches(5, batch_size=8)
    # The first rows of every batch are heavier, so that a mean of the replicas' means would show.
    batches["masked_lm_weights"][:, :4] = 1.0
    answer = {"num_replicas": strategy.num_replicas_in_sync, "is_chief": is_chief(strategy)}
    for name, case in cases.items():
        num_steps = case.pop("num_steps")
        answer[name] = SmallTraining(batches, strategy, **case).losses(num_steps)
    wait_for_all(strategy)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
