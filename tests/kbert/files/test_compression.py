"""Files that are written compressed."""

import gzip
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
