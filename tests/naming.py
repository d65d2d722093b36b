"""Names the failing case of a test that runs many: hundreds of tests take longer to collect than to run."""

import contextlib


@contextlib.contextmanager
def naming(*case):
    """A failure in the block names the case."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"the case: {', '.join(map(repr, case))}")
        raise
