"""A finished run counts only for the checkpoint that it began from, not for what lies there later."""

import shutil

import numpy as np
import pytest
from safetensors.numpy import save_file

from kbert.config import DistillationConfig
from kbert.experiments.finished_run import (
    content_digest,
    describe_run,
    finished_metrics,
    with_recorded_init,
    write_result,
)
from kbert.files.json_file import read_json_object
from kbert.files.stored_tensor import stored_array
from kbert.files.whole_file import write_json
from kbert.runs import checkpoint
from tests.conftest import tiny_finetuning_config


def write_run_step(run, step, number):
    """A further checkpoint, as if a run had been trained on."""
    weights = {"kernel": stored_array(np.array([number], np.float32))}
    checkpoint.save_checkpoint(run / "checkpoints", step, weights, {}, {"examples_consumed": 0}, keep=9)


@pytest.fixture
def start(pretraining_run, tmp_path):
    """A run of kbert that may be changed."""
    shutil.copytree(pretraining_run.path, tmp_path / "start")
    return tmp_path / "start"


@pytest.fixture
def finished(labelled_files, start, tmp_path):
    """(folder, what a finished run there was asked for, as a function of changed arguments)."""
    run = tmp_path / "run"
    (run / "checkpoints" / "step-00000001").mkdir(parents=True)
    arguments = {"train_file": labelled_files[0], "dev_file": labelled_files[1], "init_checkpoint": start}

    def ask(distillation=None, settings=(), **changes):
        config = tiny_finetuning_config(distillation=distillation, **dict(settings))
        return describe_run(config, arguments | changes)

    write_result(run, ask(), {"accuracy": 0.5})
    return run, ask


def test_the_digest_of_a_run_follows_its_training(start):
    before = content_digest(start)
    assert before is not None and before == content_digest(str(start))
    step = checkpoint.parse_step(checkpoint.list_checkpoints(start / "checkpoints")[-1])
    write_run_step(start, step + 1, 1.0)
    trained_on = content_digest(start)
    write_run_step(start, step + 1, 2.0)  # trained anew to the same step
    assert len({before, trained_on, content_digest(start)}) == 3


@pytest.mark.parametrize(
    "name", ["model.safetensors", "pytorch_model.bin", "0_Transformer/model.safetensors"]
)
def test_the_digest_of_a_folder_is_that_of_its_weights(tmp_path, name):
    (tmp_path / "config.json").write_text("{}")
    assert content_digest(tmp_path) is None
    (tmp_path / name).parent.mkdir(exist_ok=True)
    digests = set()
    for number in (1.0, 2.0):
        save_file({"kernel": np.array([number])}, tmp_path / name)
        digests.add(content_digest(tmp_path))
        (tmp_path / "README.md").write_text(f"{number}")
        digests.add(content_digest(tmp_path))
    assert len(digests) == 2 and None not in digests


def test_the_digest_follows_tokenizer_and_settings_too(tmp_path, finished):
    save_file({"kernel": np.array([1.0])}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text("{}")
    before, weights = content_digest(tmp_path), content_digest(tmp_path)[:16]
    read = ("tokenizer_config.json", "sentence_bert_config.json", "1_Pooling/config.json")
    digests = {before}
    for name in (*read, "run_1/config.json"):  # the last is of a run that lies there
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text('{"do_lower_case": false}')
        digests.add(content_digest(tmp_path))
    assert len(digests) == 1 + len(read)
    now = content_digest(tmp_path)
    assert now != before and now.startswith(weights), "what older versions wrote is still the same start"
    scratch = content_digest(tmp_path, with_weights=False)
    assert weights + scratch == now
    save_file({"kernel": np.array([2.0])}, tmp_path / "model.safetensors")
    assert content_digest(tmp_path, with_weights=False) == scratch and content_digest(tmp_path) != now
    run, ask = finished
    write_result(run, ask(init_checkpoint=tmp_path, from_scratch=True), {"accuracy": 0.5})
    (tmp_path / "vocab.txt").write_text("[PAD]")
    with pytest.raises(ValueError, match="init_checkpoint .* has changed since: "):
        finished_metrics(run, ask(init_checkpoint=tmp_path, from_scratch=True))


def test_the_digest_of_googles_checkpoint_is_that_of_its_data(tmp_path):
    (tmp_path / "bert_config.json").write_text("{}")
    (tmp_path / "bert_model.ckpt.index").write_bytes(b"index")
    data = tmp_path / "bert_model.ckpt.data-00000-of-00001"
    data.write_bytes(b"first")
    before = content_digest(tmp_path)
    assert before == content_digest(tmp_path / "bert_model.ckpt") is not None
    data.write_bytes(b"second")
    assert content_digest(tmp_path) != before


@pytest.mark.parametrize("is_teacher", [False, True])
def test_a_checkpoint_that_was_trained_on_is_refused(finished, start, is_teacher):
    run, ask = finished
    changes = {"distillation": DistillationConfig(str(start)), "init_checkpoint": None} if is_teacher else {}
    write_result(run, ask(**changes), {"accuracy": 0.5})
    assert finished_metrics(run, ask(**changes)) == {"accuracy": 0.5}
    write_run_step(start, 999, 1.0)
    with pytest.raises(ValueError, match=r"(init_checkpoint|the teacher) .*start has changed since"):
        finished_metrics(run, ask(**changes))
    shutil.rmtree(start)  # a run does not need it any more
    shutil.rmtree(run / "checkpoints")  # for room
    assert finished_metrics(run, ask(**changes)) == {"accuracy": 0.5}


def test_a_finished_run_stays_so_with_settings_that_change_no_result(finished, start, tmp_path):
    """Also where its checkpoints were deleted: it would begin anew."""
    run, ask = finished
    for name in ("checkpoints", "none"):
        shutil.copytree(start, tmp_path / f"moved_{name}")
        for settings in ({"keep_checkpoints": 1}, {"log_every_steps": 3}, {"recompute_activations": True}):
            asked = ask(settings=settings, init_checkpoint=tmp_path / f"moved_{name}")
            assert finished_metrics(run, asked) == {"accuracy": 0.5}
        asked, differs = ask(settings={"eval_batch_size": 3}), ask(settings={"seed": 9})
        if name == "checkpoints":
            assert finished_metrics(run, asked) is None  # it is evaluated again
            shutil.rmtree(run / "checkpoints")
        else:
            with pytest.raises(ValueError, match=r"first step; it differs in eval_batch_size \(was "):
                finished_metrics(run, asked)
        assert finished_metrics(run, differs) is None  # which `finetune` refuses, and says why
    teachers = [ask(DistillationConfig(f"hf://org/{name}"), init_checkpoint=None) for name in "ab"]
    write_result(run, teachers[0], {"accuracy": 0.5})
    with pytest.raises(ValueError, match="differs in distillation.teacher"):
        finished_metrics(run, teachers[1])
    write_result(run, ask(), {"accuracy": 0.5})
    older = read_json_object(run / "result.json")
    del older["asked"]["config"]["recompute_activations"]
    write_json(older, run / "result.json")
    assert finished_metrics(run, ask()) == {"accuracy": 0.5}


def test_a_run_that_goes_on_keeps_what_is_known_of_its_start(finished, pretraining_run, tmp_path):
    run, ask = finished
    asked = ask()
    assert with_recorded_init(tmp_path / "none", asked) == asked, "it begins now"
    shutil.copytree(pretraining_run.path, tmp_path / "stopped")
    unknown = with_recorded_init(tmp_path / "stopped", asked)
    assert unknown["content"]["init_checkpoint"] is None and unknown["start"] == asked["start"]
    details = read_json_object(tmp_path / "stopped" / "run.json")
    for digest in (asked["content"]["init_checkpoint"], "another"):
        write_json(details | {"init_digest": digest}, tmp_path / "stopped" / "run.json")
        if digest == "another":  # other seeds would begin from what is there now
            with pytest.raises(ValueError, match="init_checkpoint .* has changed since: "):
                with_recorded_init(tmp_path / "stopped", asked)
        else:
            assert with_recorded_init(tmp_path / "stopped", asked) == asked
