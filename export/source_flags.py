"""What --run_dir or --init_checkpoint names: the model to export."""

from absl import flags

from kbert.config.checks import require_single
from kbert.scripts.training_flags import define_checkpoint_flag, define_init_checkpoint_flags

FLAGS = flags.FLAGS


def define_source_flags():
    """--run_dir, --checkpoint, and the flags of --init_checkpoint."""
    flags.DEFINE_string("run_dir", None, "The run to export, or any checkpoint; or give --init_checkpoint.")
    define_checkpoint_flag()
    define_init_checkpoint_flags()


def source_from_flags():
    """The `LoadedModel` of --run_dir or --init_checkpoint, its weights not read yet.

    Raises:
      ValueError: when not exactly one of them is given, and as `open_model` does.
    """
    require_single({"--run_dir": FLAGS.run_dir, "--init_checkpoint": FLAGS.init_checkpoint})
    from kbert.inference.loading import open_model  # late: it brings NumPy along

    path = FLAGS.init_checkpoint or FLAGS.run_dir
    return open_model(path, FLAGS.do_lower_case, FLAGS.allow_unmatched, FLAGS.checkpoint)
