"""Every fault fits the code, and a patch replaces whatever kind of function it is given."""

import importlib
import sys

import pytest

from tests.deliberate_faults.faults import FAULTS
from tests.deliberate_faults.patching import Fault, appended, files_of
from tests.places import REPOSITORY

SOURCE = """
import functools

NUMBER = 1

class Kinds:
    @staticmethod
    def static(): return NUMBER
    @classmethod
    def of_class(cls): return NUMBER
    @property
    def read(self): return NUMBER
    @functools.cached_property
    def kept(self): return NUMBER
    def method(self): return NUMBER

def function(): return NUMBER
"""


def test_every_fault_names_one_function_and_tests_that_are_there():
    files = files_of(FAULTS, REPOSITORY)
    for fault in FAULTS:
        compile(appended(fault), files[fault.name], "exec")


@pytest.mark.parametrize(
    ("target", "ask"),
    [
        ("function", "function()"),
        *((f"Kinds.{name}", f"Kinds().{name}()") for name in ("static", "of_class", "method")),
        *((f"Kinds.{name}", f"Kinds().{name}") for name in ("read", "kept")),
    ],
)
def test_a_patch_takes_the_place_of_the_original(target, ask, tmp_path, monkeypatch):
    fault = Fault("f", target, "lambda original: lambda *given: original(*given) + 1", ())
    (tmp_path / "faulty_kinds.py").write_text(SOURCE + appended(fault))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "faulty_kinds", raising=False)
    assert eval(ask, vars(importlib.import_module("faulty_kinds"))) == 2


def test_a_fault_whose_function_is_gone_or_not_the_only_one_says_so():
    faults = [Fault("gone", "nothing.there", "None", ()), Fault("many", "_backward", "None", ())]
    with pytest.raises(
        ValueError, match="(?s)nothing.there is defined in 0 files.*many: _backward is defined"
    ):
        files_of(faults, REPOSITORY)
