"""A value of anybody's library as Python's own, which JSON can hold.

It is known by the methods of its objects, so neither NumPy nor pyarrow nor TensorFlow is imported here.
"""

import contextlib
import math
import sys
from collections.abc import Mapping
from decimal import Decimal


def plain_value(value):
    """A value as Python's own: of a tensor, an array's number, lists for arrays, texts for bytes in UTF-8 and
    for keys, decimals by `exact_number`; dicts for named tuples; so are those in lists and dicts."""
    if isinstance(value, str):  # `str(value)` of a member of an Enum is its name
        return str.__str__(value)
    if isinstance(value, int | float | None):
        return value
    value = without_tensor(value)
    convert = getattr(value, "as_py", None) or getattr(value, "tolist", None)
    value = convert() if convert else value
    if hasattr(value, "_asdict"):  # a row of `DataFrame.itertuples`
        value = value._asdict()
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(plain_value, value))
    if isinstance(value, Mapping):
        return {str(plain_value(key)): plain_value(item) for key, item in value.items()}
    if isinstance(value, bytes):
        with contextlib.suppress(UnicodeDecodeError):
            return value.decode("utf-8")
    return exact_number(value) if isinstance(value, Decimal) else value


def without_tensor(value):
    """The array of a tensor of TensorFlow; any other value as it is."""
    is_tensor = type(value).__module__.startswith("tensorflow.") and hasattr(value, "numpy")
    return value.numpy() if is_tensor else value


def exact_number(value: Decimal) -> int | str | float:
    """A decimal as JSON can hold it: an int; with places behind the point its text, such as "19.90", for a
    float would be another number; NaN and infinity as floats, and what is beyond floats as its own text."""
    if not value.is_finite():
        return math.nan if value.is_nan() else float(value)
    if abs(value.adjusted()) > sys.float_info.max_10_exp:  # thousands of digits, of which int takes 4300
        return str(value)
    written = format(value, "f")
    return written if "." in written else int(written)
