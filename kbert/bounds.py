"""What an annotation says of a parameter or a field beside its type. Standard library only."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounds:
    """Between which numbers a value lies: `Annotated[int, Bounds(1)]` is at least 1.

    Args:
      least, largest: the first and the last number.
      above, below: numbers that are just outside.
    """

    least: float | None = None
    largest: float | None = None
    above: float | None = None
    below: float | None = None

    def hold(self, value: float) -> bool:
        """Whether a number lies between them; NaN does not."""
        return (
            (self.least is None or value >= self.least)
            and (self.largest is None or value <= self.largest)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        """ "at least 0 and below 1"."""
        named = {"above": self.above, "at least": self.least, "at most": self.largest, "below": self.below}
        return " and ".join(f"{word} {value}" for word, value in named.items() if value is not None)


LARGEST_FLOAT32 = 3.4028234e38  # what is above becomes infinity in a batch
NO_FLAG = object()  # `Annotated[float, NO_FLAG]`: for Python alone
