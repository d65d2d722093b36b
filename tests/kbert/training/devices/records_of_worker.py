"""Run in a process of its own, one of several workers: prints which records it reads in one epoch, as JSON.

python -m tests.kbert.training.devices.records_of_worker DIRECTORY BATCH_SIZE
"""

import json
import sys

from kbert.cli import quiet_tensorflow  # noqa: F401
from kbert.training.devices.distribution import distribute, make_strategy, wait_for_all


def main():
    directory, batch_size = sys.argv[1], int(sys.argv[2])
    strategy = make_strategy("auto")

    from kbert.input_pipelines.records import record_reader
    from kbert.manifest import read_manifest

    manifest = read_manifest(directory)

    def training_batches(share):
        return record_reader.training_batches(directory, manifest, batch_size, seed=3, share=share)

    def evaluation_batches(share):
        return record_reader.evaluation_batches(directory, manifest, batch_size, share=share)

    trained, batches = [], iter(distribute(strategy, training_batches))
    for _ in range(manifest.num_examples // batch_size):
        trained += fingerprints(strategy, next(batches))
    evaluated, weights, num_batches = [], [], 0
    for batch in distribute(strategy, evaluation_batches):
        evaluated += fingerprints(strategy, batch)
        weights += strategy.experimental_local_results(batch["example_weights"])[0].numpy().tolist()
        num_batches += 1
    wait_for_all(strategy)
    counted = [name for name, weight in zip(evaluated, weights, strict=True) if weight]
    print(json.dumps({"trained": trained, "evaluated": counted, "num_batches": num_batches}))


def fingerprints(strategy, batch):
    (ids,) = strategy.experimental_local_results(batch["input_ids"])
    (labels,) = strategy.experimental_local_results(batch["masked_lm_ids"])
    return [
        str(row.tolist() + answers.tolist()) for row, answers in zip(ids.numpy(), labels.numpy(), strict=True)
    ]


if __name__ == "__main__":
    main()
