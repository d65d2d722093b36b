"""What a script says of itself on a slow machine, before what it has to say."""

import re

_BUSY_WITH = r"(?:loading (?:TensorFlow|Keras|TensorFlow Text)|kbert [a-z-]+)"
_LOADING = rf"(?:{_BUSY_WITH}(?: \.\.\.|: \d+ s so far)\n)*"


def without_loading(written: str) -> str:
    """Standard error without the lines that come where starting takes more than a second."""
    return re.sub(rf"\A{_LOADING}", "", written)
