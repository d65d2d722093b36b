"""Errors raised by Python inside an input pipeline: TensorFlow wraps them into pages of its own."""

import builtins
import re
import sys

# script_ops.py of TensorFlow: "<type>: <sentence>", the traceback, and the same once more.
_RAISED = re.compile(r"\b(\w*(?:Error|Exception)): (.*?)\nTraceback \(most recent call last\):\n", re.DOTALL)


def error_inside(error: BaseException) -> Exception | None:
    """The built-in exception that was raised in a Python function of a tf.data pipeline.

    Args:
      error: what came out of TensorFlow.

    Returns:
      An exception of the same type and sentence, for example a ValueError; or None when `error` is not one of
      TensorFlow's or holds no such exception.
    """
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(error, tensorflow.errors.OpError):
        return None
    match = _RAISED.search(error.message)
    if match is None:
        return None
    kind = getattr(builtins, match[1], None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        return None
    try:
        return kind(match[2])
    except TypeError:  # it takes more than a sentence
        return ValueError(match[2])
