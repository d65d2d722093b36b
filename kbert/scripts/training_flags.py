"""The flags that every training script has: where things lie and what to run on."""

from absl import flags

from kbert.config import PRECISIONS


def define_training_flags():
    """--config, and what `define_run_flags` defines."""
    flags.DEFINE_string(
        "config", None, "TOML file, or a run's config.json: the model, the optimizer, batches and steps."
    )
    define_run_flags()
    flags.mark_flags_as_required(["config", "run_dir"])


def define_run_flags():
    """--run_dir, --override, --jit, --precision, --strategy, --num_devices, --cluster, --tpu."""
    flags.DEFINE_string("run_dir", None, "Folder for checkpoints and metrics; holding this run, it resumes.")
    flags.DEFINE_multi_string("override", [], "One changed value, for example num_train_steps=500.")
    flags.DEFINE_enum("jit", None, ["auto", "on", "off"], "XLA; in the place of the config's jit_compile.")
    flags.DEFINE_string("precision", None, f"{', '.join(PRECISIONS)}; in the place of the config's.")
    flags.DEFINE_string("strategy", "auto", "auto, one_device, mirrored, multi_worker or tpu.")
    flags.DEFINE_integer("num_devices", None, "Devices of the mirrored strategy; by default all GPUs.")
    flags.DEFINE_enum(
        "cluster", "tf_config", ["tf_config", "slurm"], "Where multi_worker learns of its workers."
    )
    flags.DEFINE_string("tpu", None, 'Name or address of the TPU; "local" on a TPU virtual machine.')


def config_overrides() -> list[str]:
    """What the command line changes of the config, for `load_config`."""
    values = flags.FLAGS
    overrides = list(values.override)
    if values.jit:
        overrides.append("jit_compile=" + {"auto": "auto", "on": "true", "off": "false"}[values.jit])
    if values.precision:
        overrides.append(f"precision={values.precision}")
    return overrides


def define_init_checkpoint_flags():
    """--init_checkpoint, --allow_unmatched, --do_lower_case."""
    flags.DEFINE_string(
        "init_checkpoint",
        None,
        "Where the weights come from: a run of kbert, a Hugging Face folder, a KerasHub preset, Google's TF1 "
        "checkpoint, or a name: hf://org/name@revision, keras_hub://preset.",
    )
    flags.DEFINE_list(
        "allow_unmatched",
        [],
        "Names or globs of the checkpoint's tensors and settings that may be left over, missing or "
        "different; error messages say which.",
    )
    flags.DEFINE_bool(
        "do_lower_case", None, "The casing of a vocabulary that comes without; by default a checkpoint's own."
    )


def define_records_errors_flag():
    """--records_errors, for scripts that read records."""
    flags.DEFINE_enum(
        "records_errors",
        "fail",
        ["fail", "skip"],
        "At a damaged record: stop and name file and byte, or look for damages first and go without them.",
    )


def define_checkpoint_flag():
    """--checkpoint, for scripts that take a run's weights."""
    flags.DEFINE_string(
        "checkpoint",
        None,
        "Which checkpoint of the run: last, best, or a step. By default the last, and the best of a run with "
        "early stopping.",
    )
