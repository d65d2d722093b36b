"""Large numbers and times in few characters."""


def readable_count(number: float) -> str:
    """950.4 -> "950", 91234 -> "91.2k", 3.1e9 -> "3.1G"."""
    for unit, size in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= 0.99995 * size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def readable_seconds(seconds: float) -> str:
    """12 -> "12s", 75 -> "1m15s", 3700 -> "1h01m"."""
    seconds = int(round(seconds))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m{seconds % 60:02d}s"
    return f"{seconds // 3600}h{seconds % 3600 // 60:02d}m"


def readable_bytes(number: float) -> str:
    """734003200 -> "700 MiB", 7730941133 -> "7.2 GiB"."""
    if number < 1000 * 2**20:
        return f"{number / 2**20:.0f} MiB"
    return f"{number / 2**30:.1f} GiB"
