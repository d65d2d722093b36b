"""What --run_dir or --init_checkpoint names: the model to export."""

from absl import flags

from kbert.config.checks import require_single
from kbert.runs.run_file import holds_run
from kbert.scripts.training_flags import define_checkpoint_flag, define_init_checkpoint_flags

FLAGS = flags.FLAGS


def define_source_flags():
    """--run_dir, --checkpoint, and the flags of --init_checkpoint."""
    flags.DEFINE_string("run_dir", None, "The run to export, or any checkpoint; or give --init_checkpoint.")
    define_checkpoint_flag()
    define_init_checkpoint_flags()


def source_from_flags():
    """The `RunDirectory` of --run_dir, or the `LoadedModel` of a checkpoint: --init_checkpoint, or --run_dir.

    Raises:
      ValueError: when not exactly one of them is given, when a flag for checkpoints is given with a run or
        --checkpoint without one, or for a path that holds no run or no checkpoint.
    """
    require_single({"--run_dir": FLAGS.run_dir, "--init_checkpoint": FLAGS.init_checkpoint})
    from kbert.checkpoints.formats import detect_format, local_path
    from kbert.runs.run_directory import RunDirectory

    path = FLAGS.init_checkpoint or FLAGS.run_dir
    folder = local_path(path)
    if FLAGS.init_checkpoint is not None or not holds_run(folder):
        detect_format(folder)  # raises an error where there is no model
        from kbert.inference.loaded_model import load_model

        settings = (FLAGS.do_lower_case, FLAGS.allow_unmatched, FLAGS.checkpoint)
        return load_model(path, *settings, folder=folder)
    if FLAGS.do_lower_case is not None or FLAGS.allow_unmatched:
        raise ValueError(
            "--do_lower_case and --allow_unmatched are for --init_checkpoint; a run records what they say. "
            "Leave them out."
        )
    run = RunDirectory(path, FLAGS.checkpoint)
    run.checkpoint()  # raises an error when there is no such one
    return run
