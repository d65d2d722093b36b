"""Modules of a package that load when they are used."""

import importlib
import sys

import pytest


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with one module, which notes that it was run; removed again afterwards."""
    folder = tmp_path / "late_package"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from kbert.late_modules import late_modules\nran = []\n__getattr__ = late_modules(__name__)\n"
    )
    (folder / "inner.py").write_text("import late_package\nlate_package.ran.append(1)\nvalue = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("late_package")
    for name in [name for name in sys.modules if name.split(".")[0] == "late_package"]:
        del sys.modules[name]


def test_a_module_runs_once_when_it_is_first_asked(package):
    from late_package import inner

    assert package.ran == []
    assert (inner.value, inner.value, package.ran) == (3, 3, [1])
    with pytest.raises(AttributeError, match="nothing"):
        inner.nothing  # noqa: B018


def test_what_is_set_is_set_in_the_module(package, monkeypatch):
    from late_package import inner

    module = importlib.import_module("late_package.inner")
    with monkeypatch.context() as patch:
        patch.setattr(inner, "value", 4)
        assert module.value == 4
    assert module.value == inner.value == 3


def test_other_names_are_no_modules(package):
    assert not hasattr(package, "missing") and not hasattr(package, "__wrapped__")
    with pytest.raises(ImportError):
        from late_package import missing  # noqa: F401
