"""Marks of other programs in a corpus are said before the work, and texts on them are not doubted."""

import textwrap

import pytest

from kbert.cli.warn_once import warn_once
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.corpus.documents import TextFormat
from tfrecords_tools.corpus.written_marks import say_written_marks

WORDS = "the game was played on a field near the town , and it ended late in the evening .\n"


@pytest.mark.parametrize(
    ("line", "mark"),
    [
        ("the <unk> game @-@ ended with <unk>\n", "<unk>"),
        ("a game</s>\n", "</s>"),
        ("a game .<|endoftext|>\n", "<|endoftext|>"),
        ("question [SEP] answer\n", "[SEP]"),
        ("<SPEAKER ID=1>\n", "lines of marks such as <SPEAKER ID=1>"),
        ("it &apos;s a game\n", "characters of HTML such as &apos;"),
        ("a game.\\nThe end\n", "line ends written as \\n"),
    ],
)
def test_marks_in_one_line_of_a_hundred_are_said(tmp_path, caplog, line, mark):
    files = [tmp_path / name for name in ("a.txt", "b.txt")]
    files[0].write_text("")
    files[1].write_text((WORDS * 99 + line) * 40)
    say_written_marks(files, TextFormat())
    (record,) = caplog.records
    times = 80 if mark == "<unk>" else 40
    assert f"bytes of the corpus hold {mark} {times} times" in record.getMessage()


@pytest.mark.parametrize("num_lines", [20, 2000])
def test_a_text_that_names_a_mark_is_not_doubted(tmp_path, caplog, num_lines):
    file = tmp_path / "corpus.txt"
    file.write_text(WORDS * num_lines + "BERT puts [SEP] between two texts, where RoBERTa has </s> twice.\n")
    say_written_marks([file], TextFormat())
    assert not caplog.text


STORY = "The cat went home, and the dog never came back to the place where it had been. It was late again."
WRAPPED = "\n\n".join(textwrap.fill(f"{STORY} {STORY}", 60 + n % 3) for n in range(40))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (WRAPPED, "lines are broken at about 6"),
        ("\n".join([STORY] * 99), ""),
        (
            "\n".join(STORY[4 : n % 70 + 6] for n in range(999)),
            "",
        ),  # messages
        ("\n".join([STORY] * 99 + ["a cafÃ©"] * 3), "as if UTF-8 had been read as another encoding"),
        ("\n".join([STORY] * 99 + ["a caf\ufffd"] * 3), "hold U+FFFD"),
        ("ฉัน" * 70, "1 words of more than 200 characters are [UNK]"),
    ],
)
def test_what_labelled_files_are_warned_of_and_broken_lines(tmp_path, caplog, text, words):
    """Novels of Project Gutenberg are broken at 70 characters: each line was a sentence without a word."""
    warn_once.cache_clear()
    (tmp_path / "corpus.txt").write_text(text)
    say_written_marks([tmp_path / "corpus.txt"], TextFormat(), Vocabulary([*BERT_TOKENS, "a"], False))
    assert words in caplog.text and len(caplog.records) == bool(words)
