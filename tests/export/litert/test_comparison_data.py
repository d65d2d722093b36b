"""The rows of a comparison: all examples of a file, or the fixed texts in the shape of the task."""

import dataclasses

import numpy as np
import pytest

import kbert
from export.litert.comparison import compare, compute_metrics, predict_rows
from export.litert.comparison_data import FIXED_TEXTS, comparison_data, full_rows
from export.litert.from_text.other_reading import texts_by_row
from export.litert.litert_source import to_litert_source
from kbert.checkpoints.kbert_run import describe_run, with_trained, write_kbert_run
from kbert.checkpoints.report import Report
from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.features import LABEL_FEATURE
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tokenization.text_inputs import TextInputs
from tests.kbert.inference.random_model import random_task_model


def with_task(run, task):
    """The `LiteRTSource` of a run, with another task."""
    return to_litert_source(run)._replace(task=task)


def test_rows_of_a_file_are_all_there_and_of_one_length(finetuned_run, tmp_path):
    lines = ["sentence\tother\tlabel", *(f"jump {'the ' * n}\tx\tloud" for n in range(40))]
    (tmp_path / "dev.tsv").write_text("\n".join(lines) + "\n")
    run = RunDirectory(finetuned_run.path)
    run.config = dataclasses.replace(run.config, pad_to_longest=True)
    data = comparison_data(to_litert_source(run), tmp_path / "dev.tsv", 16)
    assert len(data.examples) == 40 and data.owners.tolist() == list(range(40))
    assert data.rows["input_ids"].shape == (40, 16) and LABEL_FEATURE in data.rows
    assert data.rows["input_mask"].sum(axis=1).tolist() == [min(16, 3 + n) for n in range(40)]


def test_a_loaded_run_reads_a_file_as_its_run_does(pair_run, tmp_path):
    """Columns, metric and held-out part too: a path of a run may be given as that of any checkpoint."""
    rows = [f"jump {'the ' * n}\twalk\t{'loud' if n % 3 else 'quiet'}" for n in range(9)]
    file = tmp_path / "dev.tsv"
    file.write_text("\n".join(["sentence\tother\tlabel", *rows]) + "\n")
    run, loaded = RunDirectory(pair_run.path), kbert.load(pair_run.path)
    for chosen in (run, loaded.run):
        chosen.config = dataclasses.replace(chosen.config, dev_split=0.5, best_metric="f1")
        chosen.details = chosen.details | {"held_out": {"digest": "", "num_examples": 4}}
    found = to_litert_source(loaded)
    data = comparison_data(found, file, 16)
    assert [example.text_pair for example in data.examples] == ["walk"] * 9
    assert found.loaded is loaded


def test_fixed_texts_have_the_shape_of_the_task(finetuned_run):
    for task, shape, in_pairs in (
        (TASKS["sequence_classification"](("a", "b"), takes_pairs=False), (12, 16), False),
        (TASKS["sequence_classification"](("a", "b"), takes_pairs=True), (12, 16), True),
        (TASKS["question_answering"](), (12, 16), True),
        (TASKS["cosine_similarity"](pooling="mean"), (6, 2, 16), False),
        (TASKS["multiple_choice"](5), (2, 5, 16), False),
        (TASKS["multiple_negatives_ranking"](num_negatives=13), (1, 15, 16), False),
    ):
        data = comparison_data(with_task(finetuned_run, task), None, 16)
        assert data.examples is None and f"{len(FIXED_TEXTS)} fixed texts" in data.name
        assert data.rows["input_ids"].shape == shape, task.name
        assert bool(data.rows["segment_ids"].any()) == in_pairs, task.name
        assert (data.rows["input_mask"][..., 0] == 1).all()
        full = full_rows(task, TextInputs(kbert.load(finetuned_run.path).vocabulary, 16))
        assert full.rows["input_ids"].shape == shape and full.rows["input_mask"].all()
        rows, alone = np.prod(shape[:-1]), [(text,) for text in FIXED_TEXTS * 2]
        if task.serving.row_texts:  # else no text answers by itself
            texts = list(zip(FIXED_TEXTS, FIXED_TEXTS[::-1], strict=True)) if in_pairs else alone
            assert data.texts == texts[:rows], task.name


def test_of_the_training_file_only_what_was_held_out_is_compared(finetuned_run, tmp_path):
    file = tmp_path / "train.tsv"
    rows = [f"jump {'the ' * n}\tx\t{'loud' if n % 2 else 'quiet'}" for n in range(40)]
    file.write_text("\n".join(["sentence\tother\tlabel", *rows]) + "\n")
    run = RunDirectory(finetuned_run.path)
    run.config = dataclasses.replace(run.config, dev_split=0.25)
    part = LabelledFile(file, run.task().files, run.config.dataset).split(0.25, run.config.dev_split_seed)[1]
    run.details = run.details | {"held_out": {"digest": part.digest, "num_examples": 10}}
    data = comparison_data(to_litert_source(run), file, 16, held_out=True)
    assert list(data.examples) == list(part.examples) and len(data.examples) == 10
    folder, report = run.checkpoint(), Report("kbert", "run")
    copy = with_trained(describe_run(run, folder, report), run, run.stored_weights(folder), "run")
    write_kbert_run(copy, tmp_path / "copy", report)
    of_copy = comparison_data(to_litert_source(RunDirectory(tmp_path / "copy")), file, 16, held_out=True)
    assert of_copy.examples == data.examples
    file.write_text(file.read_text().replace("jump", "run"))
    with pytest.raises(ValueError, match="cannot be found again"):
        comparison_data(to_litert_source(run), file, 16, held_out=True)


@pytest.mark.parametrize(("name", "lines"), [("a.txt", "a ||| b\n"), ("a.tsv", "text\ttext_pair\na\tb\n")])
def test_second_texts_are_refused_where_each_text_has_a_vector(tmp_path, name, lines):
    (tmp_path / name).write_text(lines)
    source = to_litert_source(random_task_model(TASKS["encoder"]("mean")))
    with pytest.raises(
        ValueError, match=f"has the second text 'b'; give the texts alone in --eval_file=.*{name}"
    ):
        comparison_data(source, tmp_path / name, 16)


@pytest.mark.parametrize("is_taught", [False, True])
def test_of_pairs_with_scores_no_negatives_are_compared(finetuned_run, tmp_path, is_taught):
    """They would be empty texts, which every file answers as Keras does."""
    (tmp_path / "dev.tsv").write_text(
        "text\tother\tscore\njump\tplay\t0.5\nask the a\twalk\t-0.5\na\tthe\t0\n"
    )
    task = TASKS["multiple_negatives_ranking"](num_negatives=3, is_taught=is_taught)
    dataset = DatasetConfig(text="text", text_pair="other", label="score", negatives=("x", "y", "z"))
    run = RunDirectory(finetuned_run.path)
    run.config = dataclasses.replace(run.config, dataset=dataset)
    source = with_task(run, task)
    data = comparison_data(source, tmp_path / "dev.tsv", 16)
    assert data.rows["input_ids"].shape == (3, 2, 16)
    assert len(texts_by_row(task, data)) == 6

    def answer(ids):
        return {"embedding": ids["input_ids"].astype(np.float32)}

    answered = predict_rows(task, answer, data)
    assert compare(task, answered, answered, data)["num_answers"] == 6
    metrics = compute_metrics(task, answered, data)
    assert {"pearson", "spearman"} <= set(metrics) and "loss" not in metrics
