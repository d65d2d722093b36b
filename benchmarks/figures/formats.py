"""Numbers as the pages write them: no zero before the point, few digits."""


def bare(value: float, digits: int = 3) -> str:
    """.8739 -> ".874"; 4.828 -> "4.828"."""
    text = f"{value:,.{digits}f}"
    return text[1:] if text.startswith("0.") else text


def fixed(value: float) -> str:
    """48.94 -> "48.9"; 1594.2 -> "1,594.2"."""
    return f"{value:,.1f}"


def two(value: float) -> str:
    """2.135 -> "2.14"."""
    return f"{value:,.2f}"


def whole(value: float) -> str:
    """1126.4 -> "1,126"."""
    return f"{value:,.0f}"


def percent(value: float) -> str:
    """.998 -> "99.8 %"; 1 -> "100 %"."""
    return "100 %" if value == 1 else f"{100 * value:.1f} %"


def percent2(value: float) -> str:
    """.99312 -> "99.31 %"; 1 -> "100 %"."""
    return "100 %" if value == 1 else f"{100 * value:.2f} %"


def difference(value: float) -> str:
    """One digit: 7.3e-7 -> "7e-7"; .0081 -> ".008". Nothing for 0: what the others are compared with."""
    if value == 0:
        return ""
    if value < 1e-4:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:.1g}".removeprefix("0")
