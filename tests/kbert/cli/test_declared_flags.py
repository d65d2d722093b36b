"""Flags that a signature and a docstring declare."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Literal

import pytest
from absl import flags

from kbert.bounds import Bounds
from kbert.cli.declared_flags import declare_flags, flag_values, headings


@dataclass(frozen=True)
class Shared:
    """What several commands have.

    Args:
      casing: how letters are read.
      unused: of other commands.
    """

    casing: bool | None = None
    unused: str = ""


def command(
    source: str | PathLike,
    files: Sequence[str | PathLike],
    sizes: Sequence[int] = (),
    kind: Literal["one", "two"] = "one",
    share: Annotated[float, Bounds(0, 1)] = 0.5,
    margin: Annotated[float, Bounds(0)] | None = 0.25,
    most: Annotated[int, Bounds(1)] | None = None,
    casing: bool | None = None,
    columns=None,
    **settings,
):
    """Does something.

    Args:
      source: what is read, also instead of `files`; see `other`. In Python also a model.
      files: what is written,
        on two lines.
      sizes: some numbers.
      kind: one: a kind. two: another kind.
      share: a share.
      margin: a number, or none.
      most: a number.
      casing, columns: as elsewhere.

    Returns:
      nothing: this is no argument.
    """


@pytest.fixture(scope="module")
def own_flags():
    before = set(flags.FLAGS)
    declare_flags(command, Shared, called={"source": "from"}, repeated=("files",))
    own = {name: flags.FLAGS[name] for name in set(flags.FLAGS) - before}
    yield own
    flags.FLAGS.unparse_flags()
    flags.FLAGS.remove_flag_values(own)


def parsed(*arguments):
    flags.FLAGS.unparse_flags()
    flags.FLAGS(["command", "--from=here", "--files=a", *arguments])
    return flag_values(command, called={"source": "from"})


def test_each_parameter_with_a_kind_is_a_flag(own_flags):
    assert set(own_flags) == {"from", "files", "sizes", "kind", "share", "margin", "most", "casing"}


def test_help_is_what_the_docstring_says(own_flags):
    assert own_flags["from"].help == "What is read, also instead of --files; see `other`."
    assert own_flags["kind"].help == "<one|two>: one: a kind. two: another kind."
    assert own_flags["files"].help.startswith("What is written, on two lines.")
    assert (own_flags["casing"].help, headings["casing"]) == ("How letters are read.", "shared")


def test_values_are_of_their_kinds(own_flags):
    rest = {"sizes": [], "kind": "one", "share": 0.5, "margin": 0.25, "most": None, "casing": None}
    assert parsed() == {"source": "here", "files": ["a"], **rest}
    given = parsed(
        "--files=b", "--sizes=1,-2", "--kind=two", "--share=1", "--margin=none", "--most=3", "--nocasing"
    )
    rest = {"sizes": [1, -2], "kind": "two", "share": 1.0, "margin": None, "most": 3, "casing": False}
    assert given == {"source": "here", "files": ["a", "b"], **rest}


@pytest.mark.parametrize(
    "wrong", ["--sizes=1,x", "--kind=three", "--share=1.1", "--margin=-1", "--margin=x", "--most=0"]
)
def test_other_values_are_refused(own_flags, wrong):
    with pytest.raises(flags.IllegalFlagValueError, match=wrong):
        parsed(wrong)


def test_a_parameter_without_default_is_required(own_flags):
    flags.FLAGS.unparse_flags()
    with pytest.raises(flags.IllegalFlagValueError, match="--from must have a value"):
        flags.FLAGS(["command", "--files=a"])
