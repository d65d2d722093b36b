"""Questions on texts: a model learns to answer them, and where it says that there is no answer."""

import dataclasses
import json

import pytest

from kbert.config import DatasetConfig, to_dict
from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import finetune
from kbert.runs.run_directory import RunDirectory
from kbert.tasks.question_answering.squad_files import read_questions
from tests.conftest import tiny_finetuning_config
from tests.kbert.inference.answering import answers
from tests.kbert.tasks.question_answering.small_squad import write_squad
from tfrecords_tools.create_finetuning_data import create_finetuning_data

pytestmark = pytest.mark.long

SETTINGS = {
    "doc_stride": 6,
    "max_query_length": 4,
    "max_answer_length": 5,
    "n_best_size": 5,
    "unanswerable": True,
}
CONFIG = tiny_finetuning_config(
    task="question_answering",
    dataset=DatasetConfig(),
    task_settings=SETTINGS,
    best_metric="NoAns_f1",
    eval_batch_size=1,  # the first batch has an answer, and no NoAns_f1
    num_train_epochs=8.0,
    save_checkpoints_steps=10,
)


@pytest.fixture(scope="module")
def case(pretraining_run, tmp_path_factory):
    """(run, dev file, metrics of the training's last evaluation)."""
    folder = tmp_path_factory.mktemp("answers")
    train = write_squad(folder / "train.json", 64, seed=64, impossible=True)
    dev = write_squad(folder / "dev.json", 11, seed=11, impossible=True)
    _, metrics = finetune(CONFIG, folder / "run", train, dev, init_checkpoint=pretraining_run.path)
    return RunDirectory(folder / "run"), dev, metrics


def as_inputs(path):
    return [{"question": q.question, "context": q.context} for q in read_questions(path)]


def test_a_model_learns_to_answer(case):
    _, _, metrics = case
    assert metrics["f1"] > 60 and metrics["exact_match"] > 50
    assert metrics["baseline_f1"] == pytest.approx(100 * 3 / 11)
    assert metrics["best_f1"] >= metrics["f1"] > metrics["baseline_f1"]


@pytest.mark.parametrize("dev", ["file", "records"])
def test_the_best_checkpoint_goes_by_f1_or_on_records_by_windows(case, dev, tmp_path):
    run, file, _ = case
    config = dataclasses.replace(CONFIG, best_metric=None, num_train_epochs=0.2)
    data = {"dev_file": file}
    if dev == "records":
        (tmp_path / "config.json").write_text(json.dumps(to_dict(config)), encoding="utf-8")
        create_finetuning_data(tmp_path / "config.json", file, tmp_path / "records", init_checkpoint=run.path)
        data = {"dev_dir": tmp_path / "records"}
    train = write_squad(tmp_path / "train.json", 64, seed=64, impossible=True)
    finetune(config, tmp_path / "run", train, init_checkpoint=run.path, **data)
    best = json.loads((tmp_path / "run" / "checkpoints" / "best.json").read_text(encoding="utf-8"))
    assert best["metric"] == {"file": "f1", "records": "span_accuracy"}[dev]


def test_a_chosen_threshold_is_kept_with_the_run(case, caplog):
    run, dev, _ = case
    task, before = evaluate(run, dev, keep_chosen=True)
    assert task.settings.null_score_diff_threshold == 0 and before["null_score_diff_threshold"] == 0
    kept, after = evaluate(run, dev)
    assert kept.settings.null_score_diff_threshold == before["chosen_threshold"]
    assert after["f1"] == pytest.approx(before["best_f1"])
    assert after["null_score_diff_threshold"] == before["chosen_threshold"]
    # Answers follow it, and the answers of another checkpoint do not.
    chosen = json.loads((run.path / "chosen.json").read_text(encoding="utf-8"))
    chosen["task_config"]["null_score_diff_threshold"] = -1e6
    (run.path / "chosen.json").write_text(json.dumps(chosen), encoding="utf-8")
    examples = as_inputs(dev)
    assert {one["answer"] for one in answers(run, examples)} == {""}
    assert "belongs to the checkpoint" not in caplog.text
    steps = [int(path.name.removeprefix("step-")) for path in run.checkpoints.glob("step-*")]
    other = answers(run, examples, checkpoint=min(steps))
    assert {one["answer"] for one in other} != {""} and "belongs to the checkpoint of step" in caplog.text
    (run.path / "chosen.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"chosen.json is broken \('step'\); delete it; evaluate with keep"):
        evaluate(run, dev)
    (run.path / "chosen.json").unlink()
