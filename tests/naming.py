"""Many cases in one test: collecting hundreds of tests costs more than they do."""

import contextlib


@contextlib.contextmanager
def naming(*case):
    """A failure in the block names the case."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"the case: {', '.join(map(repr, case))}")
        raise
