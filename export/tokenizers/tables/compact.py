"""Sets of code points, and what they become, as short texts that every language can read.

All numbers are in base 36. A set is its ranges: "gap.length", where the gap is counted from the end of the
range before, and ".length" is left out for a single one. What characters become is written as runs,
"gap.length.step:number,number": characters `step` apart that have the same numbers; ".step" is left out for
1, ".length.step" for a single one.
"""

import numpy as np


def compact_set(codes) -> str:
    """`codes`: a set of code points."""
    return _runs({code: () for code in codes}, steps=(1,))


def compact_shifts(becomes) -> str:
    """`becomes`: code point -> code points, which are written as distances from it: so alphabets are runs."""
    return _runs({code: tuple(to - code for to in codes) for code, codes in becomes.items()}, steps=(1, 2))


def compact_numbers(numbers) -> str:
    """`numbers`: code point -> number."""
    return _runs({code: (number,) for code, number in numbers.items()}, steps=(1,))


def _runs(values: dict[int, tuple[int, ...]], steps) -> str:
    texts, end, waiting = [], 0, sorted(values)
    while waiting:
        start = waiting[0]
        length, step = max((_run_length(values, start, step), -step) for step in steps)
        step = -step if length > 1 else 1
        texts.append(_run(start - end, length, step, values[start]))
        end = start + (length - 1) * step + 1
        waiting = waiting[length:]
    return " ".join(texts)


def _run_length(values, start, step) -> int:
    """How many follow each other with the same values, without stepping over another character."""
    length = 1
    while values.get(start + length * step) == values[start] and (
        step == 1 or start + length * step - 1 not in values
    ):
        length += 1
    return length


def _run(gap, length, step, numbers) -> str:
    where = ".".join(map(base36, [gap, length, step][: 1 if length == 1 else 2 if step == 1 else 3]))
    return f"{where}:{','.join(map(base36, numbers))}" if numbers else where


def base36(number: int) -> str:
    """An integer in digits and lower-case letters."""
    return np.base_repr(number, 36).lower()
