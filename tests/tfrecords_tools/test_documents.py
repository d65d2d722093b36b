import gzip

import pytest

from tfrecords_tools.documents import input_files, read_documents, read_lines


def test_blank_lines_part_documents_however_many_there_are(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("\n\none\n two \n\n \t\n\nthree\n\n", encoding="utf-8")
    assert list(read_documents([path])) == [["one", "two"], ["three"]]


def test_a_new_file_begins_a_new_document(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"{name} without an end", encoding="utf-8")
    files = input_files([tmp_path / "*.txt"])
    assert list(read_documents(files)) == [["a.txt without an end"], ["b.txt without an end"]]


def test_gzip_windows_line_ends_and_byte_order_mark_change_nothing(tmp_path):
    plain, zipped = tmp_path / "a.txt", tmp_path / "b.txt.gz"
    plain.write_bytes("\ufeffein Bär\r\n\r\nzwei\r\n".encode())
    zipped.write_bytes(gzip.compress("ein Bär\n\nzwei".encode()))
    assert list(read_documents([plain])) == list(read_documents([zipped])) == [["ein Bär"], ["zwei"]]


def test_only_line_feeds_end_a_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\u2028still one\x0bstill one\n", encoding="utf-8")
    assert list(read_lines(path)) == ["one\u2028still one\x0bstill one"]


def test_files_come_sorted_and_once(tmp_path):
    for name in ("c.txt", "a.txt", "b.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = input_files(f"{tmp_path}/*.txt, {tmp_path}/a.txt")
    assert [path.name for path in found] == ["a.txt", "b.txt", "c.txt"]


def test_an_existing_path_is_no_glob(tmp_path):
    path = tmp_path / "part[1].txt"
    path.write_text("x", encoding="utf-8")
    assert input_files(path) == input_files([path]) == input_files(str(path)) == [path]


def test_missing_and_empty_inputs_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"no input files given; pass --input_files="):
        input_files(" , ")
    with pytest.raises(ValueError, match=r"nothing\*\.txt' matches no file; give text files or a glob"):
        input_files(str(tmp_path / "nothing*.txt"))
    with pytest.raises(ValueError, match="is a directory; give text files or a glob"):
        input_files(str(tmp_path))
    (tmp_path / "empty.txt").touch()
    with pytest.raises(ValueError, match=r"all input files are empty: .*empty\.txt"):
        input_files(str(tmp_path / "empty.txt"))


def test_bytes_that_are_no_utf8_are_named_with_their_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("good\nB\u00e4r\n".encode("windows-1252"))
    with pytest.raises(ValueError, match=r"a\.txt line 2 is not UTF-8 \(byte 0xe4\); convert it"):
        list(read_lines(path))


@pytest.mark.parametrize("content", [gzip.compress(b"one\n" * 1000)[:-20], b"no gzip at all"])
def test_a_broken_gzip_file_is_named(tmp_path, content):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.txt\.gz is not a whole gzip file"):
        list(read_lines(path))


def test_a_gzip_file_broken_in_its_middle_is_named(tmp_path):
    path = tmp_path / "a.txt.gz"
    content = bytearray(gzip.compress(bytes(range(32, 127)) * 50))
    content[20:40] = b"\xff" * 20
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.txt\.gz is not a whole gzip file"):
        list(read_lines(path))
