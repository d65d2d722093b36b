"""What an annotation says of a parameter or a field beside its type. Standard library only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """The least and the largest number: `Annotated[int, Bounds(1)]`."""

    least: float | None = None
    largest: float | None = None


NO_FLAG = object()  # `Annotated[float, NO_FLAG]`: for Python alone
