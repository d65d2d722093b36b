"""Files that are written compressed, and places in what they hold."""

import bz2
import gzip
import io
import lzma
import random
import warnings

import pytest

from kbert.files.compression import find_opener


@pytest.mark.parametrize("mode", ["wt", "wb"])
def test_a_gzip_file_has_neither_name_nor_time_in_it(tmp_path, mode):
    content, settings = ("é\n", {"encoding": "utf-8"}) if mode == "wt" else ("é\n".encode(), {})
    paths = tmp_path / "a.csv.gz", tmp_path / "a.csv.gz.123.tmp"
    with warnings.catch_warnings(action="error"):  # of a file that is not closed
        for path in paths:
            with find_opener("a.csv.gz")(path, mode, **settings) as file:
                file.write(content)
    written = paths[0].read_bytes()
    assert written == paths[1].read_bytes() and written[3:8] == bytes(5)  # RFC 1952: FLG, MTIME
    assert gzip.decompress(written).decode() == "é\n"


@pytest.mark.parametrize("suffix, pack", [(".bz2", bz2.compress), (".xz", lzma.compress)])
def test_bytes_of_several_streams_are_read_from_any_place(tmp_path, suffix, pack):
    chance, path = random.Random(1), tmp_path / f"file{suffix}"
    parts = [chance.randbytes(size) for size in (0, 1, 20_000, 9, 70_000)]
    path.write_bytes(b"".join(map(pack, parts)))
    whole = io.BytesIO(b"".join(parts))
    with find_opener(path)(path) as file:
        for _ in range(50):
            place, size = chance.randrange(90_010), chance.choice([1, 7, 30_000])
            assert (file.seek(place), file.read(size)) == (whole.seek(place), whole.read(size))
        assert file.read() == whole.read() and file.read(1) == b""
