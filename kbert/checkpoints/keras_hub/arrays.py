"""Checks the arrays of a Keras weights file (HDF5) before anything is loaded from it."""

from pathlib import Path


def stored_shapes(file: Path) -> list[tuple[int, ...]]:
    """The shapes of all float arrays, except an optimizer's.

    Args:
      file: an HDF5 file as Keras writes it.

    Raises:
      ValueError: for links to other files or places, groups that appear in several places, arrays stored in
        other files, and arrays that are larger than their bytes in this file: Keras writes none of these.
      OSError, RuntimeError, KeyError: for a damaged file.
    """
    import h5py

    shapes, seen = [], set()
    with h5py.File(file, "r") as opened:
        groups = [opened]
        for group in groups:  # grows during the loop
            place = h5py.h5o.get_info(group.id).addr
            if place in seen:
                raise ValueError(f"its group {group.name[:60]!r} appears in several places")
            seen.add(place)
            for name in group:
                if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                    raise ValueError(f"it holds a link to another place, {name[:60]!r}")
                thing = group[name]
                if isinstance(thing, h5py.Group):
                    groups.append(thing)
                elif isinstance(thing, h5py.Dataset):
                    _require_whole(thing)
                    # Integers are states of random generators. bfloat16 is stored as raw bytes, kind "V".
                    if thing.dtype.kind not in "iub" and not thing.name.startswith("/optimizer/"):
                        shapes.append(thing.shape)
    return shapes


def _require_whole(dataset):
    """Refuses arrays that are stored in other files or compressed: Keras writes neither."""
    if dataset.external or dataset.is_virtual:
        raise ValueError(f"its array {dataset.name[:60]!r} is stored in another file")
    size = (dataset.size or 0) * dataset.dtype.itemsize
    if dataset.id.get_storage_size() < size:
        raise ValueError(f"its array {dataset.name[:60]!r} is compressed or was never written")
