"""The flags that several scripts share: how a config is changed, and what is said of checkpoints."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from absl import flags

from kbert.config import PRECISIONS, FlagOverride


@dataclass(frozen=True)
class Checkpoint:
    """How a trained model is found and read, for every command that reads one.

    Args:
      init_checkpoint: a trained checkpoint: a run of kbert, a Hugging Face folder, a KerasHub preset,
        Google's TF1 checkpoint, or a name: hf://org/name@revision, keras_hub://preset, bert-base-uncased.
      checkpoint: which checkpoint of the run: last, best, or a step. By default the last one; for a run with
        early stopping the best one.
      do_lower_case: lower-case texts and drop accents, if the vocabulary or checkpoint does not record the
        casing.
      allow_unmatched: names or globs of the checkpoint's tensors and settings that may be left over, missing
        or different; the error messages name those that do not match.
    """

    init_checkpoint: str | None = None
    checkpoint: str | None = None
    do_lower_case: bool | None = None
    allow_unmatched: Sequence[str] = ()


def define_override_flags():
    """--override, --jit, --precision: changes of the config."""
    flags.DEFINE_multi_string(
        "override",
        [],
        "SETTING=VALUE: changes a setting of the config, for example num_train_steps=500.",
    )
    flags.DEFINE_enum(
        "jit", None, ["auto", "on", "off"], "Compile with XLA; replaces `jit_compile` of the config."
    )
    flags.DEFINE_enum("precision", None, list(PRECISIONS), "Replaces `precision` of the config.")


def define_teacher_flag():
    """--teacher_checkpoint."""
    flags.DEFINE_string(
        "teacher_checkpoint",
        None,
        "A checkpoint to learn from, as for --init_checkpoint; replaces `distillation.teacher` of the "
        "config (docs/distillation.md).",
    )


def config_overrides() -> list[str]:
    """The changes of the config that the command line makes, for `load_config`."""
    values = flags.FLAGS
    overrides = list(values.override)
    teacher = values.teacher_checkpoint if "teacher_checkpoint" in values else None
    jit = {"auto": "auto", "on": "true", "off": "false", None: None}[values.jit]
    settings = {
        "jit": ("jit_compile", jit),
        "precision": ("precision", values.precision),
        "teacher_checkpoint": ("distillation.teacher", teacher and json.dumps(teacher)),
    }
    for flag, (setting, value) in settings.items():
        if value is not None:
            overrides.append(FlagOverride(f"{setting}={value}", f"--{flag}={values[flag].value}"))
    return overrides
