"""vocab.txt <-> ids, and the sentences for files that are none."""

import pytest

from kbert.input_pipelines.label_names import require_label_names
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.vocabulary_files import read_vocabulary


def write_lines(path, lines, newline="\n"):
    path.write_bytes((newline.join(lines) + newline).encode("utf-8"))
    return path


@pytest.mark.parametrize("newline", ["\n", "\r\n", " \n"])
def test_lines_are_stripped(tmp_path, newline):
    path = write_lines(tmp_path / "vocab.txt", [*BERT_TOKENS, "é"], newline)
    assert Vocabulary.from_file(path, True).tokens == (*BERT_TOKENS, "é")


def test_written_and_read_back_equal(tmp_path):
    vocabulary = Vocabulary([*BERT_TOKENS, "的", "##é", "😀"], do_lower_case=False)
    vocabulary.write(tmp_path / "vocab.txt")
    again = Vocabulary.from_file(tmp_path / "vocab.txt", do_lower_case=False)
    assert again.tokens == vocabulary.tokens
    assert again.fingerprint == vocabulary.fingerprint
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]  # nothing is left aside


def test_the_fingerprint_tells_tokens_order_and_casing_apart():
    fingerprints = {
        Vocabulary(tokens, do_lower_case).fingerprint
        for tokens in ([*BERT_TOKENS, "a", "b"], [*BERT_TOKENS, "b", "a"], [*BERT_TOKENS, "a"])
        for do_lower_case in (True, False)
    }
    assert len(fingerprints) == 6


def test_a_byte_order_mark_is_no_part_of_the_first_token(tmp_path):
    plain = Vocabulary.from_file(write_lines(tmp_path / "plain.txt", [*BERT_TOKENS, "a"]), True)
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "plain.txt").read_bytes())
    marked = Vocabulary.from_file(tmp_path / "marked.txt", True)
    assert (marked.tokens, marked.fingerprint) == (plain.tokens, plain.fingerprint)
    # Elsewhere it is a character as any other, which multilingual vocabularies have.
    path = write_lines(tmp_path / "inside.txt", [*BERT_TOKENS, "\ufeff", "\ufeffa"])
    assert Vocabulary.from_file(path, True).tokens[5:] == ("\ufeff", "\ufeffa")


SPECIAL_LINES = "\n".join(BERT_TOKENS).encode() + b"\n"


@pytest.mark.parametrize(
    ("content", "facts"),
    [
        (None, ["does not exist"]),
        (b"", ["is empty"]),
        (SPECIAL_LINES + b"caf\xe9\n", ["is not UTF-8", "byte 34"]),
        (SPECIAL_LINES + b"a\nth\0e\n", ["line 7", r"'th\x00e'"]),
        (b"[UNK]\n[CLS]\n[SEP]\na\n", ["[PAD], [MASK]"]),
        (b"[PAD]\n\n[UNK]\n", ["line 2 is empty", "Delete the line"]),
        (SPECIAL_LINES + b" \t\n", ["line 6 is empty"]),
        (SPECIAL_LINES + b"\n\n", ["line 6 is empty"]),
        (b"\n", ["is empty"]),
        (SPECIAL_LINES + 6 * "\u2581a\t-3.2\n".encode(), ["has tabs inside", "SentencePiece's .vocab"]),
        ("folder", ["is a folder; give the vocab.txt in it"]),
    ],
    ids=[
        *("missing", "empty", "Latin-1", "NUL", "no [PAD]", "empty line", "a line of space"),
        *("two empty lines at the end", "an empty line alone", "scores", "a folder"),
    ],
)
def test_what_is_no_vocabulary_is_refused_by_file_and_line(tmp_path, content, facts):
    path = tmp_path / "vocab.txt"
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        Vocabulary.from_file(path, True)
    assert str(path) in str(error.value) and all(fact in str(error.value) for fact in facts)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_one_empty_line_at_the_end_is_no_token(tmp_path, end):
    (tmp_path / "vocab.txt").write_bytes(SPECIAL_LINES + b"a" + end + end)
    assert Vocabulary.from_file(tmp_path / "vocab.txt", True).tokens == (*BERT_TOKENS, "a")


def test_of_a_token_on_several_lines_the_last_counts(tmp_path, caplog):
    """`load_vocab` of the original: vocab[token] = index, line by line."""
    lines = [*BERT_TOKENS, "a", "b", "a", "##b", "a", "b"]
    path = write_lines(tmp_path / "vocab.txt", lines)
    vocabulary = Vocabulary.from_file(path, True)
    assert len(vocabulary) == len(lines)
    originals = {token: index for index, token in enumerate(lines)}
    assert {token: vocabulary.ids[token] for token in originals} == originals
    assert "'a' on line 6, which stands on line 10 again" in caplog.text and str(path) in caplog.text
    vocabulary.write(tmp_path / "again.txt")
    assert Vocabulary.from_file(tmp_path / "again.txt", True).tokens == vocabulary.tokens
    with pytest.raises(ValueError, match="'a' stands on line 6 and again on line 10; each token must be"):
        Vocabulary(lines, True)


RULES = (
    {"strip_accents": False},
    {"tokenize_chinese_chars": False},
    {"strip_accents": False, "tokenize_chinese_chars": False, "max_input_chars_per_word": 100},
)


def test_rules_travel_with_the_tokens(tmp_path):
    google = Vocabulary([*BERT_TOKENS, "a"], True)
    assert not google.rules.not_googles and google.describe().keys() == {
        *("kind", "size", "do_lower_case", "special_tokens", "fingerprint")
    }
    fingerprints = {google.fingerprint}
    for number, rules in enumerate(RULES):
        vocabulary = google.with_rules(**rules)
        folder = tmp_path / str(number)
        folder.mkdir()
        vocabulary.write_files(folder)
        assert {name: vocabulary.describe()[name] for name in rules} == rules
        assert read_vocabulary(folder, vocabulary.describe()).rules == vocabulary.rules
        assert vocabulary.with_tokens([*BERT_TOKENS, "b"]).rules == vocabulary.rules
        fingerprints.add(vocabulary.fingerprint)
    assert len(fingerprints) == 1 + len(RULES)
    # Records may be made with a model's vocab.txt alone: the limit is no part of the fingerprint.
    limited = google.with_rules(max_input_chars_per_word=100)
    assert limited.fingerprint == google.fingerprint and limited.describe()["max_input_chars_per_word"] == 100
    assert google.with_rules(strip_accents=True).rules == google.rules  # as lower-casing has it


@pytest.mark.parametrize("token", ["a\nb", "\ud800"])
def test_pieces_that_no_file_can_hold_are_refused(token):
    with pytest.raises(ValueError, match="line 6") as error:
        Vocabulary([*BERT_TOKENS, token], True)
    assert str(error.value).isprintable()


def test_a_token_that_stripping_leaves_nothing_of_keeps_its_place(tmp_path):
    # The published Chinese vocabulary has one; the original reads "" there.
    path = write_lines(tmp_path / "vocab.txt", [*BERT_TOKENS, "\u2028", "a"])
    vocabulary = Vocabulary.from_file(path, True)
    assert vocabulary.tokens[5:] == ("", "a")
    vocabulary.write(tmp_path / "again.txt")
    assert (tmp_path / "again.txt").read_bytes() == path.read_bytes()


def test_pieces_may_have_256_bytes_besides_the_marks_of_a_continuation():
    Vocabulary([*BERT_TOKENS, "é" * 128, "##" + "é" * 128], True)
    for long in ("é" * 128 + "a", "##" + "a" * 257):
        with pytest.raises(ValueError, match="on line 6, .* has 257 bytes; expected at most 256"):
            Vocabulary([*BERT_TOKENS, long], True)


@pytest.mark.parametrize("collection", [set, dict.fromkeys])
def test_what_has_no_order_is_refused(collection):
    """transformers' `get_vocab()` is a dict in any order: each token had another's id."""
    with pytest.raises(ValueError, match="tokens are a .*whose order says nothing"):
        Vocabulary(collection([*BERT_TOKENS, "walk"]), True)
    with pytest.raises(ValueError, match="labels are a .*whose order says nothing"):
        require_label_names(collection(["neg", "pos"]))
