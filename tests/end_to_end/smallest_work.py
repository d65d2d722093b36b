"""The smallest work for every command: its arguments, on files of a few lines and models of one layer."""

import json
import shutil
from pathlib import Path

from kbert.config import to_dict
from kbert.runs.run_directory import RunDirectory
from tests.conftest import tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.experiments.glue import small_glue
from tests.kbert.tasks.feature_based import small_features
from tests.tfrecords_tools import small_corpus

# Commands that are not listened to, and why.
LEFT_OUT = {
    "quickstart": "runs other commands, one after the other, and passes on each of their lines",
}
_TINY = ("num_train_epochs=1", "train_batch_size=8", "eval_batch_size=8", "max_seq_length=24")


def write_inputs(folder: Path):
    """What the commands read beside the runs: corpus, vocabulary, GLUE's and CoNLL's files, configs."""
    small_corpus.write_corpus(folder)
    small_glue.write_glue(folder / "glue_data")
    small_features.write_files(folder)
    small_features.write_run(small_features.random_encoder(), folder / "encoder")
    _write_config(folder / "pretraining.json", tiny_pretraining_config())
    _write_config(folder / "finetuning.json", tiny_finetuning_config())
    _write_config(folder / "tagging.json", small_features.config_of())
    (folder / "texts.txt").write_text("jump the a\nwalk\n")


def _write_config(path, config):
    path.write_text(json.dumps(to_dict(config) | {"encoder": None}))


def arguments_of(
    at: Path, out: Path, records: Path, files, pretrained: RunDirectory, classifier: RunDirectory
) -> dict[str, list[str]]:
    """command -> its arguments, for those that need no exported model.

    Args:
      at: the folder of `write_inputs`.
      out: an empty folder, for what the commands write.
      records: folder with `train` and `heldout` pretraining records.
      files: labelled training and development file.
      pretrained, classifier: runs.
    """
    train, dev = (str(path) for path in files)
    model = f"--run_dir={classifier.path}"
    return {
        "configs": [],
        **_data_commands(at, out, records, train),
        "pretrain": [
            f"--config={at}/pretraining.json", f"--input_dir={records}/train",
            f"--eval_input_dir={records}/heldout", f"--run_dir={out}/pretrain",
            f"--init_checkpoint={pretrained.path}",
        ],
        "finetune": [
            f"--config={at}/finetuning.json", f"--train_file={train}", f"--dev_file={dev}",
            f"--init_checkpoint={pretrained.path}", f"--run_dir={out}/finetune",
        ],
        "feature-ner": [
            f"--config={at}/tagging.json", f"--train_file={at}/train.conll", f"--dev_file={at}/dev.conll",
            f"--init_checkpoint={at}/encoder", f"--run_dir={out}/feature-ner", "--reads=embeddings",
        ],
        "glue": [
            f"--glue_dir={at}/glue_data", f"--init_checkpoint={pretrained.path}", "--tasks=cola",
            f"--run_dir={out}/glue", *(f"--override={setting}" for setting in _TINY),
        ],
        "curves": [f"--run_dir={pretrained.path}", f"--output_file={out}/curves.html"],
        "evaluate": [model, f"--eval_file={dev}", f"--html_file={out}/errors.html"],
        "predict": [model, "--text=jump the a"],
        "attention": [model, "--text=jump the a", f"--output_file={out}/attention.html"],
        "features": [model, f"--input_file={at}/texts.txt", f"--output_file={out}/features.jsonl"],
        "convert": [f"--from={classifier.path}", f"--to={out}/hugging_face", "--format=hugging_face"],
        "trim": [
            f"--from={classifier.path}", f"--to={out}/trimmed", f"--input_files={at}/corpus.txt",
        ],
        "export": [model, f"--model_base_path={out}/served"],
        "export-litert": [model, f"--output_dir={out}/litert", f"--eval_file={dev}", "--min_agreement=0"],
    }  # fmt: skip


def _data_commands(at, out, records, train):
    shutil.copytree(records / "train", out / "records")  # a page is written beside the records
    read = [f"--input_dir={out}/records"]
    return {
        "vocab": [
            f"--input_files={at}/corpus.txt", f"--output_file={out}/vocab.txt", "--vocab_size=160",
            "--num_unused_tokens=0",
        ],
        "tokenize": [f"--vocab_file={at}/vocab.txt"],
        "pretraining-data": [
            f"--input_files={at}/corpus.txt", f"--vocab_file={at}/vocab.txt",
            f"--output_dir={out}/pretraining-data", "--max_seq_length=24", "--max_predictions_per_seq=3",
        ],
        "finetuning-data": [
            f"--config={at}/finetuning.json", f"--input_file={train}", f"--vocab_file={at}/vocab.txt",
            f"--output_dir={out}/finetuning-data",
        ],
        "layer-features": [
            f"--config={at}/tagging.json", f"--input_file={at}/dev.conll", f"--init_checkpoint={at}/encoder",
            f"--output_dir={out}/layer-features",
        ],
        "show-records": read,
        "check-records": read,
        "draw-records": [*read, "--recount"],
    }  # fmt: skip
