"""Two phases in one run: what each is alike, and that a kill in either loses nothing."""

import dataclasses

import keras
import numpy as np
import pytest

from kbert.cli.signals import StoppedBySignal
from kbert.config import OptimizerConfig, PhaseConfig
from kbert.experiments.pretraining import pretrain
from kbert.runs import checkpoint
from kbert.runs.run_directory import RunDirectory
from kbert.training.phases import Phase, Plan
from tests.conftest import tiny_encoder_config, tiny_pretraining_config
from tests.kbert.training.run_contents import assert_same_runs, numbers, signal_after_call, tensors
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.create_pretraining_data import create_pretraining_data

# Without dropout, which depends on the step: so a phase can be compared with a run of its own.
ENCODER = tiny_encoder_config(num_hidden_layers=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
CONFIG = tiny_pretraining_config(
    encoder=ENCODER,
    eval_every_steps=5,
    save_checkpoints_steps=4,
    num_warmup_steps=2,
    phases=(
        PhaseConfig(num_train_steps=6),
        PhaseConfig(
            num_train_steps=5,
            num_warmup_steps=1,
            train_batch_size=4,
            learning_rate=1e-3,
            fresh_optimizer=True,
        ),
    ),
    optimizer=OptimizerConfig(name="adamw", learning_rate=2e-3),
)


@pytest.fixture(scope="module")
def short_records(tmp_path_factory):
    folder = tmp_path_factory.mktemp("short")
    corpus, vocab_file = small_corpus.write_corpus(folder, 12, 1)
    create_pretraining_data(
        str(corpus), vocab_file, folder / "train", max_seq_length=16, max_predictions_per_seq=3, num_shards=2
    )
    return folder / "train"


@pytest.fixture(scope="module")
def two_phases(short_records, records_dir, tmp_path_factory):
    path = tmp_path_factory.mktemp("phases") / "run"
    pretrain(CONFIG, path, [short_records, records_dir / "train"], records_dir / "heldout")
    return RunDirectory(path)


@pytest.mark.slow
def test_one_count_of_steps_and_a_schedule_for_each_phase(two_phases):
    lines = numbers(two_phases)
    steps = [(line["step"], line["split"]) for line in lines]
    train, evaluated = ([step for step, split in steps if split == name] for name in ("train", "eval"))
    assert train == [2, 4, 6, 8, 10, 11] and evaluated == [5, 6, 10, 11]
    rates = {line["step"]: line["learning_rate"] for line in lines if line["split"] == "train"}
    # The rate of the last step before the line, counted within the phase; warm-up replaces the decay.
    assert rates[2] == pytest.approx(2e-3 * 1 / 2)
    assert rates[6] == pytest.approx(2e-3 * (1 - 5 / 6))
    assert rates[8] == pytest.approx(1e-3 * (1 - 1 / 5))
    assert rates[11] == pytest.approx(1e-3 * (1 - 4 / 5))
    assert two_phases.details["max_seq_length"] == 24
    assert [path.name for path in checkpoint.list_checkpoints(two_phases.checkpoints)][-1] == "step-00000011"


@pytest.mark.exhaustive
@pytest.mark.slow
def test_each_phase_is_what_a_run_of_its_own_would_be(
    two_phases, short_records, records_dir, tmp_path, monkeypatch
):
    """Bit for bit: the first as such, the second from the first one's weights with moments of 0."""
    first_config, second_config = CONFIG.phase_configs
    first_config = dataclasses.replace(first_config, eval_every_steps=5)
    pretrain(first_config, tmp_path / "first", short_records, records_dir / "heldout")
    first = RunDirectory(tmp_path / "first")
    together = [line for line in numbers(two_phases) if line["step"] <= 6]
    assert {line.pop("phase") for line in together} == {1}
    assert numbers(first) == together

    # The second phase's data have the next seed, but TensorFlow's own seed, which shuffling uses too, stays.
    second_config = dataclasses.replace(second_config, seed=CONFIG.seed + 1, eval_every_steps=1000)
    set_random_seed = keras.utils.set_random_seed
    monkeypatch.setattr(keras.utils, "set_random_seed", lambda seed: set_random_seed(CONFIG.seed))
    pretrain(second_config, tmp_path / "second", records_dir / "train", init_checkpoint=tmp_path / "first")
    alone, together = tensors(RunDirectory(tmp_path / "second")), tensors(two_phases)
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        np.testing.assert_array_equal(value, together[name], err_msg=name)


@pytest.mark.exhaustive
@pytest.mark.slow
@pytest.mark.parametrize("at_step", [3, 6, 9])
def test_a_stop_in_either_phase_or_between_them_changes_nothing(
    at_step, two_phases, short_records, records_dir, tmp_path, monkeypatch
):
    arguments = (CONFIG, tmp_path / "run", [short_records, records_dir / "train"], records_dir / "heldout")
    with monkeypatch.context() as patch:
        signal_after_call(patch, at_step)
        with pytest.raises(StoppedBySignal):
            pretrain(*arguments)
    pretrain(*arguments)
    assert_same_runs(RunDirectory(tmp_path / "run"), two_phases)


def test_moments_go_on_where_no_fresh_ones_are_asked_for():
    phases = [
        Phase(CONFIG, steps, 0, None, None, fresh_optimizer=fresh)
        for steps, fresh in ((6, True), (5, False), (4, True), (3, False), (2, True))
    ]
    plan = Plan(tuple(phases), eval_every_steps=10)
    assert [phase.first_step for phase in plan.phases] == [0, 6, 11, 15, 18] and plan.num_train_steps == 20
    assert [plan.first_update_of(number) for number in range(5)] == [0, 0, 11, 11, 18]
    assert [[n for n, _ in plan.phases_from(step)] for step in (0, 6, 7, 20)] == [
        [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [1, 2, 3, 4], [4],
    ]  # fmt: skip


def test_records_that_do_not_suit_the_phases_are_refused(short_records, records_dir, tmp_path):
    with pytest.raises(ValueError) as error:
        pretrain(CONFIG, tmp_path / "run", records_dir / "train")
    assert str(error.value) == (
        "input_dir was given 1 time(s), but the config has 2 phase(s); give it once for each, in order."
    )
    small = dataclasses.replace(CONFIG, encoder=dataclasses.replace(ENCODER, max_position_embeddings=16))
    with pytest.raises(ValueError, match="max_seq_length=24, but the encoder has only max_position_embed"):
        pretrain(small, tmp_path / "run", [short_records, records_dir / "train"])
    assert not (tmp_path / "run").exists()
