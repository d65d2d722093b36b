r"""Script: a labelled file + a pretrained checkpoint -> the run directory of a fine-tuned model.

  kbert finetune \
      --train_file=sst2/train.tsv --dev_file=sst2/dev.tsv \
      --config=configs/finetuning/sst2.toml --init_checkpoint=runs/phase1 --run_dir=runs/sst2

--other_dev_file=mismatched=MNLI/dev_mismatched.tsv evaluates on a second file as well.

--seeds=1,2,3 trains once for each seed and reports mean and standard deviation of every metric.

--init_checkpoint is a run of kbert, a Hugging Face folder or Google's TF1 checkpoint; kbert recognises the
format by the content. The head of the checkpoint is used too if it matches the task. Without
--init_checkpoint the encoder starts from random weights: give --vocab_file or --tokenizer, and an `encoder`
in the config.

--teacher_checkpoint=runs/teacher trains a student: it learns from the predictions of a larger model, by the
settings in [distillation] of the config (docs/distillation.md).

Instead of files you can give records of kbert finetuning-data: --train_dir and --dev_dir.
The records contain their vocabulary.
"""

import functools
from pathlib import Path

from absl import flags

from kbert.checkpoints.vocabulary_source import read_source
from kbert.checks import with_home
from kbert.cli import script
from kbert.cli.closing_output import chosen_settings, define_json_flag, plain_metrics, print_result
from kbert.cli.declared_flags import declare_flags, define_list, flag_values
from kbert.config import Devices, FinetuningConfig, load_config, require_not_overridden
from kbert.experiments.finetuning import finetune, with_vocabulary
from kbert.experiments.init import Init
from kbert.experiments.seeds import run_seeds
from kbert.reports import run_page
from kbert.reports.seed_summary import FILE_NAME as SUMMARY
from kbert.reports.seed_summary import seed_table
from kbert.reports.text_table import text_table
from kbert.scripts.training_flags import (
    Checkpoint,
    config_overrides,
    define_override_flags,
    define_teacher_flag,
)

FLAGS = flags.FLAGS


def define_flags():
    declare_flags(finetune, Checkpoint)
    declare_flags(Devices)
    define_override_flags()
    define_teacher_flag()
    flags.DEFINE_multi_string(
        "other_dev_file",
        [],
        "NAME=PATH: a further labelled file for evaluation, such as "
        "mismatched=MNLI/dev_mismatched.tsv; its metrics are called mismatched_accuracy and so on.",
    )
    flags.DEFINE_string("vocab_file", None, "vocab.txt, for a start from random weights.")
    flags.DEFINE_string(
        "tokenizer",
        None,
        "Instead of --vocab_file: a tokenizer's folder, of any kind, or a model's name.",
    )
    define_list(
        "seeds",
        [],
        "Train once for each of these seeds, for example 1,2,3, in --run_dir/seed-N. Mean and standard "
        "deviation of every metric are printed and written to --run_dir/summary.json.",
        int,
    )
    define_json_flag()


def main():
    arguments = flag_values(finetune) | flag_values(Devices)
    run_dir = arguments.pop("run_dir")
    overrides = config_overrides()
    require_not_overridden(overrides if FLAGS.seeds else (), "seed", "seeds")
    read_config = functools.partial(load_config, FinetuningConfig, arguments.pop("config"), overrides)
    vocabulary = _vocabulary()
    if FLAGS.tokenizer and not FLAGS.teacher_checkpoint:  # whose settings were allowed to differ
        arguments["allow_unmatched"] = ()
    start = Init(
        FLAGS.init_checkpoint, FLAGS.do_lower_case, tuple(arguments["allow_unmatched"]), False, vocabulary
    )
    config, init = with_vocabulary(read_config, start, FLAGS.train_dir)
    arguments |= {"other_dev_files": _named_files(FLAGS.other_dev_file), "vocabulary": init.vocabulary}
    if FLAGS.seeds:
        summary = run_seeds(config, run_dir, FLAGS.seeds, **arguments)
        paths = {"runs": run_dir, "the same as JSON": Path(run_dir) / SUMMARY}
        print_result(summary["metrics"], paths, seed_table(summary))
        return
    task, metrics = finetune(config, run_dir, **arguments)
    shown = plain_metrics(metrics) | chosen_settings(metrics) | run_page.result_paths(run_dir)
    print_result(metrics, shown, text_table(task.report(metrics)) if metrics else "")


def _named_files(values: list[str]) -> dict[str, str]:
    """What `--other_dev_file=NAME=PATH` says, given several times: name -> path."""
    files = {}
    for value in values:
        name, equals, path = value.partition("=")
        if not equals or not path:
            raise ValueError(
                f"--other_dev_file={value}: expected a name and a file, such as "
                "mismatched=MNLI/dev_mismatched.tsv."
            )
        if name in files:
            raise ValueError(f"--other_dev_file names {name!r} twice; give each file a name of its own.")
        files[name] = with_home(path)
    return files


def _vocabulary():
    """The vocabulary of --vocab_file or --tokenizer, or None."""
    flag = FLAGS.vocab_file and "vocab_file" or FLAGS.tokenizer and "tokenizer"
    if not flag:
        return None
    for other, owner in (("init_checkpoint", "a checkpoint has its"), ("train_dir", "records have their")):
        if FLAGS[other].value:
            raise ValueError(
                f"--{flag} and --{other} cannot be combined: {owner} own vocabulary; leave one of them out."
            )
    allowed = FLAGS.allow_unmatched if FLAGS.tokenizer else ()
    return read_source(FLAGS.vocab_file, FLAGS.tokenizer, FLAGS.do_lower_case, allowed)


if __name__ == "__main__":
    define_flags()
    script.run(main, FinetuningConfig)
