"""kbert, one pretraining step at a time; a worker of training_step, loss_curve and time_to_quality."""

import numpy as np

from benchmarks.peers.turns import Turns
from kbert import command_line  # noqa: F401  quietens the import of TensorFlow


def run_worker():
    turns = Turns()
    settings = turns.settings
    import keras
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(settings["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(settings["threads"])
    run, turns.save = steps_of(settings)
    turns.ready(tensorflow=tf.__version__, keras=keras.__version__)
    while turns.next_step():
        turns.report(**run())


def steps_of(settings):
    """Two functions: one takes the next step and returns its losses, one writes the weights to a folder.

    The weights are written as Hugging Face's files.
    """
    import dataclasses

    import keras
    import tensorflow as tf

    from kbert.checkpoints import model_loading
    from kbert.checkpoints.formats import read_checkpoint, write_checkpoint
    from kbert.config import EncoderConfig, OptimizerConfig
    from kbert.encoder import BertEncoder
    from kbert.files.stored_tensor import stored_array
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.evaluation_step import means
    from kbert.training.optimizers import make_optimizer
    from kbert.training.optimizers.schedule import make_schedule
    from kbert.training.train_step import TrainStep

    keras.utils.set_random_seed(settings["seed"])
    task = Pretraining()
    precision = {"float32": "float32", "bfloat16": "mixed_bfloat16"}[settings["precision"]]
    model = task.build_model(BertEncoder(EncoderConfig(**settings["encoder"]), dtype=precision))
    first = read_checkpoint(settings["hugging_face_folder"])
    model_loading.initialize(model, first)
    adam = OptimizerConfig(name="adamw", **settings["optimizer"])
    step = TrainStep(
        task,
        model,
        make_optimizer(adam, trained_weights(model)),
        make_schedule(adam, settings["num_train_steps"], settings["num_warmup_steps"]),
        tf.Variable(0, dtype=tf.int64, trainable=False),
        tf.distribute.get_strategy(),
        bool(settings.get("compile")),
        settings["seed"],
    )
    with np.load(settings["batches"]) as arrays:
        batches = iter(tf.data.Dataset.from_tensor_slices(dict(arrays)).repeat())
    one = tf.constant(1)

    def run():
        values = means(step.run(batches, one))
        return {name: float(values[name]) for name in ("masked_lm_loss", "next_sentence_loss")}

    def save(folder):
        weights = {name: stored_array(value.numpy()) for name, value in trained_weights(model).items()}
        write_checkpoint(dataclasses.replace(first, tensors=weights), folder, "hugging_face")

    return run, save


if __name__ == "__main__":
    run_worker()
