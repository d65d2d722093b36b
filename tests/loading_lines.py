"""What a script says of itself on a slow machine, before what it has to say."""

import re

_LOADING = r"(?:loading (?:TensorFlow|Keras|TensorFlow Text)(?: \.\.\.|: \d+ s so far)\n)*"


def without_loading(written: str) -> str:
    """Standard error without the lines that come where loading takes more than a second."""
    return re.sub(rf"\A{_LOADING}", "", written)
