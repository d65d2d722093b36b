"""Damaged HDF5 files end in one sentence, whatever h5py raises."""

import re

import numpy as np
import pytest

from kbert.files.hdf5_file import read_hdf5
from tests.kbert.checkpoints.foreign_files import write_keras_h5


def test_a_name_that_lies_nowhere_is_one_sentence(tmp_path):
    path, name_offset = tmp_path / "a.h5", 8
    write_keras_h5(path, {"a/weight": np.ones(3, np.float32), "b": np.ones(2, np.float32)})
    content = path.read_bytes()
    groups = [match.start() for match in re.finditer(b"SNOD", content)]
    assert len(groups) > 2
    for group in groups:
        changed = bytearray(content)
        changed[group + name_offset + 7] = 0x80
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=f"^{path} is not a whole HDF5 file .*; download it again.$"):
            read_hdf5(path)
