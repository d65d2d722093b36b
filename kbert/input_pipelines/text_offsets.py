"""Offsets in a text, in code points: what a file may have counted instead."""


def same_words(text: str, quote: str) -> bool:
    """Whether a part of a text is what a file says it is, but for white space."""
    return text.split() == quote.split()


def offset_advice(text: str, quote: str, start: int, end: int) -> str:
    """A sentence, after a blank, on offsets that do not fit; "" where nothing explains them.

    Args:
      text: the text.
      quote: what should stand at `start` to `end`.
      start, end: as the file has them.
    """
    if not quote:
        return ""
    if start >= 0 and (counted := _counted(text, quote, start, end)):
        return counted
    first = text.find(quote)
    if first < 0:
        return " The text does not hold it."
    again = " first" if text.find(quote, first + 1) >= 0 else ""
    return f" It stands at {first} to {first + len(quote)}{again}."


def _counted(text, quote, start, end) -> str:
    """What a file counted in the place of characters from 0; "" where that does not explain its offsets."""
    for encoding, width, what in (
        ("utf-16-le", 2, "UTF-16 units, as JavaScript and Java do"),
        ("utf-8", 1, "bytes of UTF-8"),
    ):
        units = text.encode(encoding, "surrogatepass")
        if units[start * width : end * width] == quote.encode(encoding, "surrogatepass"):
            first = len(units[: start * width].decode(encoding, "ignore"))
            return f" The file counts {what}; in characters it is {first} to {first + len(quote)}."
    if text[start : end + 1] == quote:
        return " The end counts the last character in; add 1 to each end."
    if start > 0 and text[start - 1 : start - 1 + len(quote)] == quote:
        return " The file counts from 1; subtract 1 from each start."
    return ""
