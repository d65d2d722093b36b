"""Tokens of one's own: how they are read, and which WordPiece can match."""

import re

import pytest

from tfrecords_tools.vocabulary.user_defined_tokens import check_tokens, read_tokens


def test_a_list_is_separated_by_commas_and_a_file_has_one_token_a_line(tmp_path):
    assert read_tokens(" covid19, ##itis ,,[E1]") == ["covid19", "##itis", "[E1]"]
    path = tmp_path / "tokens.txt"
    path.write_text("covid19\n\n ##itis \r\n", encoding="utf-8")
    assert read_tokens(str(path)) == ["covid19", "##itis"]
    assert len(read_tokens(",".join(f"domainword{i}" for i in range(60)))) == 60  # longer than a file's name


def test_tokens_that_come_out_of_the_splitter_whole_pass():
    check_tokens(["covid19", "##itis", "straße", "的", "#", "[E1]", "[a-b]"], do_lower_case=True)
    check_tokens(["COVID", "##Éa"], do_lower_case=False)


@pytest.mark.parametrize(
    ("token", "do_lower_case", "becomes"),
    [
        ("COVID", True, "covid"),
        ("é", True, "e"),
        ("U.S.", False, "U . S ."),
        ("two words", True, "two words"),
        ("##a-b", True, "aa - b"),
        ("的学", True, "的 学"),
        ("[E 1]", True, "[ e 1 ]"),
        ("a\u200bb", True, "ab"),
    ],
)
def test_tokens_that_no_word_can_match_are_refused_with_what_becomes_of_them(token, do_lower_case, becomes):
    words = re.escape(str(becomes.split()))
    with pytest.raises(ValueError, match=f"can never be matched: .* which turns .* into {words}"):
        check_tokens(["fine", token], do_lower_case)


def test_words_too_long_for_wordpiece_are_refused():
    check_tokens(["a" * 200], True)
    with pytest.raises(ValueError, match="has 201 characters"):
        check_tokens(["a" * 201], True)


def test_tokens_of_more_bytes_than_a_vocabulary_holds_are_refused_as_they_are_read():
    assert read_tokens("的" * 85) == ["的" * 85]
    with pytest.raises(ValueError, match="has 258 bytes of UTF-8; expected at most 256"):
        read_tokens("##" + "的" * 86)
