"""What several tests of the tools share: a disk that is full."""

import contextlib
import resource

import pytest


@pytest.fixture
def largest_file():
    """A function of a number of bytes, for `with`: there, no file of this process can grow beyond it.

    The system then answers as a full disk does, at the same places.
    """

    @contextlib.contextmanager
    def largest_file(num_bytes):
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    return largest_file
