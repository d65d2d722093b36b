"""Encodings of text files: what is read, and what is named where it cannot be."""

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kbert.config import DatasetConfig
from kbert.files.text_encoding import (
    BLOCK,
    how_to_join_halves,
    is_misread,
    is_text_encoding,
    likely_encoding,
    repaired,
)
from kbert.files.text_file import find_encoding, read_lines
from kbert.input_pipelines.labelled_files import read_rows

DECLARATIONS = Path("../shared/data/text_multilingual/udhr")
LINES = ["text,label", "schön \U0001f600,gut", "的 \u2028 x,y"]
CONTENT = "\n".join(LINES)
MARKED = ("utf-8-sig", "utf-16", "utf-32")
UNMARKED = ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("encoding", ["utf-8", *MARKED])
def test_a_byte_order_mark_says_the_encoding(tmp_path, encoding, packed):
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    for end in ("", "\n"):
        content = (CONTENT + end).encode(encoding)
        path.write_bytes(gzip.compress(content) if packed else content)
        assert list(read_lines(path)) == LINES


def test_a_mark_of_big_endian_and_one_that_stands_against_what_is_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(("\ufeff" + CONTENT).encode("utf-16-be"))
    assert list(read_lines(path)) == LINES and find_encoding(path, "cp1252") == "utf-16"


@pytest.mark.parametrize("encoding", UNMARKED)
def test_utf_16_without_a_mark_is_named(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_bytes(CONTENT.encode(encoding))
    for read in (read_lines, lambda path: [find_encoding(path)]):
        with pytest.raises(ValueError, match=f"is {encoding.upper()} without a byte order mark"):
            list(read(path))
    assert find_encoding(path, encoding) == encoding


def test_half_a_character_of_utf_16_is_an_error(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(CONTENT.encode("utf-16")[:-1])
    with pytest.raises(ValueError, match="is not UTF-16"):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        *[("cp1252", "schön „schnell“"), ("cp1252", "café"), ("cp1252", "it’s – “good”, ¿no?")],
        *[("cp1250", "zażółć gęślą jaźń"), ("cp1250", "příliš žluťoučký kůň")],
        *[("cp1251", "Привет, мир! Я в «Москве»"), ("cp1253", "Καλημέρα κόσμε"), ("cp850", "schön für über")],
        *[("cp932", "荷物が届きません"), ("cp932", "東京都（株）"), ("cp1254", "çok güzel, teşekkürler")],
        *[("cp1254", "aldığı ürün kırıktı, ışığı yanmıyor"), ("cp1252", "blóðþrýstingur")],
        *[("cp950", "客服態度很差"), ("cp1256", "خدمة سيئة، لا أنصح"), ("gb18030", "客服态度很差")],
        *[("cp1252", "það er mál á Íslandi"), ("cp932", "これはペンです。日本語")],
        *[("gb18030", "你好，世界。"), ("cp949", "안녕하세요 세계"), ("cp1251", "спасибо, мир")],
        *[("cp1255", "שלום לכולם, שירות טוב מאוד"), ("euc-jp", "荷物が届きません")],
        *[("cp949", "배송이 늦네요 ㅋㅋㅋ ㅠㅠ"), ("koi8-r", "Привет, очень хороший фильм")],
        *[("cp1252", "INFORMACIÓN, EDUCACIÓN Y NIÑOS")],
        *[("mac-roman", "It’s a “great” film"), ("mac-roman", "l’été n’est “rien” d’autre")],
        *[("windows-1250", "Az őszi idő hűvös, köszönöm szépen"), ("cp850", "a ação, você também está")],
    ],
)
def test_the_likely_encoding_is_named_with_what_it_gives(tmp_path, encoding, text):
    assert likely_encoding(text.encode(encoding)) == encoding
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\n" + text.encode(encoding) + b"\n")
    with pytest.raises(ValueError) as error:
        list(read_lines(path))
    assert f"iconv -f {encoding.upper()} -t UTF-8" in str(error.value) and text[:20] in str(error.value)
    assert "line 2 is not UTF-8 (byte 0x" in str(error.value)


@pytest.mark.parametrize(
    ("encoding", "languages"),
    [
        *[
            ("cp1252", "cat dan deu_1901 fin fra isl ita nob por_BR por_PT spa swe"),
            ("cp1250", "ces pol slk"),
        ],
        *[("windows-1250", "hun"), ("koi8-r", "rus bul")],
        *[("cp1251", "bul rus ukr srp_cyrl"), ("cp1253", "ell_monotonic"), ("cp1254", "tur")],
        *[("cp1255", "heb"), ("cp1256", "arb"), ("cp932", "jpn"), ("euc-jp", "jpn"), ("cp949", "kor")],
        *[("gb18030", "cmn_hans"), ("cp950", "cmn_hant"), ("cp850", "deu_1901 fra spa por_BR")],
    ],
)
def test_long_texts_are_named_by_their_encodings(encoding, languages):
    if not DECLARATIONS.exists():
        pytest.skip("no declarations of human rights in many languages")
    for language in languages.split():
        text = (DECLARATIONS / f"{language}.txt").read_text(encoding="utf-8")[:8000]
        assert likely_encoding(text.encode(encoding, "ignore")) == encoding, language


@pytest.mark.parametrize(
    "text",
    [
        "очень хороший",
        "świetny, dziękuję",
        "καλό",
        "مرحبا",
        "你好世界",
        "안녕하세요",
        "ok \U0001f600",
        "für Öl",
    ],
)
def test_a_text_whose_utf_8_was_read_as_another_encoding_is_seen_and_repaired(text):
    for encoding in ("latin-1", "cp1251"):
        misread = text.encode().decode(encoding, "ignore")
        if misread.encode(encoding) == text.encode():
            assert repaired(misread) == text and (is_misread(misread) or encoding == "cp1251")


@pytest.mark.parametrize(
    "text",
    [
        "« clichés » et « thé », À… É”".replace(" ", "\xa0"), "Spaß… „Größe“ – Füße",
        "Ні. Ні. Він любить Київ", "Привет, ёлка «мир» № 5 — ДА…", "Tiếng Việt", "你好世界。", "AÇÃO É “NÃO”",
    ],
)  # fmt: skip
def test_a_text_that_was_read_rightly_is_not_called_misread(text):
    assert not is_misread(text)


def test_emoji_in_halves_are_joined_by_the_command_that_is_named(tmp_path):
    """As Java and Oracle write UTF-8: they were likely to be gb18030, whose characters took their place."""
    text = "caf\N{LATIN SMALL LETTER E WITH ACUTE} \N{GRINNING FACE}\N{FACE WITH TEARS OF JOY} so good"
    wide = text.encode("utf-16-be")
    units = "".join(chr(wide[at] << 8 | wide[at + 1]) for at in range(0, len(wide), 2))
    path = tmp_path / "a.csv"
    path.write_bytes("".join(f"{line},x\n" for line in ("text", units)).encode("utf-8", "surrogatepass"))
    for read in (lambda: list(read_lines(path)), lambda: read_rows(path, DatasetConfig(label="x"))):
        with pytest.raises(
            ValueError, match="line 2 is not UTF-8 .*; its emoji are written in two hal"
        ) as error:
            read()
        script = re.search('python -c "(.*)" < OLD > NEW', str(error.value))[1]
        command = [sys.executable, "-X", "utf8", "-c", script]
        done = subprocess.run(command, input=path.read_bytes(), capture_output=True, check=True)
        assert done.stdout.decode() == f"text,x\n{text},x\n"
    for other in (b"caf\xe9 \xed\xa0\xbd\xed\xb8\x80", text.encode()):
        assert not how_to_join_halves(other)


def test_bytes_that_are_no_text_have_no_likely_encoding():
    assert likely_encoding(bytes(range(128, 256))) is None


def test_utf_8_is_seen_where_another_encoding_is_asked_for(tmp_path):
    path = tmp_path / "a.txt"
    for content, found in (("schön", "utf-8"), ("plain", "cp1252")):
        path.write_text(content, encoding="utf-8")
        assert find_encoding(path, "cp1252") == found
    path.write_bytes("的".encode() + b"\n")  # a few valid bytes are no proof against an encoding of two
    assert find_encoding(path, "gb18030") == "gb18030"
    path.write_bytes(("的" * 9).encode())
    assert find_encoding(path, "gb18030") == "utf-8"
    path.write_bytes("The café was nice.\n".encode() * 5)
    assert find_encoding(path, "shift_jis") == "utf-8"
    path.write_bytes("schön".encode("cp1252"))
    assert find_encoding(path, "windows-1252") == "cp1252"


@pytest.mark.parametrize("distance", [BLOCK - 1, BLOCK, 3 * BLOCK - 1])
@pytest.mark.parametrize("packed", [False, True])
def test_utf_8_is_seen_however_late_it_begins(tmp_path, distance, packed):
    """A piece of the file may end within its first character beyond ASCII."""
    path = tmp_path / ("a.txt.gz" if packed else "a.txt")
    for encoding in ("utf-8", "cp1252"):
        content = b"a" * distance + "ö".encode(encoding) + b"n\n"
        path.write_bytes(gzip.compress(content) if packed else content)
        assert find_encoding(path, "cp1252") == encoding


@pytest.mark.parametrize(
    ("name", "known"), [("utf-8-sig", 1), ("cp1252", 1), ("base64", 0), ("utf8\0", 0), ("x", 0)]
)
def test_names_of_encodings_are_those_of_texts(name, known):
    assert is_text_encoding(name) == bool(known)
