"""What happens in a forked process."""

import os
import signal
from collections.abc import Callable

_SECONDS = 30


def in_fork(ask: Callable[[], object]) -> str:
    """What `ask` gives in a fork of this process, as `repr`, or the error that it raises.

    Raises:
      AssertionError: when it does not return.
    """
    reading, writing = os.pipe()
    process = os.fork()
    if not process:
        signal.alarm(_SECONDS)
        try:
            said = repr(ask())
        except BaseException as error:  # whatever happens: this process must not go on with the tests
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    assert os.waitpid(process, 0)[1] == 0, f"no answer after {_SECONDS} seconds"
    return said
