r"""Script: runs every stage of kbert once, on text that comes with kbert.

  kbert quickstart --output_dir=quickstart_run

Raw text -> vocabulary -> TFRecords -> pretraining -> fine-tuning -> SavedModel -> requests over the TF
Serving API -> LiteRT. The steps are the commands of configs/quickstart/from_text.sh, printed as you would
type them; the output of each is in logs/. At the end you have a table, results.json, a picture of the curves,
and one HTML page.

  kbert quickstart --output_dir=quickstart_pretrained --init_checkpoint=all-MiniLM-L6-v2 \
      --train_file=mine.csv

With an --init_checkpoint, nothing is pretrained: this encoder is fine-tuned, on the same labels or on those
of --train_file, evaluated and exported, by the commands of configs/quickstart/from_pretrained.sh.
"""

import shlex
from pathlib import Path

from kbert.checkpoints import formats
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.config import FinetuningConfig, load_config
from kbert.extras import require
from kbert.files.output_path import require_local
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.tables.table_paths import source_files
from kbert.quickstart import from_text
from kbert.quickstart.recipe import run_recipe
from kbert.shipped_configs import configs_directory
from kbert.tasks.file_columns import check_file


def run_quickstart(
    output_dir: str | Path = "quickstart_run",
    init_checkpoint: str | None = None,
    train_file: str | None = None,
):
    """Runs every stage.

    Args:
      output_dir: the folder for all results; an earlier quickstart in it is removed.
      init_checkpoint: a folder or name of an encoder to fine-tune instead.
      train_file: with `init_checkpoint`: your labelled texts, a CSV, TSV or JSONL file with columns text and
        label. A fifth of them is held out.
    """
    require_local(output_dir)
    output_dir = Path(output_dir)
    if init_checkpoint:
        formats.require_checkpoint(init_checkpoint)
        inputs = [Path(init_checkpoint), *(source_files(train_file) if train_file else ())]
        if train_file:  # before an earlier quickstart is removed
            _require_readable(train_file)
        run_recipe("from_pretrained.sh", output_dir, inputs, **encoder_and_data(init_checkpoint, train_file))
    elif train_file:
        raise ValueError("--train_file goes with --init_checkpoint, the encoder to fine-tune; give both.")
    else:
        for extra in ("litert", "serve"):
            require(extra, "kbert quickstart")
        from_text.quickstart(output_dir)


def _require_readable(train_file):
    config = load_config(FinetuningConfig, configs_directory() / "finetuning" / "quickstart_pretrained.toml")
    try:
        check_file(config.task, train_file, config.dataset)
    except MissingColumn as error:
        raise ValueError(f"{error.what} Rename its columns to text and label.") from None


def encoder_and_data(init_checkpoint: str, train_file: str | None) -> dict[str, str]:
    """What `$encoder`, `$data` and `$test` stand for in from_pretrained.sh, if not for its own."""
    encoder = {"encoder": shlex.quote(init_checkpoint)}
    if train_file is None:
        return encoder
    file = shlex.quote(train_file)
    data = f"--train_file={file} --override=dev_split=0.2"
    return encoder | {"data": data, "test": f"--eval_file={file} --split=dev"}


def define_flags():
    declare_flags(run_quickstart)


def main():
    run_quickstart(**flag_values(run_quickstart))


if __name__ == "__main__":
    define_flags()
    script.run(main)
