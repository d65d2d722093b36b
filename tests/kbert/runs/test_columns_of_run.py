"""What is asked of a file for a run, and of which runs nothing is asked."""

import dataclasses
import json
import shutil

import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.unlabelled_files import examples_of_file
from kbert.runs.columns_of_run import count_inputs_of_run, dataset_of_texts, require_columns_of_model
from tests.conftest import tiny_finetuning_config


@pytest.fixture
def run_dir(pair_run, tmp_path):
    """A copy of run.json and config.json of a run on pairs."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("run.json", "config.json"):
        shutil.copy(pair_run.path / name, folder)
    return folder


def test_files_of_the_run_pass_and_others_do_not(run_dir, labelled_files, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("sentence,label\nHot soup.,good\n")
    for require in (require_columns_of_model, count_inputs_of_run):
        require(labelled_files[0], run_dir)
        with pytest.raises(ValueError, match="sentence"):
            require(other, run_dir)


@pytest.mark.parametrize(
    "header", ["text,Context,n", "text,questions,n", "question,context,txt", "text,text_pair,n"]
)
def test_columns_that_another_kind_of_model_reads_are_no_slips(tmp_path, header, caplog):
    """Of a checkpoint of others is known later what it reads."""
    file = tmp_path / "rows.csv"
    file.write_text(f"{header}\na,b,c\n")
    assert count_inputs_of_run(file, tmp_path / "checkpoint") == 1
    assert not caplog.text
    file.write_text("Text\na\n")
    with pytest.raises(ValueError, match="Text"):
        count_inputs_of_run(file, tmp_path / "checkpoint")


def test_objects_for_questions_are_no_texts(tmp_path, caplog):
    (tmp_path / "q.txt").write_text('{"question": "a", "context": "b"}\n')
    assert count_inputs_of_run(tmp_path / "q.txt", tmp_path / "checkpoint") == 1
    assert not caplog.text


@pytest.mark.parametrize("names", [("word", "tag"), ("word", "part", "chunk", "tag")])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_the_names_of_conll_columns_are_not_those_of_texts(tmp_path, names, ending):
    """The header was a text once, and the ids were texts, of a run with the recipes of CoNLL-2003."""
    dataset = {"text": "word", "label": "tag", "column_names": names}
    (tmp_path / "run.json").write_text(json.dumps({"task": "token_classification", "task_config": {}}))
    (tmp_path / "config.json").write_text(json.dumps({"dataset": dataset}))
    file, rows = tmp_path / f"a.{ending}", ["id source text day", "7 web Ann 1", "8 web Bob 2"]
    file.write_text("\n".join(rows).replace(" ", "\t" if ending == "tsv" else ",") + "\n")
    assert count_inputs_of_run(file, tmp_path) == 2
    examples = examples_of_file(file, [("text",)], dataset_of_texts(tmp_path))
    assert [(example["id"], example["text"]) for example in examples] == [("7", "Ann"), ("8", "Bob")]


def test_labelled_words_are_refused_for_a_run_that_labels_words(tmp_path):
    dataset = {"labels": ["O", "B-ORG"]}
    (tmp_path / "run.json").write_text(json.dumps({"task": "token_classification", "task_config": {}}))
    (tmp_path / "config.json").write_text(json.dumps({"dataset": dataset}))
    (tmp_path / "a.conll").write_text("EU B-ORG\nsaid O\n")
    (tmp_path / "a.txt").write_text("EU said.\nNo.\n")
    assert count_inputs_of_run(tmp_path / "a.txt", tmp_path) == 2
    with pytest.raises(ValueError, match="a.conll has 'EU B-ORG' where a text is expected"):
        count_inputs_of_run(tmp_path / "a.conll", tmp_path)


def test_labels_of_a_checkpoint_are_not_judged_as_those_of_a_training_file(tmp_path):
    """Each of many labels once; rows that a training file may not have are looked at all the same."""
    file = tmp_path / "dev.tsv"
    file.write_text("text\tlabel\n" + "".join(f"a{n}\tintent {n}\n" for n in range(25)))
    dataset = DatasetConfig(skip_short_rows=True)
    for settings in (dataset, dataclasses.replace(dataset, labels=("0", "1"))):
        require_columns_of_model(file, tmp_path, tiny_finetuning_config(dataset=settings))
    with pytest.raises(ValueError, match="no column 'intent'"):
        require_columns_of_model(
            file, tmp_path, tiny_finetuning_config(dataset=DatasetConfig(label="intent"))
        )
    file.write_text(file.read_text() + "short\n")
    require_columns_of_model(file, tmp_path, tiny_finetuning_config(dataset=dataset))
    unfit = tiny_finetuning_config(dataset=DatasetConfig())
    with pytest.raises(ValueError, match="line 27"):
        require_columns_of_model(file, tmp_path, unfit)
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(ValueError, match="config is for checkpoints of other libraries; the run"):
        require_columns_of_model(file, tmp_path, unfit)
