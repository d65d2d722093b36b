"""Lines of running text -> sentences, with the rules of the sentencex library for their language."""

from kbert.extras import require

# The languages for which sentencex 1.0.32 has its own rules. It accepts any other code as well, but treats it
# as English or as a related language. Chinese needs no list of abbreviations: its full stops are unambiguous.
LANGUAGES = tuple(
    "am ar bg bn ca da de el en es fi fr gu hi hy it ja kk kn ml mr my nl pa pl pt ru sk ta te uk zh".split()
)


# sentencex 1.0.32 assumes that white space after an initial is one byte long, and aborts where it is longer
# ("J.\xa0S."). WordPiece reads such white space as spaces too, and drops U+0085, a control character.
_PLAIN_SPACES = {code: " " for code in range(0x80, 0x3001) if chr(code).isspace()} | {0x85: None}


class SentenceSplitter:
    """Cuts a line into sentences.

    Args:
      language: one of `LANGUAGES`.

    Call arguments:
      line: UTF-8.

    Returns:
      A list of non-empty UTF-8 sentences, stripped. Joined, they equal the line except for white space: it is
      dropped between sentences, and white space beyond ASCII becomes plain spaces.

    Raises:
      ValueError: when the language is not known, or sentencex is not installed.

    Example:
      SentenceSplitter("en")(b"Dr. Smith came. He sat down.")  # [b"Dr. Smith came.", b"He sat down."]

    Reference:
      https://github.com/wikimedia/sentencex
    """

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise ValueError(
                f"split_sentences={language!r} is no language with known sentence rules; choose one of "
                f"{', '.join(LANGUAGES)} (a closely related language is often good enough)."
            )
        require("sentences", f"split_sentences={language!r}")
        from sentencex import segment

        self._language = language
        self._segment = segment

    def __call__(self, line: bytes) -> list[bytes]:
        sentences = self._segment(self._language, line.decode("utf-8").translate(_PLAIN_SPACES))
        return [stripped.encode("utf-8") for sentence in sentences if (stripped := sentence.strip())]
