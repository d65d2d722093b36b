"""kbert on one or several replicas, a step of each variant in turn; a worker of benchmarks/scaling.py.

A variant is a global batch size and the dtype of the all-reduce. All variants train the same model.
"""

import os

from benchmarks.peers.turns import Turns
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow


def run_worker():
    turns = Turns()
    settings = turns.settings
    if settings.get("tf_config"):
        os.environ["TF_CONFIG"] = settings["tf_config"]
    import keras
    import tensorflow as tf

    from kbert.training.devices.distribution import make_strategy

    tf.config.threading.set_intra_op_parallelism_threads(settings["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(settings["threads"])
    strategy = make_strategy(settings["strategy"], settings["num_devices"])
    variants, parameters = variants_of(settings, strategy)
    turns.ready(
        tensorflow=tf.__version__,
        keras=keras.__version__,
        replicas=strategy.num_replicas_in_sync,
        parameters=parameters,
    )
    taken = 0
    while turns.next_step():
        number = taken % len(variants)
        turns.report(variant=number, loss=variants[number]())
        taken += 1


def variants_of(settings, strategy):
    """A function for each variant, which takes its next step and returns the loss; and the parameters."""
    import keras
    import tensorflow as tf

    from kbert.config import EncoderConfig, OptimizerConfig
    from kbert.encoder import BertEncoder
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.evaluation_step import means
    from kbert.training.optimizers import make_optimizer
    from kbert.training.optimizers.schedule import make_schedule
    from kbert.training.train_step import TrainStep

    keras.utils.set_random_seed(settings["seed"])
    task, adam = Pretraining(), OptimizerConfig(name="adamw")
    with strategy.scope():
        model = task.build_model(
            BertEncoder(EncoderConfig(**settings["encoder"]), dtype=settings["precision"])
        )
        optimizer = make_optimizer(adam, trained_weights(model))
        global_step = tf.Variable(0, dtype=tf.int64, trainable=False)
    schedule = make_schedule(adam, 10**9, 0)
    one = tf.constant(1)

    def variant(batch_size, all_reduce_dtype):
        step = TrainStep(
            task,
            model,
            optimizer,
            schedule,
            global_step,
            strategy,
            jit_compile=False,
            seed=settings["seed"],
            precision=settings["precision"],
            all_reduce_dtype=all_reduce_dtype,
        )
        batches = iter(batches_of(settings, strategy, batch_size))
        return lambda: float(means(step.run(batches, one))["masked_lm_loss"])

    parameters = sum(variable.shape.num_elements() for variable in optimizer.variables)
    return [variant(**one_of) for one_of in settings["variants"]], parameters


def batches_of(settings, strategy, batch_size):
    """Two global batches again and again; each process has its rows of them."""
    import tensorflow as tf

    from benchmarks.workers.starting_point import random_batches
    from kbert.input_pipelines.text_reader import own_rows
    from kbert.training.devices.distribution import distribute

    arrays = random_batches(
        2, batch_size, settings["seq_length"], settings["predictions"], settings["encoder"]["vocab_size"]
    )
    dataset = tf.data.Dataset.from_tensor_slices(arrays).repeat()

    def of_process(share):
        return dataset.map(
            lambda batch: {name: own_rows(value, batch_size, share) for name, value in batch.items()}
        )

    return distribute(strategy, of_process)


if __name__ == "__main__":
    run_worker()
