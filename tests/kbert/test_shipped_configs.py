"""Configs that come with kbert are found from every folder; a file of the user's own comes first."""

from pathlib import Path

import kbert.shipped_configs as shipped
from kbert.shipped_configs import configs_directory, find_config

ANY = sorted((configs_directory() / "pretraining").iterdir())[0]
NAME = Path("configs/pretraining", ANY.name)


def test_installed_they_lie_in_kbert(tmp_path, monkeypatch):
    monkeypatch.setattr(shipped, "_PACKAGE", tmp_path / "kbert")
    (tmp_path / "kbert" / "configs").mkdir(parents=True)
    (tmp_path / "configs").mkdir()  # somebody else's
    assert configs_directory() == tmp_path / "kbert" / "configs"


def test_a_shipped_config_is_found_from_another_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_config(NAME) == ANY
    assert find_config(str(NAME)) == ANY


def test_a_file_of_the_users_own_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    NAME.parent.mkdir(parents=True)
    NAME.write_text("mine")
    assert find_config(NAME) == NAME
