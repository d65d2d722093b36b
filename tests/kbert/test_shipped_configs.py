"""Configs that come with kbert are found from every folder; a file of the user's own comes first."""

from pathlib import Path

import kbert.shipped_configs as shipped
from kbert.scripts import copy_configs
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


def test_copies_of_a_read_only_installation_can_be_edited(tmp_path, monkeypatch):
    installed = tmp_path / "installed"
    (installed / "pretraining").mkdir(parents=True)
    (installed / "pretraining" / "smoke.toml").touch(0o444)
    for folder in (installed / "pretraining", installed):
        folder.chmod(0o555)
    monkeypatch.setattr(copy_configs, "configs_directory", lambda: installed)
    copy_configs.copy_configs(tmp_path / "mine")
    copies = [tmp_path / "mine", *(tmp_path / "mine").rglob("*")]
    assert [copy.stat().st_mode & 0o777 for copy in copies] == [0o755, 0o755, 0o644]
    for folder in (installed, installed / "pretraining"):
        folder.chmod(0o755)
