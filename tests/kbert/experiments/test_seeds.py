"""Trainings with several seeds: what each of them is given."""

import json

import numpy as np
import pytest

from kbert.experiments import seeds as seeds_module
from kbert.experiments.glue.glue_benchmark import run_glue
from kbert.experiments.seeds import run_seeds
from tests.conftest import tiny_finetuning_config, write_labelled_file
from tests.kbert.experiments.glue import small_glue

DATA = {"train_file": "train.tsv", "dev_file": "dev.tsv"}


@pytest.mark.parametrize("setting", [{"seed": 7}, {"learning_rate": 1e-4}, {"strategie": "auto"}])
def test_a_setting_of_the_config_is_refused(tmp_path, monkeypatch, setting):
    monkeypatch.setattr(seeds_module, "finetune", None)
    with pytest.raises(ValueError, match=f"^{next(iter(setting))}=.* is no argument of several runs"):
        run_seeds(tiny_finetuning_config(), tmp_path / "runs", [1, 2], **DATA, **setting)
    assert not (tmp_path / "runs").exists()


def test_numbers_of_numpy_are_those_of_the_command(tmp_path, monkeypatch):
    """Folders of runs, and what summary.json says."""
    trained = []

    def train(config, path, **_):
        trained.append(path.relative_to(tmp_path).as_posix())
        path.mkdir(parents=True)
        return None, {"matthews": 0.5}

    monkeypatch.setattr(seeds_module, "finetune", train)
    data = write_labelled_file(tmp_path / "dev.tsv", 4)
    arguments = {"train_file": data, "dev_file": data}
    summary = run_seeds(tiny_finetuning_config(), tmp_path / "runs", np.arange(1, 4), **arguments)
    assert json.loads((tmp_path / "runs" / "summary.json").read_text()) == summary
    assert summary["seeds"] == [1, 2, 3] and trained == [f"runs/seed-{seed}" for seed in (1, 2, 3)]

    small_glue.write_glue(tmp_path / "data")
    rates, seeds = np.array([2e-5, 1]), np.arange(1, 3)
    for number, values in enumerate(((rates, seeds), (list(rates), list(seeds)), ([2e-5, 1], [1, 2]))):
        trained.clear()
        run_glue(tmp_path / "data", tmp_path / f"{number}", "start", ["cola"], *values)
        folders = [f"{number}/cola/lr-{rate}/seed-{seed}" for rate in (2e-05, 1.0) for seed in (1, 2)]
        assert trained == folders


def test_results_that_a_summary_loses_are_said(tmp_path, caplog):
    file = tmp_path / "summary.json"
    for content, asked, says in (
        (None, [4], False),
        ('{"seeds": [1, 2]}', [1, 2, 3], False),
        ('{"seeds": [1, 2]}', [4], True),
        ('{"tasks": {}}', [4], False),
        ("{", [4], False),
    ):
        caplog.clear()
        if content:
            file.write_text(content)
        seeds_module.warn_of_replaced_results(file, lambda summary: summary["seeds"], asked)
        assert ("has results of 1, 2 too, which it loses" in caplog.text) == says
