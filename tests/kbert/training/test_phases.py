"""Two phases in one run: what each is alike, and that a stop in either loses nothing."""

import dataclasses
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from kbert.cli.signals import StoppedBySignal
from kbert.config import OptimizerConfig, PhaseConfig
from kbert.experiments.pretraining import pretrain
from kbert.experiments.pretraining_run import _details
from kbert.manifest import read_manifest
from kbert.runs import checkpoint
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.tasks import TASKS
from kbert.training.phases import Phase, Plan
from tests.conftest import tiny_encoder_config, tiny_pretraining_config
from tests.kbert.training import one_weight
from tests.kbert.training.run_contents import assert_same_runs, numbers, signal_after_call, tensors

CONFIG = one_weight.config_of(
    optimizer=OptimizerConfig(name="adamw", learning_rate=2e-3), eval_every_steps=3, save_checkpoints_steps=4
)
SECOND = dataclasses.replace(
    CONFIG, optimizer=OptimizerConfig(name="adamw", learning_rate=1e-3), train_batch_size=2
)
OTHER_DATA = one_weight.examples(10, seed=3)


def train(folder):
    first = one_weight.phase_of(CONFIG, 6, num_warmup_steps=2)
    second = one_weight.phase_of(SECOND, 5, OTHER_DATA, num_warmup_steps=1, fresh_optimizer=True)
    _, run = one_weight.train_phases(folder, CONFIG, [first, second])
    return run


@pytest.fixture(autouse=True)
def known_task(monkeypatch):
    one_weight.register(monkeypatch)


@pytest.fixture(scope="module")
def two_phases(tmp_path_factory):
    """A run that nothing happened to."""
    with pytest.MonkeyPatch.context() as patch:
        one_weight.register(patch)
        return train(tmp_path_factory.mktemp("phases") / "run")


def test_one_count_of_steps_and_a_schedule_for_each_phase(two_phases):
    lines = numbers(two_phases)
    train, evaluated = (
        [line["step"] for line in lines if line["split"] == split] for split in ("train", "eval")
    )
    assert train == [2, 4, 6, 8, 10, 11] and evaluated == [3, 6, 9, 11]
    rates = {line["step"]: line["learning_rate"] for line in lines if line["split"] == "train"}
    # That of the last step before the line, counted within the phase; warm-up replaces the decay.
    assert rates[2] == pytest.approx(2e-3 * 1 / 2)
    assert rates[6] == pytest.approx(2e-3 * (1 - 5 / 6))
    assert rates[8] == pytest.approx(1e-3 * (1 - 1 / 5))
    assert rates[11] == pytest.approx(1e-3 * (1 - 4 / 5))
    assert checkpoint.list_checkpoints(two_phases.checkpoints)[-1].name == "step-00000011"


def test_each_phase_is_what_a_run_of_its_own_would_be(two_phases, tmp_path):
    """Bit for bit: the first as such, the second from the first one's weights with moments of 0."""
    _, first = one_weight.train_phases(
        tmp_path / "first", CONFIG, [one_weight.phase_of(CONFIG, 6, num_warmup_steps=2)]
    )
    together = [line for line in numbers(two_phases) if line["step"] <= 6]
    assert {line.pop("phase") for line in together} == {1}
    assert numbers(first) == together

    def initialize(model):
        for name, variable in trained_weights(model).items():
            variable.assign(tensors(first)[name])

    phase = one_weight.phase_of(SECOND, 5, OTHER_DATA, num_warmup_steps=1)
    _, second = one_weight.train_phases(tmp_path / "second", SECOND, [phase], initialize=initialize)
    alone, together = tensors(second), tensors(two_phases)
    assert alone.keys() == together.keys()
    for name, value in alone.items():
        np.testing.assert_array_equal(value, together[name], err_msg=name)


@pytest.mark.long
@pytest.mark.parametrize("at_step", [6, 9])
def test_a_stop_in_the_second_phase_or_before_it_changes_nothing(at_step, two_phases, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        signal_after_call(patch, at_step)
        with pytest.raises(StoppedBySignal):
            train(tmp_path / "run")
    assert_same_runs(train(tmp_path / "run"), two_phases)


@pytest.mark.parametrize("every", [1, 7, 3_000_000, 10**12, 100 / 3, 3.125, 0.4, 1e-9])
def test_evaluations_come_at_the_ends_of_intervals(every):
    plan = Plan((Phase(CONFIG, 9, 0, None),), eval_every_steps=every)
    for number in (1, 2, 3, 1000, 10**6):
        end = math.ceil(Fraction(every).limit_denominator(10**6) * number) or number
        assert plan.next_evaluation(end - 1) == end
        assert every < 1 or plan.next_evaluation(end) > end + every - 2


def test_moments_go_on_where_no_fresh_ones_are_asked_for():
    phases = [
        Phase(CONFIG, steps, 0, one_weight.InTurn(OTHER_DATA), fresh_optimizer=fresh)
        for steps, fresh in ((6, True), (5, False), (4, True), (3, False), (2, True))
    ]
    plan = Plan(tuple(phases), eval_every_steps=10)
    assert [phase.first_step for phase in plan.phases] == [0, 6, 11, 15, 18] and plan.num_train_steps == 20
    assert [plan.first_update(number) for number in range(5)] == [0, 0, 11, 11, 18]
    assert [[phase.number for phase in plan.phases_from(step)] for step in (0, 6, 7, 20)] == [
        [0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [1, 2, 3, 4], [4],
    ]  # fmt: skip


PRETRAINING = tiny_pretraining_config(
    encoder=tiny_encoder_config(num_hidden_layers=1),
    num_train_steps=2,
    phases=(PhaseConfig(), PhaseConfig(train_batch_size=4)),
)


@pytest.mark.slow
@pytest.mark.long
def test_each_phase_of_a_pretraining_has_its_records(records_dir, tmp_path):
    records = [records_dir / "train", records_dir / "heldout"]
    pretrain(PRETRAINING, tmp_path / "run", records)
    run = RunDirectory(tmp_path / "run")
    assert [(line["step"], line["phase"]) for line in numbers(run)] == [(2, 1), (4, 2)]
    sizes = [phase["num_train_examples"] for phase in run.details["records_of_phases"]]
    assert sizes == [read_manifest(folder).num_examples for folder in records]


def test_a_folder_that_two_phases_read_is_counted_once():
    first, second = (
        SimpleNamespace(
            manifest=SimpleNamespace(fingerprint=name, num_examples=number, settings={}),
            max_seq_length=8,
            num_examples=number,
        )
        for name, number in (("a", 40), ("b", 2))
    )
    task = TASKS["masked_lm"]()
    phases = [SimpleNamespace(train=records, held_out=None) for records in (first, first, second)]
    assert _details(task, phases)["num_train_examples"] == 42
