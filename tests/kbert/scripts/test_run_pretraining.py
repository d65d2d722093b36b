"""Pretraining on every form of records: masked while they are read, without pairs, damaged, in buckets."""

import dataclasses
import shutil

import numpy as np
import pytest

from kbert.experiments.evaluation import evaluate
from kbert.experiments.finetuning import run_finetuning
from kbert.experiments.pretraining import run_pretraining
from kbert.inference.mask_filler import MaskFiller
from kbert.manifest import read_manifest
from kbert.runs.run_directory import RunDirectory
from kbert.training.measuring.progress import TrainingProgress
from tests.conftest import MAX_SEQ_LENGTH, tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.training.run_contents import assert_same_runs, numbers, tensors
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data

CONFIG = tiny_pretraining_config(num_train_steps=8, save_checkpoints_steps=4, eval_every_steps=8)


def make_records(folder, **settings):
    """`folder`/train and `folder`/heldout."""
    folder.mkdir()
    for name, num_documents, seed in (("train", 12, 1), ("heldout", 4, 2)):
        raw = folder / f"raw_{name}"
        raw.mkdir()
        corpus, vocab_file = small_corpus.write_corpus(raw, num_documents, seed)
        create_pretraining_data(
            str(corpus),
            vocab_file,
            folder / name,
            max_seq_length=MAX_SEQ_LENGTH,
            max_predictions_per_seq=4,
            dupe_factor=2,
            num_shards=3,
            **settings,
        )
    return folder


def interrupted_and_resumed(monkeypatch, at_step, *arguments, **settings):
    """Trains until killed at a step beyond the last checkpoint, then to the end; the run's metrics."""

    class Killed(Exception):
        pass

    train_line = TrainingProgress.train

    def killed(self, step, *rest):
        train_line(self, step, *rest)
        if step == at_step:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "train", killed)
        with pytest.raises(Killed):
            run_pretraining(*arguments, **settings)
    return run_pretraining(*arguments, **settings)


# ------------------------------------------------------------------ masks anew, one text, whole words


@pytest.fixture(scope="module")
def text_records(tmp_path_factory):
    """Full sentences without pairs, masked while they are read, compressed."""
    return make_records(
        tmp_path_factory.mktemp("records") / "text",
        pairing="full_sentences",
        masking="dynamic",
        do_whole_word_mask=True,
        compression="gzip",
    )


@pytest.fixture(scope="module")
def text_run(text_records, tmp_path_factory):
    path = tmp_path_factory.mktemp("runs") / "text"
    run_pretraining(CONFIG, path, text_records / "train", text_records / "heldout")
    return RunDirectory(path)


@pytest.mark.slow
@pytest.mark.long
def test_records_of_one_text_train_the_masked_lm_alone(text_records, text_run):
    manifest = read_manifest(text_records / "train")
    assert set(manifest.features) == {"input_ids", "input_mask", "segment_ids"}
    assert manifest.shards[0].file.endswith(".tfrecord.gz")
    assert text_run.details["task"] == "masked_lm"
    for line in numbers(text_run):
        assert not any(name.startswith("next_sentence") for name in line)
        assert line["masked_lm_loss"] > 0
    task, model = text_run.load_model()
    assert not task.next_sentence and list(model.output) == ["masked_lm_logits"]
    assert not any("pooler" in name or "next_sentence" in name for name in tensors(text_run))


@pytest.mark.slow
@pytest.mark.long
def test_a_run_taken_up_again_sees_the_very_same_masks(text_records, text_run, tmp_path):
    """From the last but one checkpoint, with the later lines of metrics still there."""
    run = RunDirectory(shutil.copytree(text_run.path, tmp_path / "run"))
    shutil.rmtree(run.checkpoint("last"))
    assert run.checkpoint("last").name == "step-00000004"
    run_pretraining(CONFIG, run.path, text_records / "train", text_records / "heldout")
    assert_same_runs(run, text_run)


@pytest.mark.slow
@pytest.mark.long
def test_evaluation_of_unmasked_records_is_the_same_every_time(text_records, text_run):
    _, metrics = evaluate(text_run, input_dir=text_records / "heldout", batch_size=7)
    _, again = evaluate(text_run, input_dir=text_records / "heldout", batch_size=64)
    assert metrics == pytest.approx(again, abs=1e-5) and "next_sentence_loss" not in metrics
    recorded = numbers(text_run)[-1]
    assert recorded["split"] == "eval"
    shared = metrics.keys() & recorded.keys()
    assert shared == {"masked_lm_loss", "masked_lm_accuracy"}
    assert {name: metrics[name] for name in shared} == pytest.approx(
        {n: recorded[n] for n in shared}, abs=1e-5
    )


@pytest.mark.slow
def test_a_run_without_next_sentence_fills_masks(text_run):
    ((candidates,),) = MaskFiller(text_run)(["walk the [MASK]"], top_k=3)
    assert len(candidates) == 3


@pytest.mark.slow
@pytest.mark.long
def test_a_run_without_next_sentence_is_fine_tuned(text_run, labelled_files, tmp_path):
    """With a fresh pooler, and everything else its own."""
    config = dataclasses.replace(
        tiny_finetuning_config(num_train_epochs=0.3),
        optimizer=dataclasses.replace(tiny_finetuning_config().optimizer, learning_rate=1e-12),
    )
    _, metrics = run_finetuning(config, tmp_path / "run", *labelled_files, init_checkpoint=text_run.path)
    assert 0 <= metrics["accuracy"] <= 1
    _, tuned = RunDirectory(tmp_path / "run").load_model()
    tuned = {variable.path: variable.numpy() for variable in tuned.trainable_variables}
    pretrained = {name: value for name, value in tensors(text_run).items() if name in tuned}
    assert len(pretrained) == len(tuned) - 4  # pooler and classifier, kernel and bias each
    for name, value in pretrained.items():
        np.testing.assert_allclose(tuned[name], value, atol=1e-6, err_msg=name)


def test_a_run_with_next_sentence_refuses_records_without(
    text_records, records_dir, pretraining_run, tmp_path
):
    with pytest.raises(
        ValueError, match="holds no next_sentence_labels, but .* was trained on them; make the"
    ):
        evaluate(pretraining_run, input_dir=text_records / "heldout")
    with pytest.raises(ValueError, match="holds no next_sentence_labels, but .*train does; make both"):
        run_pretraining(CONFIG, tmp_path / "run", records_dir / "train", text_records / "heldout")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_records_with_pairs_evaluate_a_run_without(text_run, records_dir):
    _, metrics = evaluate(text_run, input_dir=records_dir / "heldout")
    assert metrics["masked_lm_loss"] > 0 and "next_sentence_loss" not in metrics


@pytest.mark.slow
@pytest.mark.long
def test_sentence_order_trains_the_next_sentence_head(tmp_path):
    records = make_records(
        tmp_path / "records", pairing="sentence_order", masking="dynamic", max_ngram_size=2
    )
    metrics = run_pretraining(CONFIG, tmp_path / "run", records / "train", records / "heldout")
    assert metrics.keys() >= {"masked_lm_loss", "next_sentence_loss", "next_sentence_accuracy"}
    assert "next_sentence" not in RunDirectory(tmp_path / "run").details


# ------------------------------------------------------------------------------------ length buckets


@pytest.mark.slow
@pytest.mark.long
def test_buckets_train_and_resume_to_the_very_same_numbers(records_dir, tmp_path, monkeypatch):
    config = dataclasses.replace(CONFIG, length_buckets=(12, 18))
    data = (records_dir / "train", records_dir / "heldout")
    run_pretraining(config, tmp_path / "whole", *data)
    interrupted_and_resumed(monkeypatch, 6, config, tmp_path / "resumed", *data)
    assert_same_runs(RunDirectory(tmp_path / "whole"), RunDirectory(tmp_path / "resumed"))


def test_buckets_go_neither_with_xla_nor_with_replicas(records_dir, tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="jit_compile=true needs fixed shapes: leave length_buckets out"):
        dataclasses.replace(CONFIG, length_buckets=(12,), jit_compile=True)
    from kbert.training.devices import distribution

    class TwoReplicas:
        num_replicas_in_sync = 2

    monkeypatch.setattr(distribution, "make_strategy", lambda *_: TwoReplicas())
    with pytest.raises(
        ValueError, match="length_buckets gives batches of many sizes, which 2 replicas cannot"
    ):
        run_pretraining(
            dataclasses.replace(CONFIG, length_buckets=(12,)), tmp_path / "run", records_dir / "train"
        )
    assert not (tmp_path / "run").exists()


# ------------------------------------------------------------------------------------ damaged records


@pytest.fixture
def damaged_records_dir(records_dir, tmp_path):
    """`train` with one damaged record, and which byte is wrong."""
    directory = shutil.copytree(records_dir / "train", tmp_path / "train")
    path = directory / read_manifest(directory).shards[1].file
    raw = bytearray(path.read_bytes())
    raw[14] ^= 1
    path.write_bytes(raw)
    return directory, path


@pytest.mark.slow
def test_training_stops_at_a_damaged_record_and_names_it(damaged_records_dir, tmp_path):
    directory, path = damaged_records_dir
    with pytest.raises(ValueError) as error:
        run_pretraining(CONFIG, tmp_path / "run", directory)
    assert str(error.value).startswith(f"{path} ")
    assert str(error.value).endswith("record 0 is damaged; make the records again.")
