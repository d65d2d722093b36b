"""An evaluation reads one checkpoint, also of a run that still trains, and the texts it was trained on."""

import json
import re
import shutil
from pathlib import Path

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.experiments import evaluation_run
from kbert.experiments.evaluation import evaluate
from kbert.experiments.evaluation_data import evaluation_data, trained_runs, warn_of_training_data
from kbert.experiments.labelled_file import LabelledFile
from kbert.files import output_path
from kbert.inference.loaded_model import loaded_run
from kbert.runs.run_directory import RunDirectory
from kbert.scripts.convert_checkpoint import convert_checkpoint
from kbert.tasks.file_columns import task_files
from tests.html_checks import read_page


def test_a_checkpoint_that_is_saved_in_the_meantime_changes_nothing(
    finetuned_run, labelled_files, tmp_path, monkeypatch
):
    run = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run"))
    read = run.checkpoint("best")
    step = int(read.name.removeprefix("step-"))
    evaluate_batches = evaluation_run.evaluate_batches

    def while_the_training_goes_on(*arguments):
        metrics = evaluate_batches(*arguments)
        read.rename(read.with_name(f"step-{step + 7:08d}"))  # a new one, and the old one deleted
        index = run.checkpoints / "best.json"
        index.write_text(json.dumps(json.loads(index.read_text()) | {"step": step + 7}))
        return metrics

    monkeypatch.setattr(evaluation_run, "evaluate_batches", while_the_training_goes_on)
    page = tmp_path / "dev.html"
    evaluate(run, labelled_files[1], checkpoint="best", keep_chosen=True, html_file=page)
    assert run.checkpoint("best") != read
    assert json.loads((run.path / "chosen.json").read_text())["step"] == step
    shown = read_page(page)
    assert f"step {step}" in shown and f"step {step + 7}" not in shown


def test_a_page_replaces_nothing_that_is_read(finetuned_run, labelled_files):
    for file in (labelled_files[1], finetuned_run.path / "run.json"):
        before = file.read_bytes()
        with pytest.raises(ValueError, match="is the input"):
            evaluate(finetuned_run, labelled_files[1], html_file=file)
        assert file.read_bytes() == before


def test_an_evaluation_says_that_it_is_of_the_training_file(finetuned_run, labelled_files, caplog):
    for file, says in zip(labelled_files, (True, False), strict=False):
        caplog.clear()
        evaluate(finetuned_run, file)
        assert ("40 of its 40 examples were trained on" in caplog.text) == says


def test_weights_that_were_converted_keep_what_they_were_trained_on(
    finetuned_run, labelled_files, tmp_path, caplog
):
    source = finetuned_run.path
    for name in ("encoder", "again"):
        convert_checkpoint(source, tmp_path / name, encoder_only=True)
        source = tmp_path / name
        data = LabelledFile(
            labelled_files[0], task_files(finetuned_run.config.task), finetuned_run.config.dataset
        )
        caplog.clear()
        warn_of_training_data(trained_runs(source), data)
        assert f"holds the training data of {source}, and 40 of its 40 examples" in caplog.text
        details = RunDirectory(source).details
        assert details["init_checkpoint"] == finetuned_run.details["init_checkpoint"]


def test_an_evaluation_says_that_it_is_of_the_records_of_the_training(pretraining_run, records_dir, caplog):
    loaded = loaded_run(pretraining_run, None)
    for name, says in (("heldout", False), ("train", True)):
        evaluation_data(loaded, None, records_dir / name)
        assert ("holds the training data" in caplog.text) == says


@pytest.mark.long
def test_a_page_shows_the_task_that_answered(finetuned_run, labelled_files, tmp_path, monkeypatch):
    """Not the one with the thresholds and the temperature that it chose."""

    def refuse(path, is_folder):
        raise PermissionError(f"{path} may not be written")

    run, pages = RunDirectory(shutil.copytree(finetuned_run.path, tmp_path / "run")), []
    with monkeypatch.context() as patch:
        patch.setattr(output_path, "_require_writable", refuse)
        with pytest.raises(PermissionError, match="chosen.json"):  # before the work, not after it
            evaluate(run, labelled_files[1], keep_chosen=True)
    for keep_chosen in (False, True):
        evaluate(run, labelled_files[1], keep_chosen=keep_chosen, html_file=tmp_path / "dev.html")
        pages.append(read_page(tmp_path / "dev.html"))
    assert (run.path / "chosen.json").is_file()
    assert pages[0] == pages[1]


def test_the_task_is_that_of_the_checkpoint_which_is_read(finetuned_run, labelled_files):
    """A run that still trains may have deleted the one whose task was read before."""
    loaded = loaded_run(finetuned_run, "last")
    read, another = loaded._read, loaded.run.task(loaded.checkpoint)

    def read_another():
        loaded.task = another
        return read()

    loaded._read = read_another
    assert evaluate(loaded, labelled_files[1])[0] is another


@pytest.mark.long  # TensorFlow and Keras for a conversion and two evaluations
def test_a_checkpoint_that_does_not_say_it_takes_the_pairs_of_the_file(pair_run, tmp_path):
    rows = [f"jump {'the ' * n},walk {'a ' * n},{'loud' if n % 3 else 'quiet'}\n" for n in range(12)]
    for name, header in (("own.csv", "sentence,other,label\n"), ("usual.csv", "text,text_pair,label\n")):
        (tmp_path / name).write_text(header + "".join(rows))
    convert_checkpoint(pair_run.path, tmp_path / "folder", "hugging_face")
    _, expected = evaluate(pair_run, tmp_path / "own.csv")
    _, metrics = evaluate(tmp_path / "folder", tmp_path / "usual.csv")
    assert metrics["loss"] == pytest.approx(expected["loss"], abs=1e-6)
    texts = tmp_path / "texts.toml"  # a file, as `finetune` takes it, or what it says
    lines = Path("configs/finetuning/small_data.toml").read_text()
    texts.write_text(re.sub("(?m)^max_seq_length = .*", "max_seq_length = 32", lines))
    of_file, made = (
        evaluate(tmp_path / "folder", tmp_path / "usual.csv", config=config)[1]
        for config in (texts, load_config(FinetuningConfig, texts))
    )
    assert of_file == made and of_file["num_examples"] == 12
