"""KerasHub's BertMaskedLM, one training step at a time; see benchmarks/training_step.py.

It has no next-sentence head, so it does a little less work. It has the loss and metrics of its own `compile`,
and the benchmark's optimizer; `train_on_batch` is `fit` without the progress bar.
"""

import keras
import keras_hub
import tensorflow as tf
from endless_batches import endless_batches
from turns import Turns

turns = Turns()
settings = turns.settings
tf.config.threading.set_intra_op_parallelism_threads(settings["threads"])
tf.config.threading.set_inter_op_parallelism_threads(settings["threads"])
keras.utils.set_random_seed(settings["seed"])

shape, adam = settings["encoder"], settings["optimizer"]
model = keras_hub.models.BertMaskedLM.from_preset(
    settings["keras_hub_folder"],
    preprocessor=None,
    dropout=shape["hidden_dropout_prob"],
    dtype={"float32": "float32", "bfloat16": "mixed_bfloat16"}[settings["precision"]],
)
optimizer = keras.optimizers.AdamW(
    adam["learning_rate"],
    weight_decay=adam["weight_decay"],
    beta_1=adam["beta_1"],
    beta_2=adam["beta_2"],
    epsilon=adam["epsilon"],
    global_clipnorm=adam["global_clipnorm"],
)
optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
model.compile(
    optimizer,
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    weighted_metrics=[keras.metrics.SparseCategoricalAccuracy()],
    jit_compile="compile" in settings["options"],
)


def as_arguments(batch):
    inputs = {
        "token_ids": batch["input_ids"],
        "padding_mask": batch["input_mask"],
        "segment_ids": batch["segment_ids"],
        "mask_positions": batch["masked_lm_positions"],
    }
    return inputs, batch["masked_lm_ids"], batch["masked_lm_weights"]


def train_step():
    loss, _ = model.train_on_batch(*next(batches))
    model.reset_metrics()
    return {"masked_lm_loss": float(loss)}


batches = endless_batches(settings["batches"], as_arguments)
turns.ready(tensorflow=tf.__version__, keras=keras.__version__, keras_hub=keras_hub.__version__)
turns.take_steps(train_step)
