r"""Script: a teacher and labelled texts -> a small student, measured, as LiteRT (.tflite) files for phones.

  kbert student --config=configs/finetuning/sms_spam_phone.toml \
      --teacher_checkpoint=runs/sms_spam --train_file=sms/train.txt --dev_file=sms/dev.txt \
      --vocab_size=4000 --run_dir=phone/sms_spam

Cuts the teacher to the word pieces of the training texts and to max_seq_length positions (--run_dir/teacher),
trains the student of the config's [distillation] (--run_dir/student, an ordinary run), writes and measures
its LiteRT files (--run_dir/litert), and reports all of it beside the teacher (student.json, report.html).
Started again, it goes on where it was. docs/mobile.md has recipes and what came out.
"""

from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.command_flags.closing_output import define_json_flag, print_result
from kbert.config import FinetuningConfig, load_config
from kbert.scripts.training_flags import config_overrides, define_teacher_flag, define_training_flags

from .export_tflite import MIN_AGREEMENT
from .litert import requests
from .student.recipe import Recipe

FLAGS = flags.FLAGS


def define_flags():
    define_training_flags()
    define_teacher_flag()
    flags.DEFINE_string("train_file", None, "Labelled file: the student learns on it, and its words stay.")
    flags.DEFINE_string(
        "dev_file",
        None,
        "Labelled file: teacher, student and files are measured on it.",
    )
    flags.DEFINE_integer("vocab_size", None, "The most pieces to keep; by default all of the training texts.")
    flags.DEFINE_list("quantization", ["dynamic_int8"], f"Of {', '.join(requests.QUANTIZATIONS)}.")
    flags.DEFINE_list(
        "max_seq_length",
        None,
        "Lengths of the files; by default 16, 32 ... up to the config's max_seq_length.",
    )
    flags.DEFINE_float(
        "min_agreement", MIN_AGREEMENT, "Least share of a file's answers that are those of the Keras student."
    )
    define_json_flag()
    flags.mark_flags_as_required(["train_file", "dev_file"])


def main(argv):
    del argv
    config = load_config(FinetuningConfig, FLAGS.config, config_overrides())
    given = FLAGS.max_seq_length
    recipe = Recipe(
        config,
        Path(FLAGS.run_dir),
        FLAGS.train_file,
        FLAGS.dev_file,
        FLAGS.vocab_size,
        tuple(FLAGS.quantization),
        lengths_up_to(config.max_seq_length) if given is None else requests.parse_lengths(given),
        FLAGS.min_agreement,
    )
    recipe.check()

    from .closing_tables import litert_table, student_table
    from .student.steps import PAGE_FILE, REPORT_FILE, make_student

    report = make_student(recipe, FLAGS.strategy, FLAGS.num_devices)
    folder = recipe.folder
    places = {"files": recipe.litert, "page": folder / PAGE_FILE, "the same as JSON": folder / REPORT_FILE}
    print_result(report, places, student_table(report), litert_table(report["files"]))


def lengths_up_to(longest: int) -> tuple[int, ...]:
    """16, 32, 64 and so on below `longest`, and `longest`."""
    powers = (16 << number for number in range(requests.MOST_LENGTHS - 1))
    return (*(length for length in powers if length < longest), longest)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
