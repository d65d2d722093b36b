"""Files as the safetensors library reads them, with the CRC of what lies on the disk."""

import zlib

import numpy as np
import pytest
from safetensors.numpy import load_file

from kbert.files.safetensors_file import read_safetensors, write_safetensors
from kbert.files.stored_tensor import stored_array

ARRAYS = {
    "first": np.arange(6, dtype=np.float32).reshape(2, 3),
    "second": np.array(7, np.int64),
    "third": np.ones((3,), np.float32),
}


def test_the_library_reads_what_is_written_and_its_crc_is_that_of_the_file(tmp_path):
    path = tmp_path / "a.safetensors"
    crc = write_safetensors(path, {name: stored_array(array) for name, array in ARRAYS.items()}, {"a": "b"})
    assert crc == zlib.crc32(path.read_bytes())
    read, ours = load_file(path), read_safetensors(path)
    assert read.keys() == ours.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read[name], array)
        np.testing.assert_array_equal(ours[name].read(), array)
        assert read[name].dtype == array.dtype and ours[name].shape == array.shape


def test_a_damaged_header_is_one_printable_sentence(tmp_path):
    path = tmp_path / "a.safetensors"
    write_safetensors(path, {"first": stored_array(ARRAYS["first"])}, {})
    path.write_bytes(path.read_bytes().replace(b'"F32"', b'"F3\x7f"'))
    with pytest.raises(ValueError, match="is not a whole safetensors file") as error:
        read_safetensors(path)
    assert str(error.value).isprintable() and len(str(error.value)) < 400
