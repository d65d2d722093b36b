import bz2
import errno
import gzip
import json
import lzma
import os
import random
import tracemalloc
from pathlib import Path

import pytest
from backports import zstd
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbert.files import text_file
from tfrecords_tools.corpus import documents
from tfrecords_tools.corpus.corpus_files import input_files
from tfrecords_tools.corpus.documents import TextFormat, Unit, plan_units, read_documents, read_unit_lines
from tfrecords_tools.corpus.problems import Problems

PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd.compress}
SKIP = TextFormat(errors="skip")


def read_all(path, text_format=None, unit_bytes=1 << 20, problems=None):
    """The documents of a file, and what was wrong, unit by unit."""
    found, text_format = [], text_format or TextFormat()
    collectors = []
    for unit in plan_units([path], unit_bytes):
        collectors.append(Problems())
        found += read_documents(unit, text_format, collectors[-1])
    if problems is not None:
        problems.append(Problems.merge(collectors))
    return found


def lines_of(path, unit_bytes):
    """The lines of a file without their documents, and what was wrong, unit by unit."""
    lines, problems = [], []
    for unit in plan_units([path], unit_bytes):
        problems.append(Problems())
        lines += read_unit_lines(unit, SKIP, problems[-1])
    return lines, Problems.merge(problems)


def original_documents(content: bytes) -> list[list[bytes]]:
    """The reading of the original script, with lines that are not UTF-8 left out."""
    found = [[]]
    for number, line in enumerate(content.split(b"\n")):
        try:
            text = line.decode("utf-8-sig" if number == 0 else "utf-8").strip()
        except UnicodeDecodeError:
            continue
        if not text:
            found.append([])
        else:
            found[-1].append(text.encode("utf-8"))
    return [document for document in found if document]


@pytest.mark.parametrize("name", ["wiki_00", "wiki_00.bz2", "texts.txt"])
@pytest.mark.parametrize(
    "lines", ['{"id": "1", "text": "a"}\n', '\ufeff{"text": "a"}\n', '<doc id="1">\na\n</doc>\n']
)
def test_what_wikiextractor_writes_is_no_text(tmp_path, name, lines):
    path, pack = tmp_path / "AA" / name, PACKERS.get(name[7:], bytes)
    path.parent.mkdir()
    path.write_bytes(pack(lines.encode()))
    ending = r"\.jsonl(\.bz2)?\.$"
    with pytest.raises(ValueError, match=f"end the name in {ending}" if "{" in lines else "make blank lines"):
        input_files(tmp_path)
    for text in ("{ a }\n", '{"a": 1} b\n', "<document>\n", '[{"a": 1}]\n'):
        path.write_bytes(pack(text.encode()))
        assert input_files(tmp_path) == [path]


# ------------------------------------------------------------------------------ text


LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [b"", b"", b" ", b"\r", "\u3000".encode(), "\xa0 \u2028".encode(), b"\xe4", b"\xe3\x80"]
        ),
        st.text(alphabet="ab \xe9\u4e2d\ufeff\r", max_size=4).map(str.encode),
        st.just(b"a line that is longer than the pieces that are read"),
    ),
    max_size=12,
)
CONTENTS = st.builds(
    lambda mark, lines, end: mark + b"\n".join(lines) + end,
    st.sampled_from([b"", b"", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"]),
    LINES,
    st.sampled_from([b"", b"\n", b"\n\n", b"\r\n"]),
)


@pytest.mark.long
@pytest.mark.slow
@settings(max_examples=40)
@given(content=CONTENTS)
@example(content=b"a\n\xe4\n\nb")
@example(content=b"\xef\xbb\xbf\xef\xbb\xbfa\n")
@example(content="a\n\u3000\nb".encode())
def test_any_cutting_gives_the_documents_of_the_original(tmp_path_factory, content):
    """Units of every size from one byte to the whole file; their lines without documents are the same."""
    path = tmp_path_factory.getbasetemp() / "cut_anywhere.txt"
    path.write_bytes(content)
    expected, summaries = original_documents(content), set()
    for unit_bytes in {*range(1, 12), max(1, len(content) // 2), len(content) + 1}:
        merged = []
        assert read_all(path, SKIP, unit_bytes, merged) == expected
        lines, problems = lines_of(path, unit_bytes)
        assert lines == [line for document in expected for line in document]
        # What is said of the lines left out does not depend on the cutting either.
        summaries |= {tuple(merged[0].summary()), tuple(problems.summary())}
    assert len(summaries) == 1


@settings(max_examples=40)
@given(
    lines=st.lists(
        st.one_of(
            st.sampled_from([b"", b" ", b"\xe4", b"[1]", b"{}", b'{"text": 1}', b'{"text": ""}']),
            st.text(max_size=5).map(lambda text: json.dumps({"text": text}).encode()),
        ),
        max_size=8,
    ),
)
def test_any_cutting_of_json_lines_gives_the_same_documents(tmp_path_factory, lines):
    path = tmp_path_factory.getbasetemp() / "cut_anywhere.jsonl"
    path.write_bytes(b"\n".join(lines))
    expected = []
    for line in lines:
        if line.startswith(b'{"text": "'):
            parts = [part.strip() for part in json.loads(line)["text"].split("\n")]
            expected.append([part.encode() for part in parts if part])
    expected = [document for document in expected if document]
    num_bad = sum(line in (b"\xe4", b"[1]", b"{}", b'{"text": 1}') for line in lines)
    for unit_bytes in (1, 2, 7, 1000):
        merged = []
        assert read_all(path, SKIP, unit_bytes, merged) == expected
        assert lines_of(path, unit_bytes)[0] == [line for document in expected for line in document]
        assert merged[0].count == num_bad


def test_memory_holds_one_document(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes((b"a line of a document\n" * 50 + b"\n") * 1_000)  # 1 MB
    (unit,) = plan_units([path], 1 << 30)
    tracemalloc.start()
    num_documents = sum(1 for _ in read_documents(unit, TextFormat(), Problems()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert num_documents == 1_000
    assert peak < 500_000


def test_a_corpus_without_blank_lines_is_named_before_memory_runs_out(tmp_path, monkeypatch):
    """Of 20 GB the process was killed before it could say that there is one document."""
    monkeypatch.setattr(documents, "_LONGEST_DOCUMENT", 1 << 20)
    path, line = tmp_path / "a.txt", b"a line of a document" * 100
    for content in (line + b"\n\n", line + b"\n"):
        path.write_bytes(content * 600)
        if content.endswith(b"\n\n"):
            assert len(read_all(path)) == 600
    with pytest.raises(ValueError, match=r"a.txt line 525: no blank line in 1 MiB before it\. .* sed G OLD"):
        read_all(path, SKIP)


# ------------------------------------------------------------------------------ JSON lines, compression


def test_an_object_is_a_document_and_the_lines_of_its_text_are_sentences(tmp_path):
    path = tmp_path / "a.jsonl"
    objects = [{"body": " eins \n\n zwei\u3000", "id": 1}, {"body": ""}, {"id": 2, "body": "drei\r\n"}]
    path.write_text("\ufeff" + "\n\n".join(map(json.dumps, objects)), encoding="utf-8")
    assert read_all(path, TextFormat(text_field="body")) == [[b"eins", b"zwei"], [b"drei"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_a_file_of_wide_characters_is_one_unit(tmp_path, encoding, name):
    path, texts = tmp_path / name, ["schön 的 \U0001f600", "zwei"]
    rows = [json.dumps({"text": text}, ensure_ascii=False) for text in texts]
    path.write_text("\n\n".join(texts if name == "a.txt" else rows) + "\n", encoding=encoding)
    assert len(plan_units([path], 4)) == 1
    assert read_all(path, unit_bytes=4) == [[text.encode()] for text in texts]
    assert lines_of(path, 4)[0] == [text.encode() for text in texts]
    path.write_text("\n".join(texts), encoding=f"{encoding}-le")
    with pytest.raises(ValueError, match=f"line 1 is {encoding.upper()}-LE without a byte order mark"):
        read_all(path)
    lines, problems = lines_of(path, 4)
    assert (lines, problems.count) == ([], 1)


def test_what_is_no_text_or_has_other_lines_is_refused_before_it_is_read(tmp_path):
    for name, content, message in (
        ("corpus.tar.gz", b"", "has a format that kbert does not read"),
        ("corpus.txt", b"PAR1", r"is a table \(parquet\), .*\.txt file, or by pandas\.read_parquet"),
        ("texts.arrow", b"ARROW1", r"or by pandas\.read_feather\(path\)"),
        ("pointer.arrow", b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
        ("saved.arrow", b"\xff\xff\xff\xff", r"or by datasets\.Dataset\.from_file\(path\)\.to_pandas"),
        ("texts.tab", b"text\tlabel\n", r"or by pandas\.read_csv\(path, sep=\"\\t\"\)"),
        ("old.txt", b"one\rtwo\r", "carriage returns, but no line feeds"),
        ("deu_news.txt", b"1\tA dog.\n2\tA cat.\n", "a number and a tab, by its first 2, .*cut -f2-"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message):
            input_files(tmp_path / name)


@pytest.mark.parametrize("suffix", PACKERS)
def test_compression_changes_nothing(tmp_path, suffix):
    content = "\ufeffein B\u00e4r\r\n\r\nzwei\r\n".encode() + b"\nthree" * 300_000
    plain, packed = tmp_path / "a.txt", tmp_path / f"b.txt{suffix}"
    plain.write_bytes(content)
    pack = PACKERS[suffix]
    packed.write_bytes(pack(content[:20]) + pack(content[20:]))  # a file may have several packed parts
    assert plan_units([packed], 10) == [Unit(str(packed), 0, -1)]
    assert read_all(packed) == read_all(plain)


@pytest.mark.parametrize("name", ["a.json.gz", "a.JSONL.gz", "a.jsonl.zst", "a.ndjson", "a.json"])
def test_json_lines_are_known_by_their_names(tmp_path, name):
    content = b'{"text": "one"}\n{"text": "two"}\n'
    path = tmp_path / name
    path.write_bytes(PACKERS.get(path.suffix, bytes)(content))
    assert read_all(path) == [[b"one"], [b"two"]]


# ------------------------------------------------------------------------------ files and units


def test_units_cover_every_byte_once_and_depend_on_sizes_only(tmp_path):
    sizes = {"a.txt": 10, "b.txt": 0, "c.txt": 8, "d.txt": 1}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    units = plan_units(sorted(tmp_path.iterdir()), 4)
    a, c, d = (str(tmp_path / name) for name in ("a.txt", "c.txt", "d.txt"))
    assert units == [(a, 0, 4), (a, 4, 8), (a, 8, 10), (c, 0, 4), (c, 4, 8), (d, 0, 1)]


def test_a_folder_stands_for_all_files_below_it_but_hidden_ones(tmp_path, monkeypatch):
    for name in ("b/c/d.txt", "b/a.jsonl", "z.gz", ".git/x", ".hidden", "b/.DS_Store"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (tmp_path / "z.gz").rename(tmp_path / "y, z.gz")
    assert input_files(f"{tmp_path}/y, z.gz") == [tmp_path / "y, z.gz"], "one file that is there"
    (tmp_path / "y, z.gz").rename(tmp_path / "z.gz")
    found = input_files(f"{tmp_path}/z.gz, {tmp_path}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert input_files("~/z.gz,~/") == found
    assert [str(path.relative_to(tmp_path)) for path in found] == ["b/a.jsonl", "b/c/d.txt", "z.gz"], "once"
    assert input_files(f"{tmp_path}/**") == found, "a glob with ** meets the files of its folders"
    for pattern in ("*", "b*", "**/c*"):
        with pytest.raises(ValueError, match="matches the folder .*, but not the files in it"):
            input_files(f"{tmp_path}/{pattern}")
    assert [path.name for path in input_files(f"{tmp_path}/z*")] == ["z.gz"]
    for more in (f"{tmp_path}/b", f"{tmp_path}/*/*,{tmp_path}/b/c"):
        assert input_files(f"{tmp_path}/*,{more}") == found, "what it matches is given too"


def test_a_file_with_several_names_is_read_once(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    (tmp_path / "b.txt").symlink_to("a.txt")
    (tmp_path / "c.txt").hardlink_to(tmp_path / "a.txt")
    (tmp_path / "d.txt").write_text("x", encoding="utf-8")
    (tmp_path / "e.txt").symlink_to("a.txt")
    monkeypatch.chdir(tmp_path)
    assert [path.name for path in input_files(tmp_path)] == ["a.txt", "d.txt"]
    assert [path.name for path in input_files(["a.txt", tmp_path / "a.txt", "d.txt"])] == ["a.txt", "d.txt"]


def test_links_to_folders_are_read_and_each_folder_once(tmp_path):
    corpus, other = tmp_path / "corpus", tmp_path / "other"
    for name in ("corpus/a.txt", "corpus/b/c.txt", "other/x/d.txt", "other/e.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    (corpus / "linked").symlink_to(other)
    names = ["a.txt", "b/c.txt", "linked/e.txt", "linked/x/d.txt"]
    paths = [corpus / name for name in names]
    assert input_files(corpus) == input_files(f"{corpus}/**/*.txt") == paths
    (other / "x" / "around").symlink_to(corpus)
    (other / "back").symlink_to(other)
    assert input_files(corpus) == paths


def test_what_cannot_be_read_in_a_folder_is_named(tmp_path, monkeypatch):
    (tmp_path / "b" / "c").mkdir(parents=True)
    for name in ("a.txt", "b/c/d.txt"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    inputs = (tmp_path, f"{tmp_path}/**/*.txt", f"{tmp_path}/*/*/*.txt", f"{tmp_path}/**")
    listed = os.scandir

    def refuse_c(path="."):
        if Path(os.fspath(path)).name == "c":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    with monkeypatch.context() as patch:  # root may read every folder
        patch.setattr(os, "scandir", refuse_c)
        for each in inputs:
            with pytest.raises(PermissionError, match="b/c"):
                input_files(each)
    (tmp_path / "b" / "c" / "e.txt").symlink_to("nowhere")
    for each in inputs:
        with pytest.raises(ValueError, match="c/e.txt is a link to nowhere, which is not there; fix"):
            input_files(each)
    (tmp_path / "b" / "gone").symlink_to("nowhere")
    for each in (f"{tmp_path}/b/*/*.txt", f"{tmp_path}/b/*/d.txt"):
        with pytest.raises(ValueError, match="b/gone is a link to nowhere"):
            input_files(each)
    (tmp_path / "b" / "c" / "e.txt").unlink()
    assert len(input_files(f"{tmp_path}/**/*.txt")) == 2  # b/gone is none of these


@pytest.mark.parametrize(
    ("name", "content"),
    [("vocab.txt", "a\n"), ("mine.txt", "[PAD]\r\na\r\n"), ("merges.txt", "#version: 0.2\n")],
)
def test_a_vocabulary_is_no_text(tmp_path, name, content):
    (tmp_path / "records").mkdir()
    for file, text in (("texts.txt", "x"), (f"records/{name}", content)):
        (tmp_path / file).write_text(text, encoding="utf-8", newline="")
    for inputs in (tmp_path, f"{tmp_path}/**/*.txt", tmp_path / "records" / name):
        with pytest.raises(ValueError, match=f"{name} is a tokenizer's file"):
            input_files(inputs)


# ------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("inputs", ["{0},", ["{0}", ""], "{0}, ,{0}"], ids=str)
def test_an_empty_name_among_the_inputs_is_refused(tmp_path, monkeypatch, inputs):
    """A shell variable that is not set would leave out a file; as a path it is the current folder."""
    (tmp_path / "a.txt").write_text("x", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    typed = [one.format("a.txt") for one in inputs] if isinstance(inputs, list) else inputs.format("a.txt")
    with pytest.raises(ValueError, match="input_files=a.txt,.* has an empty name beside a comma"):
        input_files(typed)
    with pytest.raises(ValueError, match="no input files given"):
        input_files([""])


@pytest.mark.parametrize("length", [50, 51, 58, 200])
def test_a_line_longer_than_any_text_is_named_or_skipped(tmp_path, monkeypatch, length):
    """Wherever the units begin, it is neither held in memory nor looked for byte by byte before each unit."""
    for module in (text_file, documents):
        monkeypatch.setattr(module, "LONGEST_LINE", 50)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\n\nthree\n" + length * b"x" + b"\nfour\n\nfive\n")
    document = [b"three", b"four"] if length > 50 else [b"three", 50 * b"x", b"four"]
    for unit_bytes in (3, 10, 64, 1000):
        merged = []
        read = read_all(path, SKIP, unit_bytes, merged)
        assert read == [[b"one", b"two"], document, [b"five"]]
        assert lines_of(path, unit_bytes)[0] == [b"one", b"two", *document, b"five"]
        if length > 50:
            assert merged[0].counts == {"lines left out, too long": 1}
            with pytest.raises(
                ValueError, match=r"a\.txt line 5 is longer than 64 MiB, .* for example with fold"
            ):
                read_all(path, unit_bytes=unit_bytes)


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_file_cut_off_gives_its_lines_up_to_the_cut_or_an_error(tmp_path, suffix):
    rng = random.Random(2)
    lines = [rng.randbytes(20).hex().encode() for _ in range(10_000)]
    content = PACKERS[suffix](b"\n".join(lines))
    path = tmp_path / f"a.txt{suffix}"
    path.write_bytes(content[: len(content) * 3 // 4])
    with pytest.raises(
        ValueError, match=rf"a\.txt\{suffix} line \d+ cannot be unpacked: not a whole \w+ file"
    ):
        read_all(path)
    merged = []
    (document,) = read_all(path, SKIP, problems=merged)
    assert len(document) > 2_000
    assert document == lines[: len(document)]
    assert merged[0].counts == {"ends left out, damaged compressed files": 1}
