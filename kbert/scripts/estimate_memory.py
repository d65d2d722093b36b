r"""Script: a config -> an estimate of the memory that its training needs. Nothing is trained.

  kbert memory --config=configs/pretraining/phase1_seq128.toml --length=128,512
  kbert memory --config=configs/finetuning/sst2.toml --override=encoder=bert_base \
      --batch=16 --memory_gib=16

It prints two columns for each length, without and with recomputation of activations. The last row is the
largest batch that fits.
"""

import contextlib
import math

from absl import flags

from kbert import command_line
from kbert.config import FinetuningConfig, PretrainingConfig, load_config
from kbert.training.devices.device_memory import DeviceMemory, memory_of_cpu, memory_of_gpu
from kbert.training.measuring.memory_estimate import (
    TrainingShape,
    estimate_memory,
    largest_batch,
    num_parameters,
    readable_bytes,
)
from kbert.training.measuring.training_flops import Heads

FLAGS = flags.FLAGS

_DEFAULT_LENGTH = 128  # for pretraining: the config does not hold the length of the records


def define_flags():
    flags.DEFINE_string("config", None, "Config file (.toml or .json) of a pretraining or fine-tuning.")
    flags.DEFINE_multi_string(
        "override",
        [],
        "One changed setting, for example encoder=bert_large; as often as you like.",
    )
    flags.DEFINE_integer(
        "batch", None, "Examples that a device works on at a time; by default the config's train_batch_size "
        "divided by its gradient_accumulation_steps.", lower_bound=1,
    )  # fmt: skip
    flags.DEFINE_list("length", None, "Tokens of a sequence; separate several lengths with commas.")
    flags.DEFINE_integer(
        "predictions", None, "Masked positions of a sequence; by default 15% of its length.", lower_bound=0
    )
    flags.DEFINE_integer("num_labels", 2, "Number of labels, for a fine-tuning.", lower_bound=1)
    flags.DEFINE_float(
        "memory_gib",
        None,
        "Memory of the device in GiB; by default that of this machine's GPU, or the free main memory.",
    )
    flags.mark_flags_as_required(["config"])


def main(argv):
    del argv
    config = _load_config(FLAGS.config, FLAGS.override)
    if config.encoder is None:
        raise ValueError("the config names no encoder; add for example --override=encoder=bert_base.")
    print(memory_table(config.encoder, _shapes(config), _memory()))


def _memory():
    if FLAGS.memory_gib is None:
        return memory_of_gpu() or memory_of_cpu()
    if not (math.isfinite(FLAGS.memory_gib) and FLAGS.memory_gib > 0):
        raise ValueError(f"--memory_gib={FLAGS.memory_gib}: expected a number of GiB above 0, such as 16.")
    return DeviceMemory(int(FLAGS.memory_gib * 2**30), "--memory_gib")


def _load_config(path, overrides):
    """The config as a pretraining config or, if that fails, as a fine-tuning config.

    If both fail, the error is that of the kind of config that the file is without the overrides.
    """
    errors = {}
    for config_class in (PretrainingConfig, FinetuningConfig):
        try:
            return load_config(config_class, path, overrides)
        except ValueError as error:
            errors[config_class] = error
    raise errors[_kind_of(path)] from None


def _kind_of(path):
    for config_class in (PretrainingConfig, FinetuningConfig):
        with contextlib.suppress(ValueError):
            load_config(config_class, path)
            return config_class
    return PretrainingConfig


def _shapes(config) -> list[TrainingShape]:
    batch = FLAGS.batch or -(-config.train_batch_size // config.gradient_accumulation_steps)
    pretrains = isinstance(config, PretrainingConfig)
    own = _DEFAULT_LENGTH if pretrains else config.max_seq_length
    lengths = FLAGS.length or [str(own)]
    if not all(length.isascii() and length.isdecimal() and int(length) for length in lengths):
        raise ValueError(f"--length={','.join(lengths)}: expected whole numbers such as 128,512.")
    longest, room = max(map(int, lengths)), config.encoder.max_position_embeddings
    if longest > room:
        raise ValueError(f"--length={longest}, but the encoder has only max_position_embeddings={room}.")
    shortest = min(map(int, lengths))
    if pretrains and (FLAGS.predictions or 0) > shortest:
        raise ValueError(
            f"--predictions={FLAGS.predictions} is more than the {shortest} tokens of a sequence."
        )
    heads = Heads(masked_lm=True, pooled_labels=2) if pretrains else Heads(pooled_labels=FLAGS.num_labels)
    return [
        TrainingShape(
            batch,
            int(length),
            0 if not pretrains else _predictions(int(length)),
            heads,
            config.precision,
            recompute,
            config.gradient_accumulation_steps > 1,
            config.frozen,
            config.adapters,
        )
        for length in lengths
        for recompute in (False, True)
    ]


def _predictions(length):
    return round(0.15 * length) if FLAGS.predictions is None else FLAGS.predictions


def memory_table(encoder, shapes: list[TrainingShape], memory: DeviceMemory) -> str:
    """The estimates as text: a row for each part, a column for each shape."""
    estimates = [estimate_memory(encoder, shape) for shape in shapes]
    rows = [
        ["tokens", *(f"{shape.batch_size} x {shape.seq_length}" for shape in shapes)],
        ["recomputation", *("on" if shape.recompute else "off" for shape in shapes)],
    ]
    for name, _ in estimates[0].rows():
        rows.append([name, *(readable_bytes(getattr(estimate, name)) for estimate in estimates)])
    rows.append(["peak", *(readable_bytes(estimate.total) for estimate in estimates)])
    rows.append(["fits", *("yes" if one.total <= memory.available else "NO" for one in estimates)])
    rows.append(["largest batch", *(f"{largest_batch(encoder, s, memory.available)}" for s in shapes)])
    left = max(len(row[0]) for row in rows)
    width = max(len(cell) for row in rows for cell in row[1:]) + 2
    lines = [row[0].ljust(left) + "".join(cell.rjust(width) for cell in row[1:]) for row in rows]
    parameters = num_parameters(encoder, shapes[0].heads)
    head = (
        f"{encoder.num_hidden_layers} layers, {encoder.hidden_size} wide, {parameters:,} parameters, "
        f"{shapes[0].precision}; {memory.device} has {readable_bytes(memory.available)}"
    )
    return "\n".join([head, "", *lines])


if __name__ == "__main__":
    define_flags()
    command_line.run(main, FinetuningConfig, PretrainingConfig)
