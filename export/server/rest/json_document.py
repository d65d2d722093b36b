"""The body of a POST request: one JSON object, read with bounds.

RapidJSON, which the real server reads with, keeps integers of more than 64 bits as floating point and takes
NaN and Infinity. It also stops after the first value, so what follows the object is ignored there; here
it is refused, because a body that was put together wrongly should not be answered in part.
"""

import base64
import binascii
import json
import re

from ...gate.saved_model_session import RequestError

_MAX_SHOWN = 256
_MAX_INTEGER_DIGITS = 20  # of the largest 64-bit integer, and a sign
_AFTER_VALUE = re.compile(r"[ \t\n\r]*")


def parse_body(body: bytes) -> dict:
    """Returns the JSON object of a request body.

    Raises:
        RequestError: `INVALID_ARGUMENT`.
    """
    text = body.decode("utf-8", "surrogateescape").lstrip(" \t\n\r")
    if not text:
        raise invalid("JSON Parse error: The document is empty")
    try:
        document, end = _DECODER.raw_decode(text)
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from error
    except RecursionError as error:
        raise invalid("JSON Parse error: The document is nested too deeply") from error
    end = _AFTER_VALUE.match(text, end).end()
    if end != len(text):
        raise invalid(
            f"JSON Parse error: The document root must not be followed by other values. at offset: {end}"
        )
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {shown(document)} Is not object")
    if not isinstance(document.get("signature_name", ""), str):
        raise invalid(
            f"JSON Value: {shown(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    check_name(document.get("signature_name", ""))
    return document


def check_name(name: str) -> None:
    """Raises `RequestError` for a name that is not UTF-8; strings of tensors may hold any bytes."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise invalid("JSON Parse error: A name is not UTF-8") from error


def invalid(message: str) -> RequestError:
    """Returns the error for a body that is not understood."""
    return RequestError("INVALID_ARGUMENT", message)


def shown(value) -> str:
    """Returns the beginning of a value as JSON, without writing the rest of it."""
    written, length = [], 0
    try:
        for part in json.JSONEncoder(ensure_ascii=False).iterencode(value):
            written.append(part[:_MAX_SHOWN])
            length += len(part)
            if length >= _MAX_SHOWN:
                break
    except RecursionError:
        pass  # the beginning is enough
    return "".join(written)[:_MAX_SHOWN]


def json_type(value) -> str:
    """Returns RapidJSON's name of a value's type."""
    if isinstance(value, bool):
        return str(value)
    names = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
    return names.get(type(value), "Null")


def is_bytes(value) -> bool:
    """True for `{"b64": "..."}`, which stands for bytes."""
    return isinstance(value, dict) and value.keys() == {"b64"} and isinstance(value["b64"], str)


def read_bytes(value: str | dict) -> bytes:
    """Returns the bytes of a string, in UTF-8, or of `{"b64": "..."}`."""
    if isinstance(value, str):
        try:
            return value.encode("utf-8", "surrogateescape")
        except UnicodeEncodeError as error:
            raise invalid("JSON Parse error: The surrogate pair in string is invalid.") from error
    if not is_bytes(value):
        raise invalid(f"JSON Value: {shown(value)} not formatted correctly for base64 data")
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise invalid("Unable to base64 decode") from error


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MAX_INTEGER_DIGITS else _number(digits)


def _number(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise invalid("JSON Parse error: Number too big to be stored in double.")
    return number


_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_number)
