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
