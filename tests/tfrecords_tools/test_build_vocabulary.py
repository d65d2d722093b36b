"""Corpus -> vocab.txt: what is written, new or extended, and how it ends when something is wrong."""

from collections import Counter

import pytest
from absl import flags
from absl.testing import flagsaver

from kbert.checkpoints.hugging_face import hub
from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.checkpoints.vocabulary_source import read_source
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary, read_pieces
from tests.kbert.tokenization import reference_tokenizer
from tests.tfrecords_tools import small_corpus
from tfrecords_tools import build_vocabulary
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.vocabulary.word_counter import WordCounts

TEXT = """The cat sat, and the Café was full.

Zwei Straßen\u3000weiter: 的学 again; the cat sat.
"""


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def script_flags():
    """The script's flags, taken out of absl's global table again for the other scripts' tests."""
    before = set(flags.FLAGS)
    build_vocabulary.define_flags()
    added = set(flags.FLAGS) - before
    yield
    for name in added:
        delattr(flags.FLAGS, name)


@pytest.fixture
def run_main(script_flags):
    """Runs `main` in this process; flags go back to their defaults afterwards."""

    def run(*arguments, num_workers=1):
        flags.FLAGS.unparse_flags()
        with flagsaver.flagsaver():
            workers = [] if num_workers is None else [f"--num_workers={num_workers}"]
            flags.FLAGS(["build_vocabulary", *workers, *map(str, arguments)])
            build_vocabulary.main()

    return run


def test_a_vocabulary_is_written_and_summed_up(corpus, tmp_path, run_main, capsys):
    output_file = tmp_path / "new" / "vocab.txt"
    (tmp_path / "cp1252.txt").write_text("café", encoding="cp1252")
    with pytest.raises(ValueError, match="is not UTF-8"):
        run_main(f"--input_files={tmp_path / 'cp1252.txt'}", f"--output_file={output_file}")
    assert not output_file.parent.exists()
    run_main(
        f"--input_files={corpus}",
        f"--output_file={output_file}",
        "--vocab_size=60",
        "--num_unused_tokens=2",
        "--noascii_alphabet",
    )
    vocabulary = Vocabulary.from_file(output_file, do_lower_case=True)
    assert len(vocabulary) == len(set(vocabulary.tokens)) <= 60
    assert vocabulary.tokens[:3] == ("[PAD]", "[unused0]", "[unused1]")
    assert {"the", "cat", "sat"} <= set(vocabulary.tokens)
    assert [path.name for path in output_file.parent.iterdir()] == ["vocab.txt"]

    printed = capsys.readouterr().out
    num_words = len(reference_tokenizer.split_words(TEXT, True))
    assert f"words: {num_words}, different: " in printed
    assert "unknown tokens: 0.0000%" in printed


def test_the_part_of_the_text_that_is_too_long_is_said_with_what_to_do():
    for number, said in ((200, "2, 50.0% of the text. Put blanks between the words"), (99_999, "2, 0.2% of")):
        words = WordCounts(Counter({"ab": number}), 2, 400, 0, "", Problems())
        (line,) = build_vocabulary.warnings(Vocabulary([*BERT_TOKENS, "ab"], True), words, [])
        assert said in line and ("Put blanks" in line) == (number == 200)


def test_every_ascii_character_has_a_piece(corpus, tmp_path, run_main):
    run_main(f"--input_files={corpus}", f"--output_file={tmp_path / 'v.txt'}", "--nodo_lower_case")
    tokens = Vocabulary.from_file(tmp_path / "v.txt", do_lower_case=False).tokens
    for code in range(0x21, 0x7F):
        assert chr(code) in tokens
        assert (f"##{chr(code)}" in tokens) == chr(code).isalnum()


def test_an_existing_file_is_replaced_only_when_asked_for(corpus, tmp_path, run_main):
    output_file = tmp_path / "vocab.txt"
    output_file.write_text("precious")
    arguments = (f"--input_files={corpus}", f"--output_file={output_file}", "--vocab_size=300")
    with pytest.raises(FileExistsError, match=r"vocab\.txt exists; choose another"):
        run_main(*arguments)
    assert output_file.read_text() == "precious"
    run_main(*arguments, "--overwrite")
    assert len(Vocabulary.from_file(output_file, True)) > 200


@pytest.mark.parametrize(("tokenizer", "kind"), [("bpe", "bpe"), ("unigram", "sentencepiece")])
def test_other_tokenizers_are_a_folder_that_other_commands_read(
    corpus, tmp_path, run_main, capsys, tokenizer, kind
):
    folder = tmp_path / "new" / "tokenizer"
    folder.mkdir(parents=True)  # an empty one is free
    arguments = [f"--input_files={corpus}", f"--tokenizer={tokenizer}", f"--output_dir={folder}"]
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file exists"):
        run_main(*arguments[:2], f"--output_dir={tmp_path}/file", num_workers=None)
    run_main(*arguments, "--vocab_size=270", num_workers=None)
    vocabulary = read_source(None, folder)
    assert vocabulary.kind == kind and 20 < len(vocabulary) <= 270
    printed = capsys.readouterr().out
    assert printed.startswith(f"{folder}: {len(vocabulary)} tokens, ")
    with pytest.raises(ValueError, match="tokenizer exists and is not empty; .* replace a tokenizer there"):
        run_main(*arguments, num_workers=None)
    run_main(*arguments, "--overwrite", "--vocab_size=262", num_workers=None)
    (folder / "model.safetensors").write_text("precious")
    with pytest.raises(ValueError, match=r"what is not a tokenizer, such as \['model\.safetensors'\]"):
        run_main(*arguments, "--overwrite", num_workers=None)
    assert (folder / "model.safetensors").read_text() == "precious"
    with pytest.raises(ValueError, match="is a tokenizer.s file|lies in the input folder"):
        run_main(f"--input_files={tmp_path}", *arguments[1:2], f"--output_dir={tmp_path}/x", num_workers=None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--tokenizer=bpe", "--output_file=v.txt"],
            "--output_file has no meaning with --tokenizer=bpe; give --output_dir",
        ),
        (["--tokenizer=bpe", "--output_dir=o", "--nodo_lower_case"], "--do_lower_case has no meaning with"),
        (
            ["--tokenizer=unigram", "--output_dir=o", "--min_frequency=3"],
            "--min_frequency has no meaning with",
        ),
        (["--tokenizer=unigram", "--output_dir=o", "--merge_into=v.txt"], "--merge_into has no meaning with"),
        (["--tokenizer=bpe"], "--output_dir is missing; it says where to write"),
        (["--output_dir=o"], "--output_dir has no meaning with --tokenizer=wordpiece; leave it out"),
        ([], "--output_file is missing; it says where to write"),
        (["--tokenizer=bpe", "--output_dir=o", "--vocab_size=100"], "is too small for byte-level BPE"),
    ],
)
def test_flags_of_other_tokenizers_are_refused_by_name(
    corpus, tmp_path, run_main, monkeypatch, arguments, sentence
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=sentence):
        run_main(f"--input_files={corpus}", *arguments, num_workers=None)
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.txt"]


def test_user_defined_tokens_are_put_in_and_markers_told(corpus, tmp_path, run_main, capsys):
    arguments = (f"--input_files={corpus}", f"--output_file={tmp_path / 'v.txt'}", "--vocab_size=300")
    run_main(*arguments, "--user_defined_tokens=covid19,[E1]")
    vocabulary = Vocabulary.from_file(tmp_path / "v.txt", True)
    assert vocabulary.tokens[104:106] == ("covid19", "[E1]")
    assert "markers, never found in text; only programs insert their ids: [E1]" in capsys.readouterr().out


# ------------------------------------------------------------------------------ extending a vocabulary

NEW_TEXT = "the playground talks of playing and talking\n" * 5 + "the playgrounds played, walker\n" * 3


@pytest.fixture
def old_file(tmp_path):
    tokens = ["[PAD]", *(f"[unused{i}]" for i in range(10)), *small_corpus.TOKENS[1:]]
    letters = "abcdefghiklmnoprstuwy,"
    tokens += [token for token in [*letters, *(f"##{c}" for c in letters)] if token not in tokens]
    Vocabulary(tokens, True).write(tmp_path / "old.txt")
    (tmp_path / "new_corpus.txt").write_text(NEW_TEXT, encoding="utf-8")
    return tmp_path / "old.txt"


def merge(run_main, old_file, *arguments):
    folder = old_file.parent
    run_main(
        f"--input_files={folder / 'new_corpus.txt'}",
        f"--output_file={folder / 'merged.txt'}",
        f"--merge_into={old_file}",
        *arguments,
    )
    return [Vocabulary.from_file(path, True).tokens for path in (old_file, folder / "merged.txt")]


def test_unused_tokens_make_room_and_no_id_moves(run_main, old_file, capsys):
    old, new = merge(run_main, old_file)
    assert len(old) == len(new)
    changed = {index for index in range(len(old)) if old[index] != new[index]}
    assert changed == set(range(1, 11))
    assert {"playground", "of"} <= {new[index] for index in changed}
    printed = capsys.readouterr().out
    assert "10 new tokens replace [unused] tokens; 0 [unused] tokens are left." in printed
    assert "before" in printed and "unknown tokens: 0.0000% before, 0.0000% now" in printed


@pytest.mark.parametrize("by_name", [True, False])
def test_new_tokens_are_of_the_rules_of_the_models_folder(run_main, old_file, monkeypatch, by_name):
    folder = old_file.parent
    base = Vocabulary.from_file(old_file, True, strip_accents=False)
    (folder / "model").mkdir()
    write_tokenizer(folder / "model", base.with_tokens([*base.tokens, "ö", "##ö"]))
    (folder / "corpus.txt").write_text("Größe\n" * 5)
    monkeypatch.setattr(hub, "find_model", {"org/model": folder / "model"}.get)
    run_main(
        f"--input_files={folder / 'corpus.txt'}",
        f"--output_file={folder / 'merged.txt'}",
        f"--merge_into={'org/model' if by_name else folder / 'model'}",
        "--user_defined_tokens=öl",
    )
    assert {"öl", "größe"} <= set(read_pieces(folder / "merged.txt"))


def test_appended_pieces_stand_at_the_end_and_the_table_has_to_grow(run_main, old_file, capsys):
    old, new = merge(run_main, old_file, "--merge_slots=append", "--vocab_size=80")
    assert new[: len(old)] == old and len(new) == 80
    printed = capsys.readouterr().out
    assert f"{80 - len(old)} new tokens follow at the end." in printed
    assert f"a model of {len(old)} tokens has to be resized" in printed
