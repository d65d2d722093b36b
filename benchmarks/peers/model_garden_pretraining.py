"""Model Garden's masked-LM task with next sentence, one training step at a time.

See benchmarks/training_step.py. Runs Model Garden's own task, model (BertPretrainerV2), train step, metrics
and "adamw" (a fused Adam with weight decay that clips by global norm), in a tf.function as its trainer does.
"""

from importlib.metadata import version

import numpy as np
import tensorflow as tf
import tf_keras
from endless_batches import endless_batches
from turns import Turns

turns = Turns()
settings = turns.settings
tf.config.threading.set_intra_op_parallelism_threads(settings["threads"])
tf.config.threading.set_inter_op_parallelism_threads(settings["threads"])
tf.random.set_seed(settings["seed"])
if settings["precision"] == "bfloat16":
    tf_keras.mixed_precision.set_global_policy("mixed_bfloat16")


from official.modeling.optimization.legacy_adamw import AdamWeightDecay  # noqa: E402
from official.modeling.optimization.lr_schedule import LinearWarmup  # noqa: E402
from official.nlp.configs import bert, encoders  # noqa: E402
from official.nlp.data.pretrain_dataloader import BertPretrainDataConfig  # noqa: E402
from official.nlp.tasks.masked_lm import MaskedLMConfig, MaskedLMTask  # noqa: E402

shape = settings["encoder"]
encoder = encoders.BertEncoderConfig(
    vocab_size=shape["vocab_size"],
    hidden_size=shape["hidden_size"],
    num_layers=shape["num_hidden_layers"],
    num_attention_heads=shape["num_attention_heads"],
    intermediate_size=shape["intermediate_size"],
    dropout_rate=shape["hidden_dropout_prob"],
    attention_dropout_rate=shape["attention_probs_dropout_prob"],
    max_position_embeddings=shape["max_position_embeddings"],
)
head = bert.ClsHeadConfig(
    inner_dim=shape["hidden_size"], num_classes=2, dropout_rate=0.0, name="next_sentence"
)
task = MaskedLMTask(
    MaskedLMConfig(
        model=bert.PretrainerConfig(
            encoder=encoders.EncoderConfig(type="bert", bert=encoder), cls_heads=[head]
        ),
        train_data=BertPretrainDataConfig(use_next_sentence_label=True),
    )
)
model = task.build_model()
metrics = task.build_metrics(training=True)
adam = settings["optimizer"]
learning_rate = adam["learning_rate"]  # constant after the warm-up
if settings["num_warmup_steps"]:
    learning_rate = LinearWarmup(learning_rate, settings["num_warmup_steps"], warmup_learning_rate=0.0)
optimizer = AdamWeightDecay(
    learning_rate=learning_rate,
    beta_1=adam["beta_1"],
    beta_2=adam["beta_2"],
    epsilon=adam["epsilon"],
    weight_decay_rate=adam["weight_decay"],
    exclude_from_weight_decay=["LayerNorm", "layer_norm", "bias"],
    gradient_clip_norm=adam["global_clipnorm"],
)

# kbert's name of a variable -> Model Garden's. The pooler belongs to its next-sentence head.
NAMES = {
    "embeddings/word_embeddings": "word_embeddings/embeddings",
    "embeddings/position_embeddings": "position_embedding/embeddings",
    "embeddings/token_type_embeddings": "type_embeddings/embeddings",
    "pooler/dense": "next_sentence/pooler_dense",
    "next_sentence/dense": "next_sentence/logits",
    "masked_lm/transform": "cls/predictions/transform/dense",
    "masked_lm/layer_norm": "cls/predictions/transform/LayerNorm",
    "masked_lm/output_bias": "cls/predictions/output_bias/bias",
    "attention/output": "self_attention/attention_output",
    "attention/": "self_attention/",
    "attention_layer_norm": "self_attention_layer_norm",
    "feed_forward/intermediate": "intermediate",
    "feed_forward/output": "output",
    "feed_forward_layer_norm": "output_layer_norm",
}


def name_here(name):
    prefix, rest = "", name
    if name.startswith("layer_"):
        layer, rest = name.split("/", 1)
        prefix = f"transformer/{layer}/"
    for theirs, ours in NAMES.items():
        if rest.startswith(theirs):
            return prefix + ours + rest.removeprefix(theirs)
    return prefix + rest


def assign(weights):
    """Gives every variable its first value, except the encoder's own pooler, which nothing uses."""
    variables = {
        variable.name.removesuffix(":0").removeprefix("bert/"): variable
        for variable in model.trainable_variables
    }
    for name, value in weights.items():
        variable = variables.pop(name_here(name))
        variable.assign(value.reshape(variable.shape))
    left = [name for name in variables if not name.startswith("pooler_transform")]
    if left:
        raise ValueError(f"variables without a first value: {left}")


def as_tensors(batch):
    names = {"input_ids": "input_word_ids", "segment_ids": "input_type_ids"}
    return {names.get(name, name): tf.constant(array) for name, array in batch.items()}


@tf.function(jit_compile="compile" in settings["options"])
def update(batch):
    return task.train_step(batch, model, optimizer, metrics)


def train_step():
    update(next(batches))
    found = {metric.name: float(metric.result()) for metric in metrics}
    for metric in metrics:
        metric.reset_state()
    return {"masked_lm_loss": found["lm_example_loss"]}


batches = endless_batches(settings["batches"], as_tensors)
model(next(endless_batches(settings["batches"], as_tensors)))
with np.load(settings["weights"]) as weights:
    assign(dict(weights))
turns.ready(
    tensorflow=tf.__version__, tf_keras=tf_keras.__version__, model_garden=version("tf-models-official")
)
turns.take_steps(train_step)
