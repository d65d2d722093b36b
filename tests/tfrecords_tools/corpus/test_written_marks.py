"""Marks of other programs in a corpus are said before the work, and texts on them are not doubted."""

import pytest

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
