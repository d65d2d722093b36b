"""Long work over texts says how much is done of how much, wherever the number is known."""

import logging
import re

import pytest

from kbert.cli import progress


@pytest.fixture
def told(monkeypatch, caplog):
    """A function that does some work and returns its lines of progress; every report is a line."""
    monkeypatch.setattr(progress, "_seconds_between_lines", 0.0)

    def do(work):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="absl"):
            work()
        return [record.message for record in caplog.records if record.filename == "progress.py"]

    return do


def shares(lines):
    """ "Wrote:  40%|████      | 2/5 [...]" -> ["2/5"]."""
    return [re.search(r"\| (\S+/\S+) \[", line)[1] for line in lines if "%" in line]


def test_answers_are_told_batch_by_batch_before_the_first_is_given(finetuned_run, told):
    from tests.kbert.inference.answering import answers

    def work():
        report = progress.Progress("Answered", "texts", 5).report
        examples = ({"text": "jump the a"} for _ in range(5))
        next(answers(finetuned_run, examples, batch_size=2, report=report))

    assert shares(told(work)) == ["2/5", "4/5"]


@pytest.mark.parametrize("kind", ["file", "labelled records", "pretraining records"])
def test_evaluation_knows_its_batches(
    kind, finetuned_run, pretraining_run, labelled_files, records_dir, tmp_path, told
):
    from kbert.experiments.evaluation import evaluate
    from kbert.manifest import read_manifest
    from tfrecords_tools.create_finetuning_data import create_finetuning_data

    if kind == "file":
        lines = told(lambda: evaluate(finetuned_run, labelled_files[1], batch_size=5))
        expected = ["1/3", "2/3"]  # 13 examples
    elif kind == "labelled records":
        config = finetuned_run.path / "config.json"
        vocabulary = finetuned_run.path / "vocab.txt"
        create_finetuning_data(config, labelled_files[1], tmp_path / "out", vocab_file=vocabulary)
        lines = told(lambda: evaluate(finetuned_run, input_dir=tmp_path / "out", batch_size=5))
        expected = ["1/3", "2/3"]
    else:
        number = read_manifest(records_dir / "heldout").num_examples
        lines = told(
            lambda: evaluate(pretraining_run, input_dir=records_dir / "heldout", batch_size=number - 1)
        )
        expected = ["1/2"]
    assert shares(line for line in lines if line.startswith("Evaluated")) == expected


def test_tokenization_of_a_labelled_file_is_told(monkeypatch, vocabulary, told):
    from kbert.input_pipelines import text_reader
    from kbert.input_pipelines.labelled_files import LabelledText
    from kbert.tokenization.text_inputs import TextInputs

    monkeypatch.setattr(text_reader, "_ROWS_AT_ONCE", 2)
    rows = [LabelledText("jump", None, "loud")] * 5
    lines = told(lambda: text_reader.tokenize_rows(rows, TextInputs(vocabulary, 8)))
    assert shares(lines) == ["2/5", "4/5"]


def test_records_are_told_by_the_rows_of_the_file(monkeypatch, finetuned_run, labelled_files, tmp_path, told):
    from tfrecords_tools import create_finetuning_data

    monkeypatch.setattr(create_finetuning_data, "_ROWS_AT_ONCE", 5)
    run = finetuned_run.path
    lines = told(
        lambda: create_finetuning_data.create_finetuning_data(
            run / "config.json", labelled_files[1], tmp_path / "out", vocab_file=run / "vocab.txt"
        )
    )
    wrote = [line for line in lines if line.startswith("Wrote")]
    assert shares(wrote) == ["5/13", "10/13"]


def test_lines_of_standard_input_are_told_by_their_bytes(tmp_path, told):
    from tfrecords_tools.tokenize_text import bytes_left, report_bytes

    path = tmp_path / "texts.txt"
    path.write_bytes(b"a" * 999_999 + b"\n" + b"b" * 1_499_999 + b"\n")
    with path.open("rb") as file:
        assert bytes_left(file) == 2_500_000
        report = progress.Progress("Tokenized", "bytes", bytes_left(file))
        lines = told(lambda: list(report_bytes(file, report)))
    assert shares(lines) == ["1.00M/2.50M"]
