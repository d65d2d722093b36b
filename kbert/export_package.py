"""The import name of the exporters: a checkout and an installed kbert differ. Standard library only."""

import importlib.util
from pathlib import Path

IN_A_CHECKOUT = "export"
INSTALLED = "kbert_export"  # a package called `export` could clash with those of other projects


def export_package() -> str:
    """The name under which the exporters that belong to this kbert are imported."""
    spec = importlib.util.find_spec(INSTALLED)
    places = spec.submodule_search_locations if spec is not None else None
    here = Path(__file__).resolve().parent.parent
    is_ours = any(Path(place).resolve().parent == here for place in places or ())
    return INSTALLED if is_ours else IN_A_CHECKOUT
