"""Lines of text files, whatever their compression."""

import bz2
import gzip
import lzma

import pytest
from backports import zstd

from kbert.files import text_file
from kbert.files.text_file import read_lines

LINES = ["jump the a", "", " two\u2028parts \r", "漢字 ☺"]
CONTENT = "\n".join(LINES).encode()
PACKED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstd.compress,
}


@pytest.mark.parametrize("suffix", PACKED)
def test_lines_of_plain_and_compressed_files(tmp_path, suffix):
    path = tmp_path / f"texts.txt{suffix.upper()}"
    for end in (b"", b"\n"):
        path.write_bytes(PACKED[suffix](b"\xef\xbb\xbf" + CONTENT + end))
        assert list(read_lines(path)) == LINES
    path.write_bytes(PACKED[suffix](b""))
    assert list(read_lines(path)) == []


def test_zstd_with_a_long_window_is_read(tmp_path):
    """As `zstd --long=31` writes dumps of forums: it was called a file that is not whole."""
    path = tmp_path / "texts.jsonl.zst"
    frame, window_of_2_gib, raw_block = b"\x28\xb5\x2f\xfd", b"\x00\xa8", len(CONTENT) << 3 | 1  # RFC 8878
    path.write_bytes(frame + window_of_2_gib + raw_block.to_bytes(3, "little") + CONTENT)
    assert list(read_lines(path)) == LINES


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_a_compressed_file_that_is_not_whole(tmp_path, suffix):
    packed = PACKED[suffix](b"".join(b"line %d of many\n" % n for n in range(1000)))
    for content in (packed[: len(packed) // 2], b"no such thing"):
        path = tmp_path / f"texts{suffix}"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"texts\S+ line \d+ cannot be unpacked: not a whole"):
            list(read_lines(path))


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst"])
def test_a_damaged_stream_behind_a_whole_one_is_named(tmp_path, suffix):
    """Python's own readers of bzip2 and xz end there without an error, as if nothing followed."""
    path = tmp_path / f"texts{suffix}"
    streams = [PACKED[suffix](b"line %d\n" % n) for n in range(3)]
    padding = {".zst": b""}.get(suffix, bytes(8))
    path.write_bytes(padding.join(streams))
    assert list(read_lines(path)) == ["line 0", "line 1", "line 2"]
    begun_wrong = bytes([streams[1][0] ^ 255]) + streams[1][1:]
    for behind in (begun_wrong + streams[2], b"text that nobody packed\n", streams[1][:-1], streams[1][:3]):
        path.write_bytes(streams[0] + behind)
        with pytest.raises(ValueError, match=r"texts\S+ line \d cannot be unpacked: not a whole"):
            list(read_lines(path))


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_line_longer_than_any_text_is_named(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(text_file, "LONGEST_LINE", 12)
    path = tmp_path / f"texts.txt{suffix}"
    path.write_bytes(PACKED[suffix](b"jump the a\n" + 13 * b"x" + b"\n"))
    lines = read_lines(path)
    assert next(lines) == "jump the a"
    with pytest.raises(ValueError, match=r"texts\S+ line 2 is longer than 64 MiB, .*; break the text into"):
        next(lines)


def test_bytes_that_are_not_utf8_are_named_by_line(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_bytes(b"good\nalso good\nask \xff\n")
    lines = read_lines(path)
    assert [next(lines), next(lines)] == ["good", "also good"]
    with pytest.raises(ValueError, match=r"texts\.txt line 3 is not UTF-8 \(byte 0xff\); convert it"):
        next(lines)
