"""Lines of running text -> sentences, with the rules of the sentencex library for their language."""

REQUIREMENT = "sentencex==1.0.32"

# The languages that sentencex 1.0.32 has rules of its own for; it takes any other code and treats it as
# English or as a relative. Chinese goes without abbreviations, so the marks that end its sentences suffice.
LANGUAGES = tuple(
    "am ar bg bn ca da de el en es fi fr gu hi hy it ja kk kn ml mr my nl pa pl pt ru sk ta te uk zh".split()
)


# sentencex 1.0.32 takes every white space behind an initial for one byte and aborts on others ("J.\xa0S.").
# WordPiece reads them as spaces too, and drops U+0085, a control character.
_PLAIN_SPACES = {code: " " for code in range(0x80, 0x3001) if chr(code).isspace()} | {0x85: None}


class SentenceSplitter:
    """Cuts a line into sentences.

    Args:
      language: one of `LANGUAGES`.

    Call arguments:
      line: UTF-8.

    Returns:
      A list of non-empty UTF-8 sentences, stripped; joined they are the line but for white space, all of
      which is plain spaces in them.

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
                f"split_sentences={language!r} is no language that sentences are known of; choose one of "
                f"{', '.join(LANGUAGES)} (the nearest relative is often good enough)."
            )
        try:
            from sentencex import segment
        except ImportError:
            raise ValueError(
                f"split_sentences={language!r} needs a package: pip install {REQUIREMENT}"
            ) from None
        self._language = language
        self._segment = segment

    def __call__(self, line: bytes) -> list[bytes]:
        sentences = self._segment(self._language, line.decode("utf-8").translate(_PLAIN_SPACES))
        return [stripped.encode("utf-8") for sentence in sentences if (stripped := sentence.strip())]
