"""The model to export, as --run_dir or --init_checkpoint names it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kbert.checks import require_single
from kbert.inference import loading

if TYPE_CHECKING:
    from kbert.inference.loaded_model import LoadedModel


def exported_model(
    run_dir: str | None = None,
    init_checkpoint: str | None = None,
    checkpoint: str | None = None,
    do_lower_case: bool | None = None,
    allow_unmatched: Sequence[str] | str = (),
) -> "LoadedModel":
    """The model, its weights not read yet.

    Args:
      run_dir: the run to export, or any checkpoint; or give `init_checkpoint`.

    Raises:
      ValueError: when not exactly one of the two is given, and as `open_model` does.
    """
    require_single({"--run_dir": run_dir, "--init_checkpoint": init_checkpoint})
    return loading.open_model(init_checkpoint or run_dir, do_lower_case, allow_unmatched, checkpoint)
