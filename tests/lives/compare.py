"""Whether two answers are the same but for rounding."""

import numpy as np

ROUNDING = 2e-5  # of float32, in the order of the sums


class Different(AssertionError):
    """Two hops gave unlike answers; the message says where."""


def same(found, expected, tolerance: float, where: str = "answer"):
    """Compares nested lists, dicts, arrays and numbers.

    A label may differ where the numbers that it was chosen by are a tie, several labels where the numbers are
    rounded on purpose.

    Raises:
      Different: naming the place.
    """
    if isinstance(expected, dict):
        if not isinstance(found, dict) or found.keys() != expected.keys():
            raise Different(f"{where}: {found!r:.120} instead of {expected!r:.120}")
        ties, is_rough = is_tie(expected, tolerance), tolerance > ROUNDING
        for name in expected:
            if not (ties and isinstance(expected[name], str | int)) and not (is_rough and name == "labels"):
                same(found[name], expected[name], tolerance, f"{where}.{name}")
    elif isinstance(expected, list | tuple):
        if len(found) != len(expected):
            raise Different(f"{where}: {len(found)} entries instead of {len(expected)}")
        for index, (one, other) in enumerate(zip(found, expected, strict=True)):
            same(one, other, tolerance, f"{where}[{index}]")
    elif isinstance(expected, float | np.ndarray | np.floating):
        _same_numbers(np.asarray(found), np.asarray(expected), tolerance, where)
    elif found != expected:
        raise Different(f"{where}: {found!r:.120} instead of {expected!r:.120}")


def _same_numbers(found, expected, tolerance, where):
    if found.shape != expected.shape:
        raise Different(f"{where}: shape {found.shape} instead of {expected.shape}")
    both_nan = np.isnan(found.astype(float)) & np.isnan(expected.astype(float))
    scale = np.maximum(1.0, np.abs(np.nan_to_num(expected.astype(float))))
    gaps = np.where(both_nan, 0.0, np.abs(found.astype(float) - expected) / scale)
    if not (gaps <= tolerance).all():
        place = np.unravel_index(np.nanargmax(np.where(np.isnan(gaps), np.inf, gaps)), gaps.shape)
        raise Different(f"{where}: {found[place]} instead of {expected[place]} ({gaps.max():.1e} apart)")


def is_tie(answer, tolerance) -> bool:
    """Whether the two largest numbers of an answer are equal within four times a tolerance."""
    numbers = answer.get("probabilities", answer.get("scores"))
    numbers = list(numbers.values()) if isinstance(numbers, dict) else numbers
    if not isinstance(numbers, list) or not all(isinstance(number, float) for number in numbers):
        return False
    return len(numbers) > 1 and np.ptp(sorted(numbers)[-2:]) <= 4 * tolerance
