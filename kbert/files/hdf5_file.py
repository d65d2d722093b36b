"""HDF5 files as Keras writes them: names, shapes and types at once, each array when it is asked for."""

from pathlib import Path

from kbert.files.json_values import shown_name
from kbert.files.stored_tensor import StoredTensor, while_unchanged

# What a damaged file makes h5py raise; a SystemError where its C code meets a second error.
_DAMAGE = (OSError, RuntimeError, KeyError, TypeError, SystemError)


def read_hdf5(path: Path) -> dict[str, StoredTensor]:
    """The arrays of an HDF5 file by their path in it.

    Nothing outside the file is opened: links to other files and arrays that lie in them are refused.

    Raises:
      ValueError: for a file that is not whole, links to other files or places, and arrays that are larger
        than their bytes in this file: Keras writes none of these. Reading an array raises it too when the
        file has changed since.
    """
    import h5py

    path = Path(path)
    unchanged = while_unchanged(path)
    try:
        with h5py.File(path, "r") as file:
            return {
                name: StoredTensor(shape, dtype, unchanged(_reader(path, name)))
                for name, shape, dtype in _arrays(file)
            }
    except _DAMAGE as error:
        raise ValueError(
            f"{path} is not a whole HDF5 file ({shown_name(str(error))}); download it again."
        ) from None


def _arrays(file):
    """(name, shape, dtype) of every array; each once, however many names it has."""
    import h5py

    links, nodes = [], []
    file.visititems_links(lambda name, link: links.append((name, link)))
    for name in (name for name, link in links if not isinstance(link, h5py.HardLink)):
        raise ValueError(
            f"{file.filename} holds a link to elsewhere, {shown_name(name)}; save all in one file."
        )
    file.visititems(lambda name, node: nodes.append(node))
    for array in (node for node in nodes if isinstance(node, h5py.Dataset)):
        _require_whole(file, array)
        yield array.name.lstrip("/"), array.shape, array.dtype.name


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
        except _DAMAGE as error:
            raise ValueError(
                f"{path}: {shown_name(name)} cannot be read ({shown_name(str(error))})."
            ) from None

    return read
