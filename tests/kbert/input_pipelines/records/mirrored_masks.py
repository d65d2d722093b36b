"""Run in a process of its own, which needs two CPU devices: dynamic masks under a mirrored strategy."""

import json
import sys
import tempfile
from pathlib import Path

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import distribute, make_strategy


def main():
    strategy = make_strategy("mirrored", 2)  # before anything else: it makes the devices

    import numpy as np
    import tensorflow as tf

    from kbert.input_pipelines.records import record_reader
    from tests.kbert.input_pipelines.records import small_records

    @tf.function(jit_compile=True)
    def weights_of(batch):
        return tf.reduce_sum(batch["masked_lm_weights"]) + 0 * tf.reduce_sum(batch["masked_lm_weights"][:, 0])

    @tf.function
    def step(batch):
        return strategy.run(weights_of, args=(batch,))

    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / "records"
        manifest, _ = small_records.write(directory, (20, 13), with_masks=False)

        def batches(share=record_reader.WHOLE):
            return record_reader.training_batches(directory, manifest, 8, seed=3, share=share)

        whole = list(batches().take(6))
        same, sums, shapes = [], [], None
        for expected, batch in zip(whole, distribute(strategy, batches), strict=False):
            halves = strategy.experimental_local_results(batch["masked_lm_ids"])
            shapes = [list(ids.shape) for ids in strategy.experimental_local_results(batch["input_ids"])]
            same.append(np.array_equal(np.concatenate(halves), expected["masked_lm_ids"]))
            received = sum(float(value) for value in strategy.experimental_local_results(step(batch)))
            sums.append(received == float(tf.reduce_sum(expected["masked_lm_weights"])))
    json.dump(
        {
            "shapes": shapes,
            "both_halves_are_the_batch": len(same) == 6 and all(same),
            "compiled_sum_is_right": len(sums) == 6 and all(sums),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
