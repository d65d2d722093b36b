"""kbert's own fine-tuning routine as a worker of finetuning.py: it waits before every call of its step.

Only these calls are timed, with the making of their batches; tokenization, logging, checkpoints and
evaluation are not.
"""

from pathlib import Path

from benchmarks.peers.turns import Turns
from benchmarks.workers.tensorflow_threads import tensorflow_with


def run_worker():
    turns = Turns()
    settings = turns.settings
    tf = tensorflow_with(settings["threads"])
    from kbert.config import FinetuningConfig, from_dict
    from kbert.experiments.finetuning import finetune

    precision = {"float32": "float32", "bfloat16": "mixed_bfloat16"}[settings["precision"]]
    config = from_dict(FinetuningConfig, settings["config"] | {"precision": precision})
    wait_for_turns(turns)
    turns.ready(tensorflow=tf.__version__)
    _, metrics = finetune(
        config,
        Path(settings["runs_dir"], f"run_{precision}"),
        train_file=settings["train_file"],
        dev_file=settings["dev_file"],
        init_checkpoint=settings["init_checkpoint"],
        strategy="one_device",
    )
    turns.finish(**{name: metrics[name] for name in settings["scores"]})


def wait_for_turns(turns):
    """Replaces `TrainStep.run` by a function that waits until a step may be taken."""
    from kbert.training.train_step import TrainStep

    run = TrainStep.run

    def run_in_turn(step, batches, num_steps):
        if not turns.next_step():
            raise SystemExit
        sums = run.__get__(step, TrainStep)(batches, num_steps)
        loss, weight = (float(value) for value in sums["loss"])
        # A loss counts words or rows; a batch is measured by its examples.
        turns.end_step(examples=float(sums["step_work"][0][0]), loss=loss / weight)
        return sums

    TrainStep.run = run_in_turn


if __name__ == "__main__":
    run_worker()
