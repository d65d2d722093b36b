"""The training routine over real records: resuming, stopping, refusing."""

import dataclasses
import shutil
from types import SimpleNamespace

import pytest

from kbert.experiments import pretraining
from kbert.experiments.pretraining import pretrain
from kbert.manifest import read_manifest
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from kbert.training.devices import distribution
from tests.conftest import tiny_encoder_config, tiny_pretraining_config
from tests.kbert.training.run_contents import numbers
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data


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
        pretrain(tiny_pretraining_config(**changes), tmp_path / "run", records_dir / "train")
    assert sentence in str(error.value)
    assert not (tmp_path / "run").exists()


def test_batches_that_cannot_be_are_refused_before_a_checkpoint_is_read(records_dir, tmp_path, monkeypatch):
    monkeypatch.setattr(pretraining, "initial_model", None)
    monkeypatch.setattr(distribution, "make_strategy", lambda **_: SimpleNamespace(num_replicas_in_sync=2))
    config = tiny_pretraining_config(train_batch_size=3, eval_batch_size=8)
    with pytest.raises(ValueError, match="train_batch_size=3 is not divisible by the 2 replicas"):
        pretrain(config, tmp_path / "run", records_dir / "train", init_checkpoint=tmp_path)


def test_heldout_records_of_another_vocabulary_are_refused(records_dir, tmp_path):
    other = shutil.copytree(records_dir / "heldout", tmp_path / "other")
    manifest = read_manifest(other)
    dataclasses.replace(manifest, vocabulary=manifest.vocabulary | {"fingerprint": "0"}).write(other)
    with pytest.raises(ValueError, match="was not made with the vocabulary of"):
        pretrain(tiny_pretraining_config(), tmp_path / "run", records_dir / "train", other)
    with pytest.raises(
        ValueError,
        match=r"is not the vocabulary the records were made with \(fingerprint .*make the records again",
    ):
        pretrain(tiny_pretraining_config(), tmp_path / "run", other)


def test_heldout_records_longer_than_the_encoder_of_the_checkpoint_are_refused(
    pretraining_run, records_dir, tmp_path
):
    """The config names no encoder: only the checkpoint says that it has 32 positions."""
    corpus, vocab_file = small_corpus.write_corpus(tmp_path, 4)
    settings = {"max_seq_length": 40, "max_predictions_per_seq": 4, "dupe_factor": 1}
    create_pretraining_data(str(corpus), vocab_file, tmp_path / "long", **settings)
    with pytest.raises(ValueError, match="long has max_seq_length=40, but the encoder has only max_position"):
        pretrain(
            tiny_pretraining_config(encoder=None),
            tmp_path / "run",
            records_dir / "train",
            tmp_path / "long",
            init_checkpoint=pretraining_run.path,
        )
    assert not (tmp_path / "run").exists()


def test_a_casing_that_contradicts_the_records_or_the_run_is_refused(pretraining_run, records_dir, tmp_path):
    for run_dir, owner in ((tmp_path / "run", records_dir / "train"), (pretraining_run.path, records_dir)):
        with pytest.raises(
            ValueError, match=f"^do_lower_case=False, but the vocabulary of {owner}.* has do_lower_case=True;"
        ):
            pretrain(tiny_pretraining_config(), run_dir, records_dir / "train", do_lower_case=False)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_evaluation_counts_every_example_once(pretraining_run, records_dir):
    """Batches of any size, filled up or not, give the same means."""
    import tensorflow as tf

    from kbert.input_pipelines.records import record_reader
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
