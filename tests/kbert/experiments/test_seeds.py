"""Trainings with several seeds: what each of them is given."""

import pytest

from kbert.experiments import seeds as seeds_module
from kbert.experiments.seeds import run_seeds
from tests.conftest import tiny_finetuning_config

DATA = {"train_file": "train.tsv", "dev_file": "dev.tsv"}


@pytest.mark.parametrize("setting", [{"seed": 7}, {"learning_rate": 1e-4}, {"strategie": "auto"}])
def test_a_setting_of_the_config_is_refused(tmp_path, monkeypatch, setting):
    monkeypatch.setattr(seeds_module, "finetune", None)
    with pytest.raises(ValueError, match=f"^{next(iter(setting))}=.* is no argument of several runs"):
        run_seeds(tiny_finetuning_config(), tmp_path / "runs", [1, 2], **DATA, **setting)
    assert not (tmp_path / "runs").exists()
