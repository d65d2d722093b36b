"""A full disk is one sentence that names what could not be written, whoever found it."""

import errno
import os

import pytest
import tensorflow as tf

from kbert.files.whole_file import whole_file, whole_folder

FULL = os.strerror(errno.ENOSPC)


def errors_below(aside):
    """What Python, a file without a name, and TensorFlow raise."""
    inside = aside / "variables" / "variables.data-00000-of-00001"
    yield OSError(errno.ENOSPC, FULL, str(inside))
    yield OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
    yield tf.errors.ResourceExhaustedError(
        None, None, f"{{{{function_node x}}}} {inside}; {FULL} [Op:SaveV2]"
    )


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("kind", [whole_file, whole_folder])
def test_it_names_what_was_to_be_written_and_leaves_nothing(tmp_path, kind, number):
    path = tmp_path / "model"
    with pytest.raises(OSError) as raised, kind(path) as aside:
        raise list(errors_below(aside))[number]
    assert raised.value.filename == str(path) and raised.value.errno in (errno.ENOSPC, errno.EDQUOT)
    assert list(tmp_path.iterdir()) == []


def test_it_is_named_too_where_there_is_no_room_for_a_new_name(tmp_path, monkeypatch):
    def fails(path, **settings):
        raise OSError(errno.ENOSPC, FULL, str(path))

    monkeypatch.setattr("pathlib.Path.touch", fails)
    with pytest.raises(OSError) as raised, whole_file(tmp_path / "model"):
        pass
    assert raised.value.filename == str(tmp_path / "model")
