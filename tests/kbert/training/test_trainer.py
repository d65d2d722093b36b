"""The training routine over real records: resuming, stopping, refusing."""

import dataclasses
import errno
import json
import os
import shutil

import pytest

from kbert.config import OptimizerConfig, to_dict
from kbert.experiments.pretraining import run_pretraining
from kbert.runs import checkpoint
from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.stop_signal import StoppedBySignal
from kbert.training.measuring.progress import Progress
from kbert.training.training_state import config_hash
from tests.conftest import tiny_encoder_config, tiny_pretraining_config
from tests.kbert.training.run_contents import assert_same_runs, numbers, signal_after_call


def test_a_run_leaves_what_it_promises(pretraining_run):
    run = pretraining_run
    assert {path.name for path in run.path.iterdir()} == {
        ".lock", "checkpoints", "config.json", "curves.html", "metrics.jsonl", "run.json", "vocab.txt",
    }  # fmt: skip
    assert [path.name for path in checkpoint.list_checkpoints(run.checkpoints)] == [
        "step-00000006",
        "step-00000012",
    ]
    lines = numbers(run)
    assert [(line["step"], line["split"]) for line in lines] == [
        *((step, "train") for step in range(2, 13, 2)),
        (12, "eval"),
    ]
    assert lines[-1].keys() >= {"masked_lm_loss", "next_sentence_loss", "masked_lm_accuracy"}
    seen = [line["tokens_seen"] for line in lines[:-1]]
    assert 2 * 8 * 4 < seen[0] < 2 * 8 * 24 and seen == sorted(set(seen))
    speeds = read_metrics(run.metrics_file)[-2]
    assert speeds["tokens_per_second"] > 0 and 0 < speeds["share_of_peak"] < 1
    assert lines[0]["learning_rate"] == pytest.approx(
        2e-3 * 1 / 2
    )  # of step 2, after one of two warm-up steps
    assert lines[1]["learning_rate"] == pytest.approx(2e-3 * (1 - 3 / 12))


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_very_same_numbers(pretraining_run, records_dir, tmp_path, monkeypatch):
    """Dropout on, killed in the middle of an epoch and of a log interval after the last checkpoint."""

    class Killed(Exception):
        pass

    train_line = Progress.train

    def killed_at_8(self, step, *arguments):
        train_line(self, step, *arguments)
        if step == 8:
            raise Killed

    path = tmp_path / "run"
    arguments = (tiny_pretraining_config(), path, records_dir / "train", records_dir / "heldout")
    assert arguments[0].encoder.hidden_dropout_prob > 0
    monkeypatch.setattr(Progress, "train", killed_at_8)
    with pytest.raises(Killed):
        run_pretraining(*arguments)
    run = RunDirectory(path)
    assert run.checkpoint().name == "step-00000006"
    assert run.details["num_train_examples"] % (6 * 8) != 0  # not at the end of an epoch
    (run.checkpoints / "step-00000008.tmp").mkdir()  # killed while it wrote

    monkeypatch.setattr(Progress, "train", train_line)
    metrics = run_pretraining(*arguments)
    assert_same_runs(run, pretraining_run)
    assert metrics.items() <= numbers(run)[-1].items()


@pytest.mark.slow
def test_a_signal_in_an_open_interval_loses_nothing(records_dir, tmp_path, monkeypatch):
    """SIGTERM during the call that reaches step 7: after a line at step 4, before a checkpoint."""
    config = tiny_pretraining_config(log_every_steps=4, num_train_steps=8, steps_per_call=1)
    runs = []
    for name, at_step in (("whole", None), ("stopped", 7)):
        arguments = (config, tmp_path / name, records_dir / "train")
        if at_step:
            with monkeypatch.context() as patch:
                signal_after_call(patch, at_step)
                with pytest.raises(StoppedBySignal) as stop:
                    run_pretraining(*arguments)
            state = checkpoint.read_state(RunDirectory(tmp_path / name).checkpoint())
        run_pretraining(*arguments)
        runs.append(RunDirectory(tmp_path / name))
    assert stop.value.exit_code == 143
    assert str(stop.value) == (
        f"stopped by SIGTERM at step 7 of 8; all is saved in {tmp_path / 'stopped'}, and the same command "
        "goes on from there."
    )
    assert (state["step"], state["examples_consumed"], state["seed"]) == (7, 56, 12345)
    assert state["config_hash"] == config_hash(to_dict(config)) and state["config"] == to_dict(config)
    assert_same_runs(*runs)


@pytest.mark.slow
def test_deterministic_ops_change_nothing_on_a_cpu(pretraining_run, records_dir, tmp_path):
    """All of training's kernels have a deterministic form, and on a CPU no other."""
    from tensorflow.python.framework import config as tensorflow_config

    try:
        run_pretraining(
            tiny_pretraining_config(deterministic_ops=True),
            tmp_path / "run",
            records_dir / "train",
            records_dir / "heldout",
        )
        assert tensorflow_config.is_op_determinism_enabled()
    finally:
        tensorflow_config.disable_op_determinism()
    assert_same_runs(RunDirectory(tmp_path / "run"), pretraining_run)


def test_a_damaged_newest_checkpoint_costs_only_time(pretraining_run, records_dir, tmp_path, caplog):
    path = shutil.copytree(pretraining_run.path, tmp_path / "run")
    weights = path / "checkpoints" / "step-00000012" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match="model.safetensors is not what was written .* of the steps 6, 12"):
        RunDirectory(path).load_model()
    run_pretraining(tiny_pretraining_config(), path, records_dir / "train", records_dir / "heldout")
    assert "DAMAGED CHECKPOINT" in caplog.text and "Going back to step-00000006 instead." in caplog.text
    assert_same_runs(RunDirectory(path), pretraining_run)
    assert sorted(p.name for p in (path / "checkpoints").iterdir()) == [
        "best.json", "step-00000006", "step-00000012",
    ]  # fmt: skip


def test_a_checkpoint_of_another_config_is_refused(pretraining_run, records_dir, tmp_path):
    path = shutil.copytree(pretraining_run.path, tmp_path / "run")
    config = json.loads((path / "config.json").read_text()) | {"seed": 3}
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ValueError, match=r"step-00000012 belongs to another run; it differs in seed \(was"):
        run_pretraining(tiny_pretraining_config(seed=3), path, records_dir / "train", records_dir / "heldout")


@pytest.mark.slow
def test_a_full_disk_is_a_warning_until_the_last_checkpoint(
    pretraining_run, records_dir, tmp_path, monkeypatch, caplog
):
    """The disk is full at step 3 and, in a second run, at the end."""
    write = checkpoint.write_safetensors
    full_at = set()

    def write_on_full_disk(path, tensors, metadata):
        if path.parent.name in full_at:
            path.write_bytes(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        return write(path, tensors, metadata)

    monkeypatch.setattr(checkpoint, "write_safetensors", write_on_full_disk)
    arguments = (tmp_path / "run", records_dir / "train", records_dir / "heldout")
    config = tiny_pretraining_config(save_checkpoints_steps=3, keep_checkpoints=9)
    full_at |= {"step-00000003.tmp", "step-00000012.tmp"}
    with pytest.raises(OSError, match="No space left on device"):
        run_pretraining(config, *arguments)
    assert "CHECKPOINT NOT WRITTEN at step 3" in caplog.text and "No space left on device" in caplog.text
    run = RunDirectory(tmp_path / "run")
    assert sorted(path.name for path in run.checkpoints.iterdir()) == ["step-00000006", "step-00000009"]
    full_at.clear()
    run_pretraining(config, *arguments)
    assert_same_runs(run, pretraining_run)


def test_a_finished_run_is_evaluated_again_and_nothing_else(pretraining_run, records_dir, tmp_path):
    path = shutil.copytree(pretraining_run.path, tmp_path / "run")
    before = numbers(RunDirectory(path))
    metrics = run_pretraining(tiny_pretraining_config(), path, records_dir / "train", records_dir / "heldout")
    assert numbers(RunDirectory(path)) == before
    assert metrics.items() <= before[-1].items()


def test_a_loss_that_is_no_number_stops_the_run_and_saves_nothing(records_dir, tmp_path):
    config = tiny_pretraining_config(
        encoder=tiny_encoder_config(num_hidden_layers=1),
        optimizer=OptimizerConfig(learning_rate=1e38),
        num_warmup_steps=0,
        log_every_steps=4,
        save_checkpoints_steps=2,
    )
    with pytest.raises(FloatingPointError, match="non-finite by step 2; nothing was saved"):
        run_pretraining(config, tmp_path / "run", records_dir / "train")
    assert not checkpoint.list_checkpoints(tmp_path / "run" / "checkpoints")


def test_progress_names_the_steps_where_a_number_broke(tmp_path):
    progress = Progress(
        MetricsFile(tmp_path / "metrics.jsonl"), num_steps=20, examples_per_step=8, start_step=4
    )
    with pytest.raises(FloatingPointError) as error:
        progress.train(10, {"loss": float("nan"), "accuracy": 0.5}, 1e-3)
    assert str(error.value).startswith(
        "loss became non-finite between steps 5 and 10: lower optimizer.learning_rate, lengthen the warm-up"
    )
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_batch_size": 5000}, "examples, fewer than one batch of 5000; make more records or lower"),
        ({"encoder": None}, 'the config names no encoder; add for example encoder = "bert_mini".'),
        (
            {"encoder": tiny_encoder_config(vocab_size=9)},
            "the records' vocabulary has 22 pieces, but the encoder's vocab_size is 9",
        ),
        (
            {"encoder": tiny_encoder_config(max_position_embeddings=20)},
            "max_seq_length=24, but the encoder has only max_position_embeddings=20; make shorter records",
        ),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(records_dir, tmp_path, changes, sentence):
    with pytest.raises(ValueError) as error:
        run_pretraining(tiny_pretraining_config(**changes), tmp_path / "run", records_dir / "train")
    assert sentence in str(error.value)
    assert not (tmp_path / "run").exists()


def test_heldout_records_of_another_vocabulary_are_refused(records_dir, tmp_path):
    other = shutil.copytree(records_dir / "heldout", tmp_path / "other")
    manifest = (other / "manifest.json").read_text()
    fingerprint = '"fingerprint": "'
    (other / "manifest.json").write_text(manifest.replace(fingerprint, fingerprint + "0"))
    with pytest.raises(ValueError, match="was not made with the vocabulary of"):
        run_pretraining(tiny_pretraining_config(), tmp_path / "run", records_dir / "train", other)
    with pytest.raises(
        ValueError,
        match=r"is not the vocabulary the records were made with \(fingerprint .*make the records again",
    ):
        run_pretraining(tiny_pretraining_config(), tmp_path / "run", other)


def test_evaluation_counts_every_example_once(pretraining_run, records_dir):
    """Batches of any size, filled up or not, give the same means."""
    import tensorflow as tf

    from kbert.input_pipelines.records import record_reader
    from kbert.manifest import read_manifest
    from kbert.training.evaluation_step import EvaluationStep, evaluate_batches

    manifest = read_manifest(records_dir / "heldout")
    task, model = pretraining_run.load_model()
    step = EvaluationStep(task, model, tf.distribute.get_strategy())

    def evaluate(batch_size, with_fill):
        batches = record_reader.evaluation_batches(records_dir / "heldout", manifest, batch_size, with_fill)
        return evaluate_batches(task, step, batches)

    assert manifest.num_examples % 7
    expected = evaluate(manifest.num_examples, False)
    for batch_size, with_fill in ((7, False), (7, True), (5, True)):
        assert evaluate(batch_size, with_fill) == pytest.approx(expected, abs=1e-5)
    recorded = read_metrics(pretraining_run.metrics_file)[-1]
    assert expected == pytest.approx({name: recorded[name] for name in expected}, abs=1e-5)


def test_config_of_a_run_can_be_passed_back(pretraining_run):
    from kbert.config import PretrainingConfig, load_config

    config = load_config(PretrainingConfig, pretraining_run.path / "config.json", vocab_size=22)
    assert config == pretraining_run.config == tiny_pretraining_config()
    assert dataclasses.is_dataclass(config)
