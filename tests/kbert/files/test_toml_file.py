"""TOML from outside: values, and one sentence with the line for whatever is wrong."""

import pytest

from kbert.files.toml_file import parse_toml


def test_bytes_may_begin_with_a_byte_order_mark_and_have_carriage_returns():
    assert parse_toml(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n", "text") == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "seed = 1\nseed 2",
            "Expected '=' after a key in a key/value pair (at line 2, column 6); a key",
        ),
        ("seed = 1\nseed = ", "text is not valid TOML: Invalid value (at line 2, the end of the document)."),
        ("[a]\nb = 1\n[a]\n", "text is not valid TOML: Cannot declare ('a',) twice (at line 3, column 3)."),
        ("a = 'x\ny'", "at line 1"),
        ("[a]\nvery good = 1", "column 6); a key of other characters than A-Z a-z 0-9 _ - stands in quotes:"),
        ("né = 1", "; a key of other characters"),
        ("a = 1\n".encode("utf-16"), "text is UTF-16, and TOML is UTF-8; save it as UTF-8."),
        (b"\xef\xbb\xbfa = 1\nb = '\xff'\n", "byte 0xff is not UTF-8 (at line 2)."),
        (b"a = 1\nb = '\xff'\n", "text is not valid TOML: byte 0xff is not UTF-8 (at line 2)."),
        ("a = " + "1" * 5000, "text is not valid TOML: "),
        ("a = " + "[" * 100_000 + "]" * 100_000, "text is nested too deeply to be read."),
        ("a = " + "{a=" * 100_000 + "1" + "}" * 100_000, "text is nested too deeply to be read."),
    ],
    ids=lambda value: None,
)
def test_what_is_wrong_is_one_sentence_with_its_line(text, sentence):
    with pytest.raises(ValueError) as error:
        parse_toml(text, "text")
    assert sentence in str(error.value)
    assert str(error.value).isprintable() and len(str(error.value)) < 250
