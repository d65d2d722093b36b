"""Which encoding the bytes of a text have: by a byte order mark, else UTF-8; and what others look like."""

import codecs
import re

BLOCK = 1 << 16  # bytes of a file's beginning that are looked at
UTF8_MARK = codecs.BOM_UTF8
# The longer ones first: UTF-32's begins as UTF-16's does.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (UTF8_MARK, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Where a text that begins with an ASCII character has its zeros.
_WITHOUT_MARK = (
    (rb"[^\0]\0\0\0", "utf-32-le"),
    (rb"\0\0\0[^\0]", "utf-32-be"),
    (rb"[^\0]\0", "utf-16-le"),
    (rb"\0[^\0]", "utf-16-be"),
)
# Encodings that have controls where one of Windows has characters, and are mistaken for it; Python's names.
WINDOWS_FOR = dict.fromkeys(("iso8859-1", "iso8859-15"), "cp1252") | {
    "iso8859-2": "cp1250",
    "iso8859-7": "cp1253",
    "iso8859-8": "cp1255",
    "iso8859-9": "cp1254",
    "iso8859-13": "cp1257",
}
_QUOTES = "„“”‚‘’«»–—…€°§¿¡£©®"
_LATIN_2 = "ÁÄÇÉËÍÎÓÔÖÚÜÝßáâäçéëíîóôöúüýĂăĄąĆćČčĎďĐđĘęĚěĹĺĽľŁłŃńŇňŐőŔŕŘřŚśŞşŠšŢţŤťŮůŰűŹźŻżŽž"
# Encodings of old, and how a run of characters beyond ASCII looks in a text that is in one of them.
_OLD = {
    "cp1254": rf"[ÂÇĞÎİÖŞÛÜâçğîıöşûü{_QUOTES}]{{1,5}}",
    # cp1250 of Hungarian, before Western, which has õ and û for its ő and ű.
    "windows-1250": rf"[áéíóöőúüűÁÉÍÓÖŐÚÜŰ{_QUOTES}]{{1,3}}",
    # Excel for Mac's plain CSV, before Western, which has Õ, Ò and Ó for its ’, “ and ”.
    "mac-roman": "[áàâäãåçéèêëíìîïñóòôöõúùûüÄÖÜßÉ’‘“”–—…«»]{1,3}",
    "cp1252": rf"[À-ÖØ-öø-ÿŒœŠšŽžŸ{_QUOTES}]{{1,3}}",
    "cp1250": rf"[{_LATIN_2}{_QUOTES}]{{1,3}}",
    # Before Cyrillic, whose small letters have its bytes: five letters have other forms at a word's end.
    "cp1255": rf"[אבגדהוזחטיכלמנסעפצקרשת]*[אבגדהוזחטילסעקרשתךםןףץ]|[{_QUOTES}]+",
    "cp1251": rf"[А-ЯЁІЇЄ]?[а-яёіїє]+|[А-ЯЁІЇЄ]+|[№{_QUOTES}]+",
    "koi8-r": r"[А-ЯЁ]?[а-яё]+|[А-ЯЁ]+",
    "cp1253": rf"[Α-ΫΆΈ-Ώ]?[ΐ-ώ]+|[Α-ΫΆΈ-Ώ]+|[{_QUOTES}]+",
    "cp850": r"[äöüÄÖÜßáàâãåçéèêëíìîïñóòôõúùû]{1,2}",
    "cp932": r"[\u3000-ヿ一-鿿！-～]+",  # first: its kana are Hangul in cp949, while Hangul are no kana
    "euc-jp": r"[\u3000-ヿ一-鿿！-～]+",
    "cp949": r"[가-힣ㄱ-ㅣ]+",
    "gb18030": r"[一-鿿，。！？、：；“”（）《》]+",
    "cp950": r"[一-鿿，。！？、：；「」『』（）《》]+",
    "cp1256": r"[ء-ْ،؛؟]+",
}
# Two to four bytes of UTF-8 as characters, but for those that also stand beside each other by right.
_MISREAD = re.compile("Ã[¡-ª¬-º¼-¿€ƒ„†‡ˆ‰ŠŒŽ•˜™šœžŸ]|Â[£-©«®-±»¿]|â€[™œ˜“”¦¢\x9d]|ð[Ÿ\x9f]")
# What others have not: all else is cp1252's; Chinese and Korean give kanji, and single jamo other kana.
_MUST_HOLD = {
    "cp1254": "[ğışĞİŞ]",
    "mac-roman": "[a-z.,!?][’”]",  # Western capitals have Ó where these marks are
    "windows-1250": "(?s)(?=.*[őű])(?=.*[öü])(?=.*[áé])",
    "euc-jp": "[も-ん]",
}
# A run that touches a Latin letter is none of theirs.
_WITHOUT_LATIN = (
    "cp949",
    "cp932",
    "euc-jp",
    "gb18030",
    "cp950",
    "cp1251",
    "koi8-r",
    "cp1253",
    "cp1255",
    "cp1256",
)
# 1.º and 2ª of Western text: letters of cp1250.
_ORDINAL = re.compile(rb"(?<=[0-9.])[\xaa\xba](?![\x80-\xff])")
# A character beyond U+FFFF in CESU-8: each half of its UTF-16 in three bytes.
_HALVES = re.compile(rb"\xed[\xa0-\xaf][\x80-\xbf]\xed[\xb0-\xbf][\x80-\xbf]")
_JOIN_HALVES = (
    "python -c \"import sys; sys.stdout.write(sys.stdin.buffer.read().decode('utf-8', 'surrogatepass')"
    ".encode('utf-16', 'surrogatepass').decode('utf-16'))\" < OLD > NEW"
)
_ENOUGH_RUNS = 0.6  # of all runs have to look right
_AS_GOOD = 0.02  # a share that is less by this is as good: a loanword or two; the first of these is taken


def _characters(encoding):
    """What programs read for each byte: where the encoding has none, the control character of Latin-1."""
    return [bytes([byte]).decode(encoding, "ignore") or chr(byte) for byte in range(256)]


def _shapes(encoding):
    """A pattern of the characters that an encoding has for the bytes of one beyond ASCII in UTF-8."""
    chars = _characters(encoding)
    others = rf"[{re.escape(''.join(chars[0x80:0xC0]))}\x80-\x9f]"
    first = ((chars[0xC2], chars[0xDF]), (chars[0xE0], chars[0xEF]), (chars[0xF0], chars[0xF4]))
    return "|".join(f"[{a}-{b}]{others}{{{more}}}" for more, (a, b) in enumerate(first, 1))


_READ_AS = ("cp1252", "cp1251")  # what UTF-8 is most often taken for
_SHAPED = re.compile("|".join(map(_shapes, _READ_AS)))
# So many characters that have the shape, and this share of all beyond ASCII: "é »" in French has it, too.
_SURE_OF_SHAPE, _MOST_OF_TEXT = 6, 0.7


def marked_encoding(beginning: bytes) -> str | None:
    """The encoding that a byte order mark at the beginning of a file says; None without one."""
    return next((encoding for mark, encoding in _MARKS if beginning.startswith(mark)), None)


def unmarked_wide_encoding(beginning: bytes) -> str | None:
    """UTF-16 or UTF-32 of a text that begins in ASCII and has no mark, by its zeros; None for any other."""
    return next((encoding for zeros, encoding in _WITHOUT_MARK if re.match(zeros, beginning)), None)


def is_text_encoding(name: str) -> bool:
    """Whether Python decodes text by this name."""
    try:
        "\n".encode(name)
    except (LookupError, ValueError):  # a ValueError for a name with a zero byte
        return False
    return True


def cuts_at_line_feeds(encoding: str) -> bool:
    """Whether a byte 0x0A is a line feed and nothing else: not in UTF-16 and UTF-32."""
    return "\n".encode(encoding) == b"\n"


def holds_utf8(beginning: bytes, encoding: str) -> bool:
    """Whether a beginning of text is UTF-8 with characters beyond ASCII, though `encoding` is expected.

    In an encoding of one byte a character that is so by chance is a rarity ("Ã¶"); in others a few may be: of
    Chinese and Korean characters about one of ten.
    """
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(beginning)
    except UnicodeDecodeError:
        return False
    if not cuts_at_line_feeds(encoding):  # line feeds and commas of UTF-16 have zero bytes
        return bool(beginning) and b"\0" not in beginning
    one_byte = len(bytes(range(256)).decode(encoding, "replace")) == 256
    return sum(not char.isascii() for char in text) >= (1 if one_byte else 4)


def is_misread(text: str) -> bool:
    """Whether a text looks as if its UTF-8 had been read as Latin-1, Windows-1252 or -1251: "cafÃ©"."""
    if text.isascii():  # as most lines of most files
        return False
    return bool(_MISREAD.search(text)) or _num_shaped(text) >= _SURE_OF_SHAPE


def repaired(text: str) -> str:
    """A text whose UTF-8 was read so as it was before; one with a few such characters ("Різне") as it is."""
    return _SHAPED.sub(_repaired_character, text) if _num_shaped(text) else text


def _num_shaped(text):
    """How many characters have the shape of UTF-8 that was misread, where these are most of those beyond
    ASCII; else 0."""
    shaped = sum(map(len, _SHAPED.findall(text)))
    if not shaped or shaped <= _MOST_OF_TEXT * sum(not char.isascii() for char in text):
        return 0
    return shaped


def _repaired_character(shaped):
    for read_as in _READ_AS:
        bytes_of = {ord(char): byte for byte, char in enumerate(_characters(read_as))}
        try:
            return shaped[0].translate(bytes_of).encode("latin-1").decode("utf-8")
        except UnicodeError:
            pass
    return shaped[0]


def likely_encoding(content: bytes) -> str | None:
    """The encoding in which text that is no UTF-8 reads best; None where it reads well in none that is known.

    A guess for messages: the reader is shown what it gives.
    """
    content = _ORDINAL.sub(b"", content)
    scores = {encoding: _score(content, encoding, looks) for encoding, looks in _OLD.items()}
    best = max(scores.values())
    if best < _ENOUGH_RUNS:
        return None
    return next(encoding for encoding, score in scores.items() if score >= best - _AS_GOOD)


def _score(content, encoding, looks) -> float:
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        return 0.0
    if not re.search(_MUST_HOLD.get(encoding, ""), text):
        return 0.0
    touching = r"[A-Za-z]*" if encoding in _WITHOUT_LATIN else ""
    runs = re.findall(rf"{touching}[^\x00-\x7f]+{touching}", text)
    return sum(bool(re.fullmatch(looks, run)) for run in runs) / max(len(runs), 1)


def how_to_join_halves(content: bytes) -> str:
    """For messages: what makes UTF-8 of text whose emoji are in CESU-8; "" for any other bytes, and where
    more is wrong."""
    rest = _HALVES.sub(b"", content)
    if rest == content or rest.decode("utf-8", "ignore").encode() != rest:
        return ""
    return (
        f"its emoji are written in two halves each (CESU-8, as Java and Oracle do); join them: {_JOIN_HALVES}"
    )


def how_to_convert(content: bytes) -> str:
    """For messages: the command that makes UTF-8 of text that is something else, and what comes out."""
    if joined := how_to_join_halves(content):
        return joined
    encoding = marked_encoding(content) or likely_encoding(content)
    if encoding is None:
        return "convert it, for example: iconv -f WINDOWS-1252 -t UTF-8, with the encoding that it has"
    shown = shown_as(content, encoding)
    return f"convert it, for example: iconv -f {encoding.upper()} -t UTF-8 (it says {shown!r})"


def shown_as(content: bytes, encoding: str, longest: int = 60) -> str:
    """The words around the first byte beyond ASCII, decoded, for messages."""
    text = content.decode(encoding, "replace").strip()
    first = next((index for index, char in enumerate(text) if not char.isascii()), 0)
    start = max(0, first - longest // 2)
    return text[start : start + longest]
