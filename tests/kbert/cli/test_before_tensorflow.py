"""What is missing or wrong in a command line is said before TensorFlow loads, by every command."""

import json
import subprocess
import sys

import pytest

from kbert.cli.commands import modules
from tests.places import REPOSITORY

# With None in its place an import fails. Each command runs in a fork of a process that has read most modules.
PROGRAM = """
import json, os, sys
sys.modules |= dict.fromkeys(("tensorflow", "tensorflow_text", "keras"))
import kbert.inference.loaded_model
from kbert.cli.commands import main
for number, command in enumerate(json.load(sys.stdin)):
    if not os.fork():
        os.dup2(os.open(f"{sys.argv[1]}/{number}", os.O_WRONLY | os.O_CREAT), 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        main(["kbert", *command])
    os.wait()
"""
FINETUNE = "finetune --config=configs/finetuning/small_data.toml --run_dir={made} "
LITERT = "export-litert --output_dir={made} "
FEATURES = "features --input_file={texts} --output_file={made}.npz "
RETRIEVAL = "hard-negatives --pairs_file={pairs} --output_file={made}.jsonl "
# The command line -> words of what is said.
REFUSALS = {
    FINETUNE + "--train_file={none}.csv --init_checkpoint={run}": "{none}.csv does not exist",
    FINETUNE + "--train_file={train} --init_checkpoint={none}": "checkpoint {none} does not exist",
    FINETUNE + "--train_file={train} --init_checkpoint={run} --teacher_checkpoint={none}": "teacher",
    FINETUNE + "--train_file={latin} --init_checkpoint={run}": "is not UTF-8",
    FINETUNE + "--train_file={train} --init_checkpoint={run} --override=droput=1": "unknown key 'droput'",
    FINETUNE + "--train_file={train} --init_checkpoint={run} --precision=bfloat16 "
    "--override=precision=float32": "--override='precision=float32' and --precision=bfloat16 both say",
    FINETUNE + "--train_file={train} --init_checkpoint={run} --teacher_checkpoint={run} "
    '--override=distillation={{"teacher":"{run}"}}': "both say distillation.teacher",
    "evaluate --run_dir={run} --eval_file={labelled} --output_file={run}/checkpoints/best.json "
    "--overwrite": "lies in the input folder {run}/checkpoints",
    "predict --run_dir={run} --text=x --output_file={run}/metrics.jsonl --overwrite": "itself, which would",
    "evaluate --run_dir={run} --eval_file={labelled} --predictions_dir={made} "
    "--output_file={made}/null_odds.json": "{made}/null_odds.json would be written twice",
    "evaluate --run_dir={run} --eval_file={labelled} --predictions_dir={texts}": "{texts} is no folder",
    "evaluate --run_dir={none} --eval_file={labelled}": "checkpoint {none} does not exist",
    "evaluate --run_dir={run} --eval_file={none}.csv": "{none}.csv does not exist",
    "evaluate --run_dir={run} --eval_file={labelled} --checkpoint=9": "has no checkpoint '9'",
    "predict --run_dir={none} --text=x": "checkpoint {none} does not exist",
    "predict --run_dir={none}.tflite --text=x": "{none}.tflite with kbert.json beside it does not exist",
    "predict --run_dir={run} --text=x --checkpoint=9": "has no checkpoint '9'",
    "predict --run_dir={run} --text=x --text_pair=a --text_pair=b": "1 --text but 2 --text_pair",
    "predict --run_dir={run} --question=x --context=y": "expects text; received question and context",
    "predict --run_dir={run} --question=x --context=y --text_pair=z": "and no --text_pair",
    "predict --run_dir={run} --text=x --top_k=3": "whose answers have no top_k",
    "predict --run_dir={run} --input_file={none}": "{none} does not exist",
    "predict --run_dir={run} --input_file={nulls}": "example 2: text is None; expected a text",
    "convert --from={none} --to={made}": "checkpoint {none} does not exist",
    "export --run_dir={none} --model_base_path={made}": "checkpoint {none} does not exist",
    "export --run_dir={run} --model_base_path={made} --checkpoint=9": "has no checkpoint '9'",
    "export --run_dir={run} --model_base_path={made} --dimensions=2": "dimensions=2 is of models that give",
    "serve {none}": "{none} does not exist",
    "serve {labelled}": "{labelled} holds no checkpoint",
    "quickstart --output_dir={made} --init_checkpoint={none}": "checkpoint {none} does not exist",
    "quickstart --output_dir={made} --init_checkpoint={run} --train_file={none}": "{none} does not exist",
    "configs --output_dir={run}": "exists already",
    "vocab --input_files={none} --output_file={made}": "matches no file",
    "vocab --input_files={texts} --output_file={made} --text_field=body": "no input file is one",
    "tokenize --vocab_file={none}": "vocabulary file {none} does not exist",
    "pretraining-data --input_files={none} --vocab_file={run}/vocab.txt --output_dir={made}": "matches no",
    "pretraining-data --input_files={texts} --vocab_file={run}/vocab.txt --output_dir={made} "
    "--text_field=body": "text_field='body' names the field",
    "finetuning-data --config=configs/finetuning/small_data.toml --input_file={none}.csv --output_dir={made} "
    "--init_checkpoint={run}": "{none}.csv does not exist",
    "finetuning-data --config=configs/finetuning/small_data.toml --input_file={train} --output_dir={made} "
    "--init_checkpoint={run} --max_seq_length=0": "max_seq_length",
    "show-records --input_dir={none} --check --shard=0 --record=1": "leave out --record, --shard",
    "show-records --input_dir={none}": "{none} does not exist; expected a folder",
    "pretrain --config=configs/pretraining/smoke.toml --input_dir={none} --run_dir={made}": "{none} does not",
    "pretrain --config=configs/pretraining/smoke.toml --input_dir={records} --run_dir={made} "
    "--teacher_checkpoint={none}": "the teacher cannot be read: checkpoint {none} does not exist",
    "glue --glue_dir={none} --run_dir={made} --init_checkpoint={run}": "{none} is no folder",
    RETRIEVAL + "--run_dir={none}": "checkpoint {none} does not exist",
    "curves --run_dir={none} --output_file={made}.html": "{none} holds no metrics.jsonl",
    FEATURES + "--run_dir={none}": "checkpoint {none} does not exist",
    FEATURES + "--run_dir={run} --max_seq_length=0": "max_seq_length",
    FEATURES + "--run_dir={run} --layers=99": "asks for layer 99",
    FEATURES + "--run_dir={run} --checkpoint=9": "has no checkpoint '9'",
    "attention --run_dir={none} --text=x --output_file={made}.html": "checkpoint {none} does not exist",
    "attention --run_dir={run} --text=x --output_file={made}.html --layers=99": "--layers=99: this model has",
    "trim --from={none} --to={made} --input_files={texts}": "checkpoint {none} does not exist",
    "trim --from={run} --to={made} --input_files={none}": "matches no file",
    "trim --from={run} --to={made} --input_files={texts} --text_field=body": "no input file is one",
    "trim --from={run} --to={made} --input_files={texts} --config=configs/finetuning/mrpc.toml": "give both",
    LITERT + "--run_dir={none}": "checkpoint {none} does not exist",
    LITERT + "--run_dir={run} --quantization=int3": "--quantization=int3 is not offered",
    LITERT + "--run_dir={run} --eval_file={none}.csv": "{none}.csv does not exist",
}
# Every output of every command.
WRITING = (
    FINETUNE + "--train_file={train} --init_checkpoint={run}",
    "pretrain --config=configs/pretraining/smoke.toml --input_dir={records} --run_dir={made}",
    "glue --glue_dir={none} --run_dir={made} --init_checkpoint={run}",
    "glue --glue_dir={none} --run_dir={none} --submission_dir={made} --init_checkpoint={run}",
    "evaluate --run_dir={run} --eval_file={labelled} --output_file={made}.json",
    "evaluate --run_dir={run} --eval_file={labelled} --html_file={made}.html",
    "evaluate --run_dir={run} --eval_file={labelled} --predictions_dir={made}",
    "evaluate --run_dir={run} --corpus_file={texts} --queries_file={texts} --qrels_file={texts} "
    "--vectors_dir={made}",
    "predict --run_dir={run} --text=x --output_file={made}.csv",
    "convert --from={run} --to={made}",
    "export --run_dir={run} --model_base_path={made}",
    "quickstart --output_dir={made}",
    "configs --output_dir={made}",
    "vocab --input_files={texts} --output_file={made}",
    "vocab --input_files={texts} --tokenizer=bpe --output_dir={made}",
    "pretraining-data --input_files={texts} --vocab_file={run}/vocab.txt --output_dir={made}",
    "finetuning-data --config=configs/finetuning/small_data.toml --input_file={train} --output_dir={made} "
    "--init_checkpoint={run}",
    RETRIEVAL + "--run_dir={run}",
    "hard-negatives --pairs_file={pairs} --output_file={none}.jsonl --run_dir={run} --vectors_dir={made}",
    "curves --run_dir={run} --output_file={made}.html",
    FEATURES + "--run_dir={run}",
    "attention --run_dir={run} --text=x --output_file={made}.html",
    "trim --from={run} --to={made} --input_files={texts}",
    LITERT + "--run_dir={run}",
)

REFUSALS |= {line.replace("{made}", "gs://bucket/made"): "is no path of this machine" for line in WRITING}


@pytest.fixture(scope="module")
def places(finetuned_run, labelled_files, records_dir, tmp_path_factory):
    folder = tmp_path_factory.mktemp("refused")
    names = {"none": folder / "none", "made": folder / "made", "run": finetuned_run.path}
    names |= {"labelled": labelled_files[0], "texts": folder / "texts.txt", "latin": folder / "latin.csv"}
    names["nulls"] = folder / "nulls.jsonl"
    names["records"] = records_dir / "train"
    names |= {"train": folder / "train.csv", "pairs": folder / "pairs.csv"}
    names["texts"].write_text("jump the a\n")
    names["nulls"].write_text('{"text": "jump"}\n{"text": null}\n')
    names["train"].write_text("text,label\n" + "jump the a,loud\nwalk a,quiet\n" * 20)
    names["pairs"].write_text("text,text_pair\njump,walk\n")
    names["latin"].write_bytes(b"text,label\nna\xefve,loud\ncaf\xe9,quiet\n")
    return names


def test_every_command_refuses_without_tensorflow(places, tmp_path):
    assert {command.split()[0] for command in REFUSALS} == set(modules())
    lines = [command.format(**places).split() for command in REFUSALS]
    program = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    subprocess.run(program, cwd=REPOSITORY, input=json.dumps(lines), text=True, check=True, timeout=120)
    for number, (command, words) in enumerate(REFUSALS.items()):
        said = (tmp_path / str(number)).read_text()
        assert words.format(**places) in said.rpartition("error: ")[2] and "Traceback" not in said, command
    assert not places["made"].exists()
