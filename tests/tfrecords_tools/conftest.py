"""A fixture that several tests of the tools share: a full disk."""

import contextlib
import resource

import pytest


@pytest.fixture
def largest_file():
    """A context manager that takes a number of bytes: inside it, no file of this process can grow larger.

    Writing beyond that fails at the same places as on a full disk.
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
