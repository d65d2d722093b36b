"""The peak memory of a few pretraining steps of kbert, in a process of its own; a worker of training_memory.

It gets its settings as JSON, its only argument, and prints bytes. Linux only (/proc).
"""

import json
import sys
from pathlib import Path

from benchmarks.workers import starting_point
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_MEASURED_STEPS = 2  # whose peak counts; the first step traces and compiles


def peak_of(settings) -> int:
    """The highest resident memory of the second and third step, less that of TensorFlow alone; in bytes."""
    import tensorflow as tf

    from kbert.config import EncoderConfig, OptimizerConfig
    from kbert.encoder import BertEncoder
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.optimizers import make_optimizer
    from kbert.training.optimizers.schedule import LinearWarmupDecay
    from kbert.training.train_step import TrainStep

    for set_threads in (
        tf.config.threading.set_intra_op_parallelism_threads,
        tf.config.threading.set_inter_op_parallelism_threads,
    ):
        set_threads(settings["threads"])
    tf.constant(1.0)  # makes the runtime
    before = _kilobytes("VmRSS")
    task, encoder = Pretraining(), EncoderConfig(**settings["encoder"])
    encoder = BertEncoder(encoder, dtype=settings["precision"], recompute=settings["recompute"])
    model = task.build_model(encoder)
    step = TrainStep(
        task,
        model,
        make_optimizer(OptimizerConfig(name="adamw"), trained_weights(model)),
        LinearWarmupDecay(1e-4, 1000, 10),
        tf.Variable(0, dtype=tf.int64, trainable=False),
        tf.distribute.get_strategy(),
        settings["compile"],
        seed=1,
        gradient_accumulation_steps=settings["parts"],
        precision=settings["precision"],
    )
    sizes = (settings[name] for name in ("batch_size", "seq_length", "predictions"))
    arrays = starting_point.random_batches(1, *sizes, settings["encoder"]["vocab_size"])
    batches = iter(tf.data.Dataset.from_tensor_slices(arrays).repeat())
    step.run(batches, tf.constant(1))
    _CLEAR.write_text("5")  # sets the highest mark back
    sums = step.run(batches, tf.constant(_MEASURED_STEPS))
    sums["gradient_norm"][0].numpy()  # waits for the last step
    return 1024 * (_kilobytes("VmHWM") - before)


def _kilobytes(name) -> int:
    (line,) = (line for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1])


if __name__ == "__main__":
    print(peak_of(json.loads(sys.argv[1])))
