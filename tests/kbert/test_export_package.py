"""The exporters are found under the name that they have beside this kbert."""

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from kbert.export_package import export_package

REPOSITORY = Path(__file__).resolve().parents[2]


def install(monkeypatch, folder):
    spec = ModuleSpec("kbert_export", None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    monkeypatch.setattr(importlib.util, "find_spec", {"kbert_export": spec}.get)


def test_in_a_checkout_it_is_the_folder():
    assert "kbert_export" not in sys.modules
    assert export_package() == "export"


def test_installed_from_its_checkout_it_has_the_packages_name(monkeypatch):
    install(monkeypatch, REPOSITORY / "export")
    assert export_package() == "kbert_export"


def test_exporters_of_another_kbert_are_left_alone(monkeypatch, tmp_path):
    install(monkeypatch, tmp_path / "site-packages" / "kbert_export")
    assert export_package() == "export"
