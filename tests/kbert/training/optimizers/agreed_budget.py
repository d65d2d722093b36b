"""Run in a process of its own, one of several workers whose clocks differ: prints the budget as JSON."""

import json

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import is_chief, make_strategy, wait_for_all


def main():
    strategy = make_strategy("auto")

    import tensorflow as tf

    from kbert.training.optimizers.time_budget import TimeBudget

    clock = iter([0.0, 0.0, 10.0, 40.0] if is_chief(strategy) else [500.0, 500.0, 530.0, 620.0])
    with strategy.scope():
        budget = TimeBudget(1.0, 80.0, 0.0, clock=lambda: next(clock))
    rate = tf.function(lambda: strategy.run(budget, args=(tf.constant(0),)))
    budget.start()
    answer = []
    for _ in range(2):
        budget.tick()
        used = budget.state()["seconds_used"]
        answer.append([used, float(strategy.experimental_local_results(rate())[0]), budget.is_over()])
    wait_for_all(strategy)
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
