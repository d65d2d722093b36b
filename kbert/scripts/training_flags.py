"""The flags that every training script has: where things lie and what to run on."""

from absl import flags


def define_training_flags():
    """--config, --run_dir, --override, --strategy, --num_devices."""
    flags.DEFINE_string("config", None, "JSON file: the model, the optimizer, batches and steps.")
    flags.DEFINE_string("run_dir", None, "Folder for checkpoints and metrics; holding this run, it resumes.")
    flags.DEFINE_multi_string("override", [], "One changed number, for example num_train_steps=500.")
    flags.DEFINE_string("strategy", "auto", "auto, one_device or mirrored.")
    flags.DEFINE_integer("num_devices", None, "Devices of the mirrored strategy; by default all GPUs.")
    flags.mark_flags_as_required(["config", "run_dir"])


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
