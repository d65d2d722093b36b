"""One command makes a small student of a teacher: a whole road once, what it refuses, and how it goes on."""

import dataclasses
import json

import pytest

from export.closing_tables import litert_table, student_table
from export.export_student import lengths_up_to
from export.student import steps
from export.student.recipe import Recipe
from kbert.config import DistillationConfig
from kbert.experiments.evaluation import evaluate
from kbert.inference.loaded_model import load
from kbert.runs.run_directory import RunDirectory
from tests.conftest import MAX_SEQ_LENGTH, tiny_finetuning_config
from tests.html_checks import read_page

pytestmark = pytest.mark.slow  # a training of one step and a conversion


@pytest.fixture(scope="module")
def recipe(finetuned_run, labelled_files, tmp_path_factory):
    teacher = DistillationConfig(teacher=str(finetuned_run.path), init_layers=(0,))
    config = tiny_finetuning_config(distillation=teacher, num_train_epochs=1.0)
    train, dev = map(str, labelled_files)
    folder = tmp_path_factory.mktemp("student") / "phone"
    return Recipe(config, folder, train, dev, None, ("dynamic_int8",), (8, MAX_SEQ_LENGTH), 0.0)


@pytest.fixture(scope="module")
def made(recipe):
    recipe.check()
    return steps.make_student(recipe)


def test_the_closing_tables_have_a_row_for_each_model_and_file(made):
    length, milliseconds = list(made["files"]["dynamic_int8"]["latency_ms"].items())[-1]
    models, files = student_table(made), litert_table(made["files"])
    assert [line.split("  ")[0] for line in models.splitlines()] == [
        "model", "teacher", "cut teacher", "student"
    ]  # fmt: skip
    (row,) = files.splitlines()[1:]
    assert row.endswith(f"{milliseconds['1']:.2f} ms ({length} tokens)") and "MB" in row


def test_teacher_and_student_have_the_pieces_and_positions_that_are_used(recipe, made, finetuned_run):
    teacher, cut, student = (made["models"][name] for name in ("teacher", "cut teacher", "student"))
    assert cut["layers"] == student["layers"] == 1
    assert cut["pieces"] == student["pieces"] < teacher["pieces"]
    assert student["parameters"] == cut["parameters"] < teacher["parameters"]
    loaded = load(recipe.student)
    assert loaded.config.max_position_embeddings == MAX_SEQ_LENGTH == loaded.max_seq_length
    assert RunDirectory(recipe.student).config.distillation.teacher == str(recipe.teacher)
    # All pieces of the training texts stayed, so the cut teacher answers these texts as it did.
    both = [load(path) for path in (finetuned_run.path, recipe.teacher)]
    logits = [model.model(model.inputs(["jump the a"]))["logits"].numpy() for model in both]
    assert logits[1] == pytest.approx(logits[0], abs=1e-5)


def test_the_report_says_what_the_files_are(recipe, made):
    assert json.loads((recipe.folder / "student.json").read_text()) == made
    (file,) = recipe.litert.glob("*.tflite")
    report, size = made["files"]["dynamic_int8"], file.stat().st_size
    assert report["bytes"] == size and report["latency_ms"].keys() == {"8", str(MAX_SEQ_LENGTH)}
    page = read_page(recipe.folder / "report.html")
    assert f"{size / 1e6:.2f}" in page and f"{report['metrics'][made['best_metric']]:.4f}" in page
    tokens = made["typical"]["median_tokens"]
    assert made["typical"]["length"] == (8 if tokens <= 8 else MAX_SEQ_LENGTH)


def test_teacher_and_student_are_measured_as_an_evaluation_does(recipe, made, finetuned_run):
    for name, run in (("teacher", finetuned_run), ("student", RunDirectory(recipe.student))):
        _, expected = evaluate(run, recipe.dev_file)
        found = made["models"][name]["metrics"]
        for metric in ("accuracy", "loss", "f1"):
            assert found[metric] == pytest.approx(expected[metric], abs=1e-5), (name, metric)


def test_what_is_done_is_not_done_again(recipe, made, monkeypatch):
    def never(*_, **__):
        raise AssertionError("this step was done before")

    for name in ("run_finetuning", "trim_vocabulary"):
        monkeypatch.setattr(steps, name, never)
    files = {name: one | {"lengths": [8, MAX_SEQ_LENGTH]} for name, one in made["files"].items()}
    monkeypatch.setattr(steps, "export_tflite", lambda *_, **__: {"path": made["path"]} | files)
    assert steps.make_student(recipe) == made


def test_another_recipe_in_the_same_folder_is_refused(recipe, made):
    with pytest.raises(ValueError, match=r"another recipe; it differs in vocab_size \(was None, now 20\)"):
        recipe._replace(vocab_size=20).check_content()


def test_what_does_not_match_is_refused_before_anything_is_written(recipe, tmp_path, pretraining_run):
    config = recipe.config
    empty, other = tmp_path / "empty.tsv", tmp_path / "other.tsv"
    empty.write_text("sentence\tother\tlabel\n")
    other.write_text("sentence\tother\tlabel\njump the a\tx\tshrill\n")

    def learning(**changes):
        distillation = dataclasses.replace(config.distillation, **changes)
        return {"config": dataclasses.replace(config, distillation=distillation)}

    folder = tmp_path / "phone"
    for changes, sentence in (
        ({"config": dataclasses.replace(config, distillation=None)}, r"no \[distillation\] with init_layers"),
        (learning(init_layers=()), r"no \[distillation\] with init_layers"),
        (learning(teacher=None), "give --teacher_checkpoint"),
        (learning(teacher=str(tmp_path / "nowhere")), "teacher cannot be read: checkpoint .* does not exist"),
        (learning(teacher=str(pretraining_run.path)), "has no trained classification"),
        (learning(init_layers=(0, 7)), "it has the layers 0 to 0"),
        ({"quantizations": ("int3",)}, "--quantization=int3 is not known"),
        ({"lengths": (8, MAX_SEQ_LENGTH + 1)}, "is more than max_seq_length="),
        ({"dev_file": str(empty)}, "empty.tsv"),
        ({"dev_file": str(other)}, "label 'shrill' is not in the label list"),
        ({"folder": tmp_path}, "holds other files, no student"),
    ):
        wrong = recipe._replace(**{"folder": folder} | changes)
        with pytest.raises(ValueError, match=sentence):
            wrong.check()
            wrong.check_content()
        assert not folder.exists()


def test_lengths_by_default():
    assert lengths_up_to(64) == (16, 32, 64) and lengths_up_to(96) == (16, 32, 64, 96)
    assert lengths_up_to(12) == (12,) and len(lengths_up_to(4096)) <= 8
