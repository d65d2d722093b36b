"""The flags that several scripts share: config, folders, devices and checkpoints."""

import json

from absl import flags

from kbert.config import PRECISIONS, STRATEGIES


def define_training_flags():
    """--config, and what `define_run_flags` defines."""
    flags.DEFINE_string(
        "config", None, "TOML file, or the config.json of a run, with model, optimizer, batches and steps."
    )
    define_run_flags()
    flags.mark_flags_as_required(["config", "run_dir"])


def define_run_flags():
    """--run_dir, --override, --jit, --precision, --strategy, --num_devices, --cluster, --tpu."""
    flags.DEFINE_string("run_dir", None, "Folder for checkpoints and metrics; a run in it is resumed.")
    flags.DEFINE_multi_string(
        "override",
        [],
        "SETTING=VALUE: changes a setting of the config, for example num_train_steps=500.",
    )
    flags.DEFINE_enum(
        "jit", None, ["auto", "on", "off"], "Compile with XLA; replaces `jit_compile` of the config."
    )
    flags.DEFINE_enum("precision", None, list(PRECISIONS), "Replaces `precision` of the config.")
    flags.DEFINE_enum(
        "strategy",
        "auto",
        list(STRATEGIES),
        "auto: the workers of TF_CONFIG if several, else all GPUs, else one device.",
    )
    flags.DEFINE_integer("num_devices", None, "Devices of the mirrored strategy; by default all GPUs.")
    flags.DEFINE_enum("cluster", "tf_config", ["tf_config", "slurm"], "How multi_worker finds its workers.")
    flags.DEFINE_string("tpu", None, 'Name or address of the TPU; "local" on a TPU virtual machine.')


def config_overrides() -> list[str]:
    """The changes of the config that the command line makes, for `load_config`."""
    values = flags.FLAGS
    overrides = list(values.override)
    if values.jit:
        overrides.append("jit_compile=" + {"auto": "auto", "on": "true", "off": "false"}[values.jit])
    if values.precision:
        overrides.append(f"precision={values.precision}")
    if "teacher_checkpoint" in values and values.teacher_checkpoint:
        overrides.append(f"distillation.teacher={json.dumps(values.teacher_checkpoint)}")
    return overrides


def parse_seeds(values: list[str]) -> list[int]:
    """The numbers of --seeds.

    Raises:
      ValueError: for what is no whole number.
    """
    if not all(value.strip().isdigit() for value in values):
        raise ValueError(f"--seeds={','.join(values)}: expected whole numbers such as 1,2,3.")
    return [int(value) for value in values]


def define_init_checkpoint_flags():
    """--init_checkpoint, --allow_unmatched, --do_lower_case."""
    flags.DEFINE_string(
        "init_checkpoint",
        None,
        "A trained checkpoint: a run of kbert, a Hugging Face folder, a KerasHub preset, "
        "Google's TF1 checkpoint, or a name: hf://org/name@revision, keras_hub://preset, "
        "bert-base-uncased.",
    )
    flags.DEFINE_list(
        "allow_unmatched",
        [],
        "Names or globs of the checkpoint's tensors and settings that may be left over, missing or "
        "different; the error messages name those that do not match.",
    )
    flags.DEFINE_bool(
        "do_lower_case",
        None,
        "Lower-case texts and drop accents, if the vocabulary or checkpoint does not record the casing.",
    )


def starting_flags() -> dict:
    """Where a run starts and on which devices: the values of these flags, as `finetune` takes them."""
    names = (
        "init_checkpoint",
        "do_lower_case",
        "allow_unmatched",
        "strategy",
        "num_devices",
        "cluster",
        "tpu",
    )
    return {name: flags.FLAGS[name].value for name in names}


def define_teacher_flag():
    """--teacher_checkpoint."""
    flags.DEFINE_string(
        "teacher_checkpoint",
        None,
        "A checkpoint to learn from, as for --init_checkpoint; replaces `distillation.teacher` of the "
        "config (docs/distillation.md).",
    )


def define_checkpoint_flag():
    """--checkpoint, for scripts that load the weights of a run."""
    flags.DEFINE_string(
        "checkpoint",
        None,
        "Which checkpoint of the run: last, best, or a step. By default the last one; for a run with early "
        "stopping the best one.",
    )
