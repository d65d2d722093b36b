"""Seeded damage for the tests of readers: bytes of any file, and values of a JSON file."""

import json
import random

_STRANGE = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1.5,
    10**6,
    10**40,
    -(10**40),
    float("inf"),
    float("nan"),
    "",
    "x",
    "false",
    "12",
    "../../..",
    "/",
    "two\nlines\x1b[31m",
    "\ud800",
    "x" * 10_000,
    [],
    {},
    ["gelu"],
    [None],
    {"a": 1},
    {"": []},
)


def _nested(depth):
    value = 0
    for _ in range(depth):
        value = [value]
    return value


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """The same file with some bytes changed, removed, inserted or zeroed, or with its end cut off."""
    kind, place = rng.randrange(6), rng.randrange(len(data) + 1)
    if kind == 0:
        return data[:place]
    if kind == 1:
        return data[:place] + rng.randbytes(rng.randrange(1, 9)) + data[place:]
    if kind == 2:
        return data[:place] + data[place + rng.randrange(1, 200) :]
    if kind == 3:
        return data[:place] + bytes(rng.randrange(1, 200)) + data[place + 100 :]
    changed = bytearray(data)
    for _ in range(rng.randrange(1, 8) if data else 0):
        changed[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(changed)


def mutate_json(text: str, rng: random.Random) -> str:
    """The same JSON with one value replaced, removed or put into a list, or with an additional key."""
    root = [json.loads(text)]
    holder, key = rng.choice(list(_places(root)))
    kind = rng.randrange(8)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1:
        holder[key] = [holder[key]]
    elif kind == 2:
        holder[key] = json.dumps(holder[key])
    elif kind == 3 and isinstance(holder[key], dict):
        holder[key][rng.choice(("x", "", "two\nlines", "dtype", "name"))] = rng.choice(_STRANGE)
    elif kind == 4 and rng.random() < 0.3:
        return json.dumps(root[0]).replace(json.dumps(holder[key]), "[" * 50_000 + "]" * 50_000, 1)
    elif kind == 4:
        holder[key] = _nested(rng.choice((5, 300, 900)))
    else:
        holder[key] = rng.choice(_STRANGE)
    return json.dumps(root[0]) if root else ""


def _places(value):
    """(holder, key) of every value in a JSON value."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])
