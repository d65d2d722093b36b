"""Questions on texts from the file to the served answer: trained, judged, recorded and resumed alike."""

import contextlib
import dataclasses
import io
import json
import shutil

import numpy as np
import pytest

from export.export_savedmodel import export_savedmodel
from export.gate.session_check import run_signature
from kbert.config import to_dict
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.manifest import read_manifest
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.question_answering.span_answers import FILES
from kbert.tasks.question_answering.squad_files import read_questions
from tests.conftest import tiny_finetuning_config
from tests.html_checks import read_page
from tests.kbert.inference.answering import answers
from tests.kbert.tasks.question_answering.small_squad import write_squad
from tests.made_once import made_once
from tfrecords_tools.create_finetuning_data import create_finetuning_data, summary
from tfrecords_tools.show_records import show_records

pytestmark = pytest.mark.slow

SETTINGS = {
    "doc_stride": 6,
    "max_query_length": 4,
    "max_answer_length": 5,
    "n_best_size": 5,
    "unanswerable": True,
}
TASK = "question_answering"


def config_of(**changes):
    values = {
        "task": TASK,
        "task_settings": SETTINGS,
        "best_metric": "f1",
        "num_train_epochs": 8.0,
        "save_checkpoints_steps": 10,
    }
    return tiny_finetuning_config(**values | changes)


def trained(folder, pretraining_run):
    """A run, and the files that it was trained and judged on."""
    files = [
        write_squad(folder / f"{name}.json", number, seed=number, impossible=True)
        for name, number in (("train", 64), ("dev", 11))
    ]
    start = shutil.copytree(pretraining_run.path, folder / "start")
    _, metrics = finetune(config_of(), folder / "run", *files, init_checkpoint=start)
    (folder / "metrics.json").write_text(json.dumps(metrics), encoding="utf-8")


@pytest.fixture(scope="module")
def case(pretraining_run, tmp_path_factory):
    """(run, training file, dev file, metrics of the training's last evaluation)."""
    folder = made_once(tmp_path_factory, "answers", lambda folder: trained(folder, pretraining_run))
    metrics = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))
    return RunDirectory(folder / "run"), folder / "train.json", folder / "dev.json", metrics


def copied(run, tmp_path):
    return RunDirectory(shutil.copytree(run.path, tmp_path / "run"))


def as_inputs(path):
    return [{"question": q.question, "context": q.context} for q in read_questions(path)]


def test_a_model_learns_to_answer(case):
    _, _, _, metrics = case
    assert metrics["f1"] > 60 and metrics["exact_match"] > 50
    assert metrics["baseline_f1"] == pytest.approx(100 * 3 / 11)
    assert metrics["best_f1"] >= metrics["f1"] > metrics["baseline_f1"]


def test_an_evaluation_gives_the_numbers_of_the_training_and_writes_the_files(case, tmp_path):
    run, _, dev, metrics = case
    task, judged = evaluate(
        run, dev, batch_size=4, predictions_dir=tmp_path / "dev", html_file=tmp_path / "dev.html"
    )
    wrong = round(11 * (1 - judged["exact_match"] / 100))
    assert read_page(tmp_path / "dev.html").count("<article") == wrong
    assert judged["num_examples"] == 11
    assert {name: judged[name] for name in metrics} == pytest.approx(metrics, abs=1e-4)
    written = {
        path.name: json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "dev").iterdir()
    }
    assert set(written) == set(FILES)
    questions = {question.id: question for question in read_questions(dev)}
    for name, text in written["predictions.json"].items():
        rivals = written["nbest_predictions.json"][name]
        assert text in questions[name].context
        assert list(rivals[0]) == ["text", "probability", "start_logit", "end_logit"]
        assert sum(rival["probability"] for rival in rivals) == pytest.approx(1)
        assert text == next(rival["text"] for rival in rivals if rival["text"])
        scores = [rival["start_logit"] + rival["end_logit"] for rival in rivals]
        assert len({rival["text"] for rival in rivals}) == len(rivals) <= 6
        assert scores[:5] == sorted(scores[:5], reverse=True)
        assert "" in {rival["text"] for rival in rivals}
    assert written["predictions.json"].keys() == written["null_odds.json"].keys() == questions.keys()


def test_python_and_the_savedmodel_answer_as_the_evaluation_did(case, tmp_path):
    run, _, dev, _ = case
    task, _ = evaluate(run, dev, predictions_dir=tmp_path / "dev")
    texts = json.loads((tmp_path / "dev" / "predictions.json").read_text(encoding="utf-8"))
    examples = as_inputs(dev)
    given = list(answers(run, examples))
    odds = json.loads((tmp_path / "dev" / "null_odds.json").read_text(encoding="utf-8"))
    texts = {name: "" if odds[name] > 0 else text for name, text in texts.items()}
    np.testing.assert_allclose([one["null_odds"] for one in given], list(odds.values()), atol=1e-4)
    assert "" in texts.values()
    assert [one["answer"] for one in given] == list(texts.values())
    for one in given:
        assert one["context"][one["start"] : one["end"]] == one["answer"]
        assert set(task.serving.answers) <= set(one) and json.dumps(one, allow_nan=False)

    export_savedmodel(run, tmp_path / "served")
    columns = {name: np.array([one[name] for one in examples], object) for name in task.serving.inputs}
    served = run_signature(str(tmp_path / "served" / "1"), "serving_default", columns)
    assert [text.decode() for text in served["answer"]] == list(texts.values())
    for name in ("start", "end", "score", "null_odds"):
        np.testing.assert_allclose(served[name], [one[name] for one in given], atol=1e-4)


@pytest.mark.long
def test_records_are_the_rows_of_live_text_and_train_the_same(case, tmp_path):
    run, train, dev, metrics = case
    config = run.config
    config_file = tmp_path / "config.json"
    config_file.write_text(json.dumps(to_dict(config)), encoding="utf-8")
    for name, file, workers in (("train", train, 2), ("dev", dev, 1)):
        create_finetuning_data(
            config_file, file, tmp_path / name, init_checkpoint=run.path, num_workers=workers
        )
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        show_records(tmp_path / "dev")
    assert "[CLS]" in printed.getvalue() and "WRONG" not in printed.getvalue()
    manifest = read_manifest(tmp_path / "train")
    assert manifest.num_examples > 64 and manifest.statistics["source_examples"] == 64
    assert f"records: {manifest.num_examples} windows of 64 examples" in summary(tmp_path / "train", manifest)

    recorded = evaluate(run, input_dir=tmp_path / "dev", batch_size=5)[1]
    live = evaluate(run, dev, batch_size=5)[1]
    assert recorded["num_examples"] == 11 and "f1" not in recorded
    assert {name: live[name] for name in recorded} == pytest.approx(recorded, abs=1e-5)

    settings = {"num_train_epochs": 1.0, "best_metric": None}
    once = config_of(**settings)
    paths = {"train_dir": tmp_path / "train", "init_checkpoint": run.path}
    finetune(once, tmp_path / "run_recorded", **paths)
    of_live_text, recorded = (
        [line["step"] for line in read_metrics(one) if line["split"] == "train"]
        for one in (run.metrics_file, RunDirectory(tmp_path / "run_recorded").metrics_file)
    )
    assert recorded[-1] == 8, "steps are counted by questions"
    assert of_live_text[-1] == 8 * config.num_train_epochs
    assert recorded == [step for step in of_live_text if step <= 8]


def test_a_chosen_threshold_is_kept_with_the_run(case, tmp_path, caplog):
    run, _, dev, _ = case
    copy = copied(run, tmp_path)
    task, before = evaluate(copy, dev, keep_chosen=True)
    assert task.settings.null_score_diff_threshold == 0 and before["null_score_diff_threshold"] == 0
    kept, after = evaluate(copy, dev)
    assert kept.settings.null_score_diff_threshold == before["chosen_threshold"]
    assert after["f1"] == pytest.approx(before["best_f1"])
    assert after["null_score_diff_threshold"] == before["chosen_threshold"]
    # Answers follow it, and the answers of another checkpoint do not.
    chosen = json.loads((copy.path / "chosen.json").read_text(encoding="utf-8"))
    chosen["task_config"]["null_score_diff_threshold"] = -1e6
    (copy.path / "chosen.json").write_text(json.dumps(chosen), encoding="utf-8")
    examples = as_inputs(dev)
    assert {one["answer"] for one in answers(copy, examples)} == {""}
    assert "was chosen for" not in caplog.text
    steps = [int(path.name.removeprefix("step-")) for path in copy.checkpoints.glob("step-*")]
    other = answers(copy, examples, checkpoint=min(steps))
    assert {one["answer"] for one in other} != {""} and "was chosen for the checkpoint of step" in caplog.text
    (copy.path / "chosen.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"chosen.json is broken \('step'\); delete it, or evaluate again"):
        evaluate(copy, dev)


def test_files_of_answers_need_a_task_that_has_them_and_the_questions(case, finetuned_run, tmp_path):
    run, _, dev, _ = case
    with pytest.raises(ValueError, match="predictions_dir is for a run whose task writes its answers"):
        evaluate(finetuned_run, dev, predictions_dir=tmp_path)
    with pytest.raises(ValueError, match="predictions_dir is for a run whose task writes its answers, on ev"):
        evaluate(run, input_dir=tmp_path, predictions_dir=tmp_path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"unanswerable": False}, "question 'q2' has no answer, but task_settings.unanswerable is false"),
        ({"max_query_length": 21}, "max_seq_length=24 leaves no room for a text beside 3 special tokens"),
        ({"stride": 3}, "unknown key 'stride'"),
        ({"doc_stride": 0}, "doc_stride=0 must lie between 1 and"),
    ],
)
def test_what_does_not_fit_the_settings_leaves_no_run(settings, message, pretraining_run, tmp_path):
    train = write_squad(tmp_path / "train.json", 12, impossible=True)
    config = config_of()
    config = dataclasses.replace(config, task_settings=config.task_settings | settings)
    with pytest.raises(ValueError, match=message):
        finetune(config, tmp_path / "run", train, init_checkpoint=pretraining_run.path)
    assert not (tmp_path / "run").exists()
