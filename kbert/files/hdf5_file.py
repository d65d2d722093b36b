"""HDF5 files as Keras writes them: names, shapes and types at once, each array when it is asked for."""

from pathlib import Path

from kbert.files.json_values import shown_name
from kbert.files.stored_tensor import StoredTensor
from kbert.files.unchanged_file import while_unchanged

_MOST_GROUPS = 100_000


def read_hdf5(path: Path) -> dict[str, StoredTensor]:
    """The arrays of an HDF5 file by their path in it.

    Nothing outside the file is opened: links to other files and arrays that lie in them are refused.

    Raises:
      ValueError: for a file that is not whole, links to other files or places, groups that appear in several
        places, and arrays that are larger than their bytes in this file: Keras writes none of these. Reading
        an array raises it too when the file has changed since.
    """
    import h5py

    path = Path(path)
    as_it_is = while_unchanged(path)
    try:
        with h5py.File(path, "r") as file:
            return {
                name: StoredTensor(shape, dtype, as_it_is(_reader(path, name)))
                for name, shape, dtype in _arrays(file)
            }
    except (OSError, RuntimeError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is not a whole HDF5 file ({shown_name(str(error))}); download it again."
        ) from None


def _arrays(file):
    """(name, shape, dtype) of every array, in the order of the file."""
    import h5py

    groups, seen = [file], set()
    for group in groups:  # grows during the loop
        place = h5py.h5o.get_info(group.id).addr
        if place in seen or len(seen) > _MOST_GROUPS:
            raise ValueError(
                f"{file.filename}: the group {shown_name(group.name)} appears in several places."
            )
        seen.add(place)
        for name in group:
            if not isinstance(group.get(name, getlink=True), h5py.HardLink):
                raise ValueError(
                    f"{file.filename} holds a link to another place, {shown_name(name)}; save the model's "
                    "weights in one file."
                )
            thing = group[name]
            if isinstance(thing, h5py.Group):
                groups.append(thing)
            elif isinstance(thing, h5py.Dataset):
                _require_whole(file, thing)
                yield thing.name.lstrip("/"), thing.shape, thing.dtype.name


def _require_whole(file, array):
    """Refuses arrays that are stored in other files or compressed: Keras writes neither."""
    name = shown_name(array.name)
    if array.external or array.is_virtual:
        raise ValueError(f"{file.filename}: the array {name} is stored in another file; save it in this one.")
    if array.id.get_storage_size() < (array.size or 0) * array.dtype.itemsize:
        raise ValueError(
            f"{file.filename}: the array {name} is compressed or was never written; save the model again."
        )


def _reader(path, name):
    def read():
        import h5py

        try:
            with h5py.File(path, "r") as file:
                return file[name][()]
        except (OSError, RuntimeError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path}: {shown_name(name)} cannot be read ({shown_name(str(error))})."
            ) from None

    return read
