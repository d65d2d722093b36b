"""CoNLL columns and JSON lines -> sentences, and what is wrong with a file, by its line."""

import itertools
import json
import logging
import lzma
import pickle
import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.labelled_files import examples_fingerprint
from kbert.input_pipelines.repeated_rows import repetitions, shared_rows
from kbert.input_pipelines.unlabelled_files import examples_of_file, with_checked_texts
from kbert.input_pipelines.unlabelled_lines import examples_from_lines
from kbert.tasks.token_classification.tagged_sentences import (
    TaggedFiles,
    labels_of_tags,
    read_tagged_sentences,
)
from kbert.tasks.token_classification.token_classification import TokenClassification
from tests.places import SHARED_DATA

CONLL = SHARED_DATA / "conll2003"

IOB1_FILE = """-DOCSTART- -X- O O

EU NNP I-NP I-ORG
rejects VBZ I-VP O
German JJ I-NP I-MISC
lamb NN I-NP B-MISC

Peter NNP I-NP I-PER

-DOCSTART- -X- O O

Brussels NNP I-NP I-LOC
"""


def test_sentences_of_a_file_are_those_of_its_copy(tmp_path):
    """So that an evaluation on what is trained on is said."""
    train, copy = (read(write(tmp_path, IOB1_FILE, name)) for name in ("a.conll", "b.conll"))
    assert train == copy and {*train} == {*copy} and len({*train}) == len(train) == 3
    other = read(write(tmp_path, IOB1_FILE.replace("Brussels", "Bonn")))
    assert shared_rows(train, copy) and [one in train for one in other] == [True, True, False]


def test_a_sentence_repeats_one_of_another_document(tmp_path):
    sentence, other = "EU B-ORG\nrejects O\n\n", "-DOCSTART- O\n\nPeter B-PER\n\n"
    examples = read(write(tmp_path, sentence + other + sentence + other + sentence.replace("B-ORG", "O")))
    contents = [*map(TaggedFiles().content, examples)]
    repeated, contradicting = repetitions(contents)
    assert repeated == "2 of 5 rows repeat an earlier one"
    assert "as 'EU rejects' has ['B-ORG', 'O'] and ['O', 'O']; if" in contradicting
    assert shared_rows(contents[:1], contents[2:3])


def write(tmp_path, content, name="file.conll"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def read(path, **dataset):
    return list(read_tagged_sentences(path, DatasetConfig(**dataset)))


def rows(sentences):
    return [(sentence.words, sentence.labels) for sentence in sentences]


def test_conll_columns_documents_and_iob1(tmp_path):
    sentences = read(write(tmp_path, IOB1_FILE))
    assert rows(sentences) == [
        (("EU", "rejects", "German", "lamb"), ("B-ORG", "O", "B-MISC", "B-MISC")),
        (("Peter",), ("B-PER",)),
        (("Brussels",), ("B-LOC",)),
    ]
    first, second, third = sentences
    assert first.document is second.document is not third.document
    assert first.document.sentences == [first.words, second.words] and (first.position, second.position) == (
        0,
        1,
    )
    assert third.document.sentences == [third.words] and third.position == 0


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("EU\tB-ORG\nsaid so\tO\n\nPeter\tB-PER", "tabs.tsv"),  # a word with a space, no line end
        ("EU\tB-ORG\n \tO\n\nPeter\tB-PER\n", "blank.tsv"),  # a word that is a blank, as in KLUE
        ("EU  B-ORG\r\nsaid\u00a0so O\r\n\r\n \r\nPeter B-PER\r\n", "spaces.txt"),
    ],
)
def test_separators_and_line_ends(tmp_path, content, name):
    sentences = read(write(tmp_path, content, name))
    assert [len(sentence.words) for sentence in sentences] == [2, 1]
    assert sentences[0].words[1] in ("said so", "said\u00a0so", " ")
    assert sentences[0].document is not sentences[1].document  # without -DOCSTART- each is its own


def test_a_tag_with_a_fraction_of_nought_is_the_number_of_a_class(tmp_path):
    """As pandas writes integers where one is missing."""
    path = write(tmp_path, "EU 1.0\nsaid 0.0\nso 1\n")
    (sentence,) = read(path, labels=("0", "1"), tag_scheme="none")
    assert sentence.labels == ("1", "0", "1")


def test_all_wrong_words_are_in_one_message(tmp_path):
    path = tmp_path / "a.conll"
    path.write_bytes(b"Frau\tO\nM\xfcller\tB-PER\nsah\n\nAnn\t\n")
    with pytest.raises(ValueError) as error:
        read(path, tag_scheme="iob2")
    first, *others = str(error.value).split("\n")
    assert first.endswith("a.conll cannot be used as it is:")
    beginnings = ("line 2 is not UTF-8", "line 3: 1 columns between tabs", "line 5 has an empty tag")
    assert all(line.strip().startswith(begin) for line, begin in zip(others, beginnings, strict=True))


def test_json_lines_of_words_of_spans_and_of_documents(tmp_path):
    lines = [
        {"text": ["EU", "rejects"], "label": ["S-ORG", "O"], "doc": "a"},
        {"text": "Peter Blackburn's U.S. aid", "doc": "a",
         "label": [{"start": 18, "end": 22, "type": "LOC"}, [0, 15, "PER"]]},
        {"text": "Ünïcödé 😀 Brüssel", "label": [{"start": 10, "end": 17, "label": "LOC"}], "doc": "b"},
    ]  # fmt: skip
    text = "".join(json.dumps(line) + "\n" for line in lines)
    path = write(tmp_path, text, "file.jsonl")
    (tmp_path / "file.JSONL.xz").write_bytes(lzma.compress(text.encode()))
    assert rows(read(tmp_path / "file.JSONL.xz", tag_scheme="bioes")) == rows(read(path, tag_scheme="bioes"))
    sentences = read(path, document="doc", tag_scheme="bioes")
    assert rows(sentences) == [
        (("EU", "rejects"), ("B-ORG", "O")),
        (("Peter", "Blackburn", "'s", "U.S.", "aid"), ("B-PER", "I-PER", "O", "B-LOC", "O")),
        (("Ünïcödé", "😀", "Brüssel"), ("O", "O", "B-LOC")),
    ]
    assert sentences[0].document is sentences[1].document is not sentences[2].document
    assert len({id(sentence.document) for sentence in read(path, tag_scheme="bioes")}) == 3


def test_examples_travel_and_tell_their_content(tmp_path):
    sentences = read(write(tmp_path, IOB1_FILE))
    again = pickle.loads(pickle.dumps(sentences))
    assert rows(again) == rows(sentences) and again[0].document is again[1].document
    assert examples_fingerprint(again) == examples_fingerprint(sentences)
    joined = IOB1_FILE.replace("\n-DOCSTART- -X- O O\n", "")
    for changed in (IOB1_FILE.replace("Peter", "Paul"), joined):
        assert changed != IOB1_FILE
        other = read(write(tmp_path, changed))
        assert examples_fingerprint(other) != examples_fingerprint(sentences)


@pytest.mark.parametrize("end", ["\n\n", "\n\n-DOCSTART- O\n\n"])
def test_what_is_held_out_does_not_depend_on_the_order_of_documents(tmp_path, end):
    parts = [f"w{n} O\n\nx{n} O\ny O" if "DOC" in end else f"w{n} O\ny O" for n in range(12)]
    digests = set()
    for order in (parts, parts[::-1], parts[5:] + parts[:5]):
        path = write(tmp_path, "-DOCSTART- O\n\n" * ("DOC" in end) + end.join(order) + "\n")
        digests.add(LabelledFile(path, TaggedFiles(), DatasetConfig()).split(0.25, 0)[1].digest)
    assert len(digests) == 1


def test_labels_of_a_training_file_are_o_and_both_tags_of_each_type(tmp_path):
    path = write(tmp_path, "Peter B-PER\nof O\nBonn B-LOC\n")
    dataset = TokenClassification.files.complete_dataset(DatasetConfig(), read(path))
    assert dataset.labels == ("O", "B-LOC", "B-PER", "I-LOC", "I-PER")
    assert TokenClassification.files.complete_dataset(dataset, []) is dataset


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("EU B-ORG\nsaid\n", "line 2: 1 columns between spaces where 2 were expected"),
        ("EU\tB-ORG\nsaid\t\n", "line 2 has an empty tag"),
        ("EU\tB-ORG\n\tO\n", "line 2 has an empty word"),
        ("EU S-ORG\n\nPeter I-PER\n", "file.conll line 3: 'I-PER' goes on"),
        ("EU NNP\n", "'NNP' is no tag of an entity"),
        (
            "en:EU\tB-ORG\nen:said\tO\n",
            "line 1: each word begins with 'en:'; take it away: sed 's/^en://' OLD",
        ),
        (
            "科0\tO\n技1\tO\n80\tO\n",  # Weibo NER
            "'科0' and '技1'; take it away: sed -E 's/^(.)[0-9]+/\\1/' OLD",
        ),
        ("I I-O\nsaw I-O\nAnn I-PER\n", "line 1: 'I-O' says that the type is O"),
        ("EU NNP\tB-ORG\nsaid VBD\tO\n", "line 1: each word has 2 parts between blanks, as 'EU NNP'; if"),
        ("EU B\nsaid O\n", "([[:blank:]][BIESLUMW])$/\\1-ENTITY/' OLD > NEW"),
        ("-DOCSTART- O\n\n", "holds no sentences"),
        (
            "EU\tB-ORG\r\r\nsaid\tO\r\r\nno\tO\r\r\n\r\r\nPeter\tB-PER\r\r\n",
            "each of 4 sentences has one word",
        ),
    ],
)
def test_what_is_wrong_with_columns(tmp_path, content, message):
    path = write(tmp_path, content)
    with pytest.raises(ValueError) as error:
        read(path)
    assert str(path) in str(error.value) and message in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        ({"tag_scheme": "bioes"}, "has not begun; bioes begins it with B. Fix the file; a config sets"),
        ({"labels": ("O", "B-ORG")}, "line 5: label 'B-MISC' is not among the labels ['O', 'B-ORG']"),
        ({"file_format": "csv"}, "has no column 'text'; its columns are ['-DOCSTART- -X- O O']"),
    ],
)
def test_a_file_that_is_not_what_the_config_says(tmp_path, dataset, message):
    path = write(tmp_path, IOB1_FILE)
    with pytest.raises(ValueError) as error:
        read(path, **dataset)
    assert str(path) in str(error.value) and message in str(error.value)


def span(start, end, kind="PER"):
    return {"start": start, "end": end, "type": kind}


def own(text, start, end, quote):
    """A line with a span that says its own text."""
    return {"text": text, "label": [span(start, end) | {"text": quote}]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"text": ["EU", "said"], "label": ["O"]}, "has 2 words in 'text' but 1 labels in 'label'"),
        ({"text": ["EU"], "label": [3]}, "entry 1 of 'label'"),
        ({"text": ["EU", ""], "label": ["O", "O"]}, "entry 2 of 'text' is blank"),
        ({"text": ["EU", " "], "label": ["O", " "]}, "entry 2 of 'label' is blank"),
        ({"text": [], "label": ["O"]}, "has no words in 'text'"),
        ({"text": ["EU"]}, "has no column 'label'"),
        ({"text": 3, "label": []}, "has a JSON number as 'text'"),
        ({"text": "Peter", "label": {}}, "has a JSON object as its spans"),
        ({"text": "Peter", "label": [[0, 5]]}, "span 1 is [0, 5]; expected an object with start and end"),
        ({"text": "Peter", "label": [span(0, 5, " ")]}, "span 1 has a blank type"),
        ({"text": "Peter", "label": [span(0, 5, "O")]}, "span 1 has the type 'O', which means no entity"),
        (
            {"text": "Peter", "label": [span(0, 5, "B-PER")]},
            "span 1 has the type 'B-PER', the tag of a word;",
        ),
        ({"text": "Peter", "label": [span(0, 6)]}, "0 to 6 (PER) is not inside the text, which has 5"),
        ({"text": "Peter Pan", "label": [span(6, 9), span(0, 9)]}, "6 to 9 (PER) overlaps 0 to 9 (PER)"),
        ({"text": "Peter Pan", "label": [span(0, 7)]}, "cuts through the word 'Pan' at 6 to 9"),
        ({"text": "Peter Pan", "label": [span(5, 6)]}, "holds no word"),
        (
            {"text": "Peter Pan", "label": [span(0, 4)]},
            "If all spans of the file end a character early, add 1",
        ),
        ({"text": "A I", "label": [span(0, 0)]}, "An end is the position after the last character."),
        ({"text": "Ann", "label": [{"start": 0, "end": 3, "labels": ["A", "B"]}]}, "span 1 is {'start': 0"),
        ({"text": "Ann", "label": [], "answer": "ignore"}, "has 'ignore' as its 'answer', as Prodigy"),
        (
            {"text": "Ann", "label": [span(0, 3) | {"answer": "reject"}]},
            "span 1 has 'reject' as its 'answer'",
        ),
        (
            {"text": "🎉🎉 Ann saw Bob", "label": [span(5, 8)]},
            "cuts through the word 'Ann' at 3 to 6; move its ends to those of words. Here offsets count",
        ),
        (own("🎉🎉 Ann saw Bob", 7, 10, "Ann"), "text[7:10] is 'saw', the span says 'Ann'; offsets count"),
        (
            own("🎉🎉 Ann saw Bob", 5, 8, "Ann"),
            "UTF-16 units, as JavaScript and Java do; in characters it is 3",
        ),
        (
            own("🎉🎉 Ann saw Bob", 13, 16, "Bob"),
            "UTF-16 units, as JavaScript and Java do; in characters it is 11",
        ),
        (own("Zoë saw Bob", 9, 12, "Bob"), "bytes of UTF-8; in characters it is 8 to 11."),
        (own("Ann saw", 0, 2, "Ann"), "The end counts the last character in; add 1 to each end."),
        (own("Ann saw", 5, 8, "saw"), "The file counts from 1; subtract 1 from each start."),
        (own("Ann saw Bob and Bob", 0, 3, "Bob"), "It stands at 8 to 11 first."),
        (own("Ann saw", 0, 3, "Bob"), "The text does not hold it."),
    ],
)
def test_what_is_wrong_with_a_json_line(tmp_path, line, message):
    good = json.dumps({"text": ["EU"], "label": ["B-ORG"]})
    path = write(tmp_path, f"{good}\n{json.dumps(line)}\n", "file.jsonl")
    with pytest.raises(ValueError) as error:
        read(path)
    assert f"{path} line 2" in str(error.value) and message in str(error.value)


def test_offsets_on_ideographs_behind_emoji_are_said_to_be_characters(tmp_path, caplog):
    warn_once.cache_clear()
    for text, extra in (("我在北京", {}), ("🎉在北京", {"text": "北京"}), ("🎉在北京", {})):
        assert not caplog.messages
        line = {"text": text, "label": [span(2, 4, "LOC") | extra]}
        (sentence,) = read(write(tmp_path, json.dumps(line), "file.jsonl"))
        assert sentence.labels == ("O", "O", "B-LOC", "I-LOC")
    assert "behind emoji, on ideographs: each of these is a word, so a wrong offset cuts none" in caplog.text


def test_spans_of_tags_are_refused_and_those_of_a_type_like_one_are_not(tmp_path):
    rows = [{"text": "New York", "label": [span(0, 3, "B-geo"), span(4, 8, "I-geo")]}]
    rows.append({"text": "a cell", "label": [span(2, 6, "B-cell")]})
    path = write(tmp_path, "".join(f"{json.dumps(row)}\n" for row in rows), "file.jsonl")
    with pytest.raises(ValueError, match="spans of the types 'B-geo' and 'I-geo', tags of words; join"):
        read(path)
    path.write_text(json.dumps(rows[1]))
    assert [sentence.labels for sentence in read(path)] == [("O", "B-B-cell")]


@pytest.mark.parametrize(
    "spans",
    [
        [{"start": 3, "end": 6, "text": "Ann", "type": "PER"}],
        [{"start": 3, "end": 6, "text": "Ann", "labels": ["PER"]}],  # Label Studio
        [{"id": 7, "start_offset": 3, "end_offset": 6, "label": "PER"}],  # Doccano
        [{"start": 3, "end": 6, "label": "PER", "token_start": 1, "answer": "accept"}],  # Prodigy
        {"entities": [[3, 6, "PER"]]},  # spaCy
        {"entities": [[3, 6, "PER"]], "cats": {}},
        {"start": [3], "end": [6], "label": ["PER"], "text": ["Ann"]},  # a Sequence of `datasets`
        [{"entity_group": "PER", "score": 0.9, "word": "ann", "start": 3, "end": 6}],  # a pipeline
    ],
)
def test_spans_of_several_tools(tmp_path, spans):
    line = json.dumps({"text": "🎉🎉 Ann saw  Bob", "label": spans})
    (sentence,) = read(write(tmp_path, line, "file.jsonl"))
    assert rows([sentence]) == [(("🎉", "🎉", "Ann", "saw", "Bob"), ("O", "O", "B-PER", "O", "O"))]


def test_classes_of_a_schema_that_no_row_has_are_labels():
    conll = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
    assert labels_of_tags(["O", "B-PER"], "auto", conll) == ("O", "B-LOC", "B-PER", "I-LOC", "I-PER")
    assert labels_of_tags(["O", "B-PER"], "auto") == ("O", "B-PER", "I-PER")
    assert labels_of_tags(["B-PER"], "auto", ("O", "S-PER", "S-LOC")) == labels_of_tags(
        ["B-PER", "B-LOC"], "auto"
    )
    assert labels_of_tags(["B-ORG"], "auto", conll) == ("O", "B-ORG", "I-ORG")
    assert labels_of_tags(["NN"], "none", ("NN", "VB", "DT")) == ("DT", "NN", "VB")
    assert labels_of_tags(["XX"], "none", ("NN", "VB")) == ("XX",)


COMMENTS = "# sentence 1\nLondon B-LOC\nwaits O\n\n# sent_id = 17\n# 18\nRome B-LOC\n# O\nsleeps O\n"


@pytest.mark.parametrize("scheme", ["auto", "none"])
def test_comments_are_no_words(tmp_path, scheme, caplog):
    sentences = read(write(tmp_path, COMMENTS), tag_scheme=scheme)
    assert [sentence.words for sentence in sentences] == [("London", "waits"), ("Rome", "#", "sleeps")]
    found = "3 line(s) before sentences begin with # and are passed over as comments; the first is line 1: "
    assert found in caplog.text


def test_a_number_sign_that_is_a_word_stays(tmp_path, caplog):
    path = write(tmp_path, "# O\n1 O\n\n#1 B-MISC\nhit O\n\n# #\n5 O\n")
    words = [sentence.words for sentence in read(path, tag_scheme="none")]
    assert words == [("#", "1"), ("#1", "hit"), ("#", "5")]
    assert "comments" not in caplog.text


def test_words_alone_may_begin_with_a_number_sign(tmp_path):
    path = write(tmp_path, "#happy\nday\n\n# a comment\n#\n1\n")
    sentences = read_tagged_sentences(path, DatasetConfig(), with_labels=False)
    assert [sentence.words for sentence in sentences] == [("#happy", "day"), ("#", "1")]


def test_conll_u_has_lines_that_are_no_words(tmp_path):
    cells = [
        ("1-2", "im", "_"),
        ("1", "in", "ADP"),
        ("2", "dem", "DET"),
        ("2.1", "x", "_"),
        ("3", "Haus", "NOUN"),
    ]
    lines = ["\t".join((number, word, "_", tag, *["_"] * 6)) for number, word, tag in cells]
    path = write(tmp_path, "# text = im Haus\tx\n" + "\n".join(lines))
    names = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
    (sentence,) = read(path, column_names=names, text="form", label="upos", tag_scheme="none")
    assert rows([sentence]) == [(("in", "dem", "Haus"), ("ADP", "DET", "NOUN"))]
    with pytest.raises(ValueError, match="line 3: the first column numbers the words or .*set.column_names"):
        read(path, tag_scheme="none")
    with pytest.raises(MissingColumn, match=r"file.conll has no column 'label'; its columns are \['id',"):
        read(path, column_names=names, text="form", tag_scheme="none")


NUMBERED = "0\t{}\tO\n\n0\tHer\tO\n1\tvisit\tO\n2\tto\tO\n3\tTuvalu\tB-LOC\n\n0\tIn\tO\n"
OF_DOCUMENTS = "".join(f"bc/cctv_0000 {n % 6} {word} O\n" for n, word in enumerate("a b c a d e f".split()))


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (NUMBERED.format("LONDON"), "numbers the words or the sentences"),  # WikiNEuRal
        (NUMBERED.format("A").replace("0\t", "1\t"), "numbers the words or the sentences"),
        ("0 Harry B-PER\n0 is O\n\n1 in O\n", "numbers the words or the sentences"),
        (OF_DOCUMENTS, "is the same in all lines of a sentence"),  # CoNLL-2012
        ("O what\nB-GENRE comedy\n", "holds tags"),  # MIT's
        ("O what\nO is\nO it\n\nO who\nO was\nO it\n\nO how\nO is\nO it\n", "holds tags"),
    ],
)
@pytest.mark.parametrize("scheme", ["auto", "none"])
def test_a_first_column_that_holds_no_words(tmp_path, content, what, scheme):
    path, dataset = write(tmp_path, content), DatasetConfig(tag_scheme=scheme)
    for with_labels in (True, False):
        with pytest.raises(ValueError, match=f"the first column {what}, but it is read as the word"):
            list(read_tagged_sentences(path, dataset, with_labels=with_labels))


def test_columns_without_tags_hold_words(tmp_path):
    for content, words in (("S-Bahn\n", "S-Bahn"), ("1\n2\n", "1 2"), ("2019 CD\n7 CD\n", "2019 7")):
        [sentence] = read_tagged_sentences(write(tmp_path, content), DatasetConfig(), with_labels=False)
        assert " ".join(sentence.words) == words
    with pytest.raises(ValueError, match="the first column numbers the words"):
        list(read_tagged_sentences(write(tmp_path, "1\tEU\n2\tsaid\n"), DatasetConfig(), with_labels=False))


@pytest.mark.parametrize(
    "content",
    [
        "1 CD O\n\nMay NNP O\n1 CD O\n",
        "100 B-DATE\n101 I-DATE\n",
        "2019 CD B-DATE\n2020 CD B-DATE\n\n7 CD O\n1 CD O\n",
        "1 B-PHONE\n2 I-PHONE\n\n1 B-PHONE\n2 I-PHONE\n",  # where else should the words be?
        "no UH O\nno UH O\nno UH O\n\nyes UH O\nyes UH O\n",
        "O O\nO O\n\nVitamin O\nO O\n",
        "A0 O\nB1 O\nC7 O\n\nen:EU O\nen:said O\n",
    ],
)
def test_a_first_column_of_numbers_or_repeated_words_is_read(tmp_path, content):
    sentences = read(write(tmp_path, content))
    assert " ".join(word for each in sentences for word in each.words) == " ".join(
        line.split()[0] for line in content.splitlines() if line
    )


def test_a_document_begins_where_the_word_is_its_mark(tmp_path):
    """In WikiNEuRal's copy of CoNLL-2003 its number stands first."""
    path = write(tmp_path, f"0\t-DOCSTART-\tO\n\n{NUMBERED.format('A')}\n0\t-DOCSTART-\tO\n\n0\tB\tO\n")
    names = {"column_names": ("n", "word", "tag"), "text": "word", "label": "tag"}
    sentences = read(path, **names)
    assert [len(sentence.words) for sentence in sentences] == [1, 4, 1, 1]
    assert [sentence.position for sentence in sentences] == [0, 1, 2, 0]
    assert [sentence.words[0] for sentence in sentences] == ["A", "Her", "In", "B"]


WORDS = """Sentence #,Word,POS,Tag
Sentence: 1,Ann,NNP,B-per
,"said ,",VBD,O
Sentence: 2,Bonn,NNP,B-geo
,NA,NNP,I-geo
"""
KAGGLE = {"text": "Word", "label": "Tag", "sentence": "Sentence #"}


def test_a_document_that_is_called_NA_is_warned_of(tmp_path, caplog):
    content = "doc,sent,word,tag\nDE,1,Anna,B-PER\nNA,1,Windhoek,B-LOC\n"
    names = {"text": "word", "label": "tag", "sentence": "sent", "document": "doc"}
    assert len(read(write(tmp_path, content, "w.csv"), **names)) == 1
    assert "1 row(s) have 'NA' or the like in 'doc', the first" in caplog.text


@pytest.mark.parametrize("below", [("", ""), ("Sentence: 1", "Sentence: 2"), ("NaN", "NaN"), ("NA", "NA")])
def test_a_word_in_each_row(tmp_path, below):
    first, second = below
    content = WORDS.replace("\n,NA", f"\n{second},NA").replace("\n,", f"\n{first},")
    sentences = read(write(tmp_path, content, "ner.csv"), **KAGGLE)
    assert rows(sentences) == [
        (("Ann", "said ,"), ("B-per", "O")),
        (("Bonn", "NA"), ("B-geo", "I-geo")),
    ]
    assert sentences[0].document is not sentences[1].document
    with pytest.raises(ValueError, match="has no column 'Satz'"):
        read(tmp_path / "ner.csv", **KAGGLE | {"sentence": "Satz"})


def test_sentences_are_told_by_their_document_too_and_stand_together(tmp_path, caplog):
    path = write(tmp_path, "doc,s,Word,Tag\na,1,Ann,O\n,,ran,O\nb,1,Bob,O\n", "ner.csv")
    columns = {"text": "Word", "label": "Tag", "sentence": "s"}
    sentences = read(path, **columns, document="doc")
    assert [sentence.words for sentence in sentences] == [("Ann", "ran"), ("Bob",)] and not caplog.text
    assert sentences[0].document is not sentences[1].document
    path = write(tmp_path, "s,Word,Tag\n1,Ann,O\n2,Bob,O\n1,ran,O\n", "shuffled.csv")
    assert len(read(path, **columns)) == 3
    assert "line 4: a sentence goes on whose rows ended before" in caplog.text


@pytest.mark.parametrize("order", ["aabb", "abab"])
def test_shuffled_documents_are_warned_of(order, tmp_path, caplog):
    lines = [json.dumps({"doc": name, "w": ["Ann", "ran"], "t": ["O", "O"]}) for name in order]
    sentences = read(write(tmp_path, "\n".join(lines), "a.jsonl"), text="w", label="t", document="doc")
    assert len({id(sentence.document) for sentence in sentences}) == len(list(itertools.groupby(order)))
    assert ("line 3: a document goes on" in caplog.text) == (order == "abab")


def test_sentences_without_a_document_are_documents_of_their_own(tmp_path):
    lines = [json.dumps({"doc": name, "w": ["Ann", "ran"], "t": ["O", "O"]}) for name in ("a", None, None)]
    path = write(tmp_path, "\n".join(lines), "a.jsonl")
    assert len({id(row.document) for row in read(path, text="w", label="t", document="doc")}) == 3
    path = write(tmp_path, "doc,text,label\na,x y,O O\n,x z,O O\n,y z,O O\n", "a.csv")
    assert len({id(row.document) for row in read(path, document="doc")}) == 3
    with pytest.raises(ValueError, match="has no column 'doc'"):
        read(write(tmp_path, "text,label\nx y,O O\n", "b.csv"), document="doc")


@pytest.mark.parametrize("letters", ["BIES", "BILU", "BMES"])
@pytest.mark.parametrize("written", ["BIES", "BMES", "BIIB"])
def test_words_have_the_labels_of_a_checkpoint_in_its_own_letters(tmp_path, letters, written):
    """The file may be in any scheme; BIIB is IOB2."""
    first, inner, last, single = letters
    labels = ("O", *(f"{letter}-PER" for letter in letters))
    tags = [f"{written[0]}-PER", f"{written[1]}-PER", f"{written[2]}-PER", "O", f"{written[3]}-PER"]
    content = "".join(f"word {tag}\n" for tag in tags)
    [sentence] = read(write(tmp_path, content), labels=labels)
    assert sentence.labels == (f"{first}-PER", f"{inner}-PER", f"{last}-PER", "O", f"{single}-PER")


ENDS = ("O", "I-ORG", "E-ORG")  # of IOE2


@pytest.mark.parametrize("scheme", ["auto", "iob1"])
def test_a_checkpoint_without_room_for_iob2_has_the_tags_in_iob1(tmp_path, scheme, caplog):
    """dbmdz/bert-large-cased-finetuned-conll03-english has these labels, without B-PER."""
    labels = ("O", "I-ORG", "B-MISC", "I-MISC", "I-PER", "I-LOC", "B-LOC", "B-ORG")
    with caplog.at_level(logging.INFO):
        sentences = read(write(tmp_path, IOB1_FILE), labels=labels, tag_scheme=scheme)
    assert [word for sentence in sentences for word in sentence.labels] == [
        *("I-ORG", "O", "I-MISC", "B-MISC", "I-PER", "I-LOC")
    ]
    assert not caplog.text
    ends = [sentence.labels for sentence in read(write(tmp_path, "EU E-ORG\nsaid O\n\nA O\n"), labels=ENDS)]
    assert ends == [("E-ORG", "O"), ("O",)]
    iob2 = "EU B-ORG\nsaid O\n\nAnn B-PER\nDee I-PER\n"
    assert [sentence.labels for sentence in read(write(tmp_path, iob2), labels=labels)] == [
        ("I-ORG", "O"), ("I-PER", "I-PER"),
    ]  # fmt: skip


@pytest.mark.parametrize("scheme", ["auto", "iob1", "iob2"])
def test_an_entity_may_begin_as_in_the_other_scheme_with_a_warning(tmp_path, scheme, caplog):
    path = write(tmp_path, "EU B-ORG\nsaid O\nAnn I-PER\nDee I-PER\nBob B-PER\n\nIBM B-ORG\n")
    with caplog.at_level(logging.WARNING):
        sentences = read(path, tag_scheme=scheme)
    assert [sentence.labels for sentence in sentences] == [
        ("B-ORG", "O", "B-PER", "I-PER", "B-PER"), ("B-ORG",),
    ]  # fmt: skip
    where, prefix = ("1 and 1 more place", "B") if scheme == "iob1" else ("3", "I")
    (message,) = caplog.messages
    assert message.startswith(f"{path} line {where}: an entity begins with {prefix}- where iob")


def test_entities_that_touch_count_as_one_where_a_model_has_no_label_for_the_second(tmp_path, caplog):
    path = write(tmp_path, "Ann B-PER\nDee I-PER\nBob B-PER\nEU B-ORG\nUN B-ORG\n")
    labels = ("O", "I-ORG", "B-ORG", "I-PER")
    (sentence,) = read(path, labels=labels)
    assert sentence.labels == ("I-PER", "I-PER", "I-PER", "I-ORG", "B-ORG")
    (message,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert message.startswith(f"{path} line 3: an entity begins right behind another of its type")
    with pytest.raises(ValueError, match="line 4: label 'I-ORG' is not among"):
        read(path, labels=("O", "I-PER"))


def test_a_line_says_which_scheme_tags_are_read_in(tmp_path, caplog):
    path = write(tmp_path, IOB1_FILE)
    labels = ("O", *(f"{prefix}-{kind}" for kind in ("LOC", "MISC", "ORG", "PER") for prefix in "BI"))
    with caplog.at_level(logging.INFO, logger="absl"):
        read(path)
        assert caplog.messages == [f"{path}: the tags are in iob1 and are read as the same entities in iob2."]
        read(path, labels=labels, tag_scheme="iob1")
        assert caplog.messages[1].endswith(
            'in iob2. For a model that was trained in iob1 itself set dataset.tag_scheme = "none".'
        )
        kept = read(path, labels=labels, tag_scheme="none")
    assert kept[0].labels == ("I-ORG", "O", "I-MISC", "B-MISC") and len(caplog.messages) == 2


@pytest.mark.parametrize("tags", ["O B-geo", "\"['O', 'B-geo']\""])
def test_a_sentence_in_each_row(tmp_path, tags):
    path = write(tmp_path, f"text,label\nin Bonn,{tags}\n", "ner.csv")
    assert rows(read(path)) == [(("in", "Bonn"), ("O", "B-geo"))]
    cells = {"text": "in Bonn", "label": tags.strip('"').replace('""', '"')}  # as pandas reads them
    assert rows(read(write(tmp_path, json.dumps(cells) + "\n", "ner.jsonl"))) == rows(read(path))
    alone = json.dumps({"text": "Bonn", "label": "B-geo"}) + "\n"
    with pytest.raises(ValueError, match="each of 3 sentences has one word. For a word in each row"):
        read(write(tmp_path, alone * 3, "ner.jsonl"))
    with pytest.raises(
        ValueError, match="line 3 has 3 words in 'text' but 2 tags in 'label'; .*dataset.sentence"
    ):
        read(write(tmp_path, path.read_text() + f"in Bonn .,{tags}\n", "ner.csv"))


@pytest.mark.parametrize(
    "words",
    [
        ("(", "2019", ")"),
        ("(2019)",),
        ("[1]", "holds"),
        ("(", '"', "Yes", '"', ")"),
        ("(True)",),
        ("('Yes'", "he", "said)"),
        ("(", "'", "a", "'", ",", "'", "b", "'", ")"),
        ("[1,", "2]"),
    ],
)
def test_brackets_of_a_text_are_words(tmp_path, words):
    cells = " ".join(words).replace('"', '""')
    path = write(tmp_path, f'text,label\n"{cells}",{" ".join("O" * len(words))}\n', "ner.csv")
    assert rows(read(path)) == [(words, ("O",) * len(words))]


@pytest.mark.parametrize(("words", "tags", "wrong"), [
    ("['EU', nan]", "['B-ORG', 'O']", "['EU', nan]"),
    ("[None, 'EU']", "O B-ORG", "[None, 'EU']"),
    ("('EU', 2019)", "B-ORG O", "('EU', 2019)"),
    ("['EU' nan]", "B-ORG O", "['EU' nan]"),
    ("['EU ', 'is']", "B-ORG O O", "['EU ', 'is']"),
    ("['E\nU', 'is']", "B-ORG O O", r"['E\nU', 'is']"),
    ("[EU, is]", "[NNP, VBZ]", "[NNP, VBZ]"),
    ("EU is here", "['NNP' 'VBZ' ...]", "['NNP' 'VBZ' ...]"),
])  # fmt: skip
def test_a_list_with_entries_outside_quotes_is_no_sentence(tmp_path, words, tags, wrong):
    path = write(tmp_path, f'text,label\n"{words}","{tags}"\n', "ner.csv")
    with pytest.raises(ValueError, match=f"{re.escape(wrong)}.* looks like a list"):
        read(path, tag_scheme="none")


def test_words_as_json_prints_them(tmp_path):
    words = ["\U0001f600", "1/2"]
    cell = json.dumps(words).replace("/", r"\/").replace('"', '""')
    path = write(tmp_path, f'text,label\n"{cell}",O O\n', "ner.csv")
    assert rows(read(path)) == [(tuple(words), ("O", "O"))]
    with pytest.raises(ValueError, match="half a surrogate pair"):
        read(write(tmp_path, path.read_text().replace(r"\ude00", ""), "ner.csv"))


def test_rows_without_labels_may_be_left_out(tmp_path):
    lines = [{"text": ["Ann"], "label": ["B-PER"]}, {"text": ["Bob"], "label": None}]
    texts = {"file.jsonl": "".join(json.dumps(line) + "\n" for line in lines)}
    texts["file.csv"] = "text,label\nAnn,B-PER\nBob,\n"
    for name, text in texts.items():
        path = write(tmp_path, text, name)
        with pytest.raises(ValueError, match="line [23] has n.* labels .*dataset.skip_unlabelled"):
            read(path)
        assert [sentence.words for sentence in read(path, skip_unlabelled=True)] == [("Ann",)]


@pytest.mark.parametrize("mark", ["-", "-100", "NaN", "None"])
def test_a_mark_for_no_tag_is_not_left_out_with_its_row(tmp_path, mark):
    tags = "0 1" if mark != "-" else "X O"
    path = write(tmp_path, "".join(f"word {tag}\n" for tag in f"{tags} {mark}".split()), "words.conll")
    with pytest.raises(ValueError, match=f"1 of 3 labels are '{mark}', .* Give these words their tag;"):
        list(TaggedFiles().read_examples(path, DatasetConfig(tag_scheme="none")))


def test_minus_one_among_words_is_no_reason_to_leave_a_row_out(tmp_path, caplog):
    path = write(tmp_path, "I 0\nsaw 1\nit -1\n", "words.conll")
    assert len(list(TaggedFiles().read_examples(path, DatasetConfig(tag_scheme="none")))) == 1
    assert "'-1', as `datasets` writes it where there is none. Give these words their tag; or" in caplog.text
    assert "skip_unlabelled" not in caplog.text


def test_words_of_a_table_with_empty_cells_below_the_number(tmp_path):
    path = tmp_path / "ner.parquet"
    table = {"Sentence #": ["1", None, "2"], "Word": ["Ann", "ran", "Bob"], "Tag": ["B-per", "O", "B-per"]}
    parquet.write_table(pa.table(table), path)
    assert rows(read(path, **KAGGLE)) == rows(read(path, **KAGGLE, file_format="parquet"))
    assert [sentence.words for sentence in read(path, **KAGGLE)] == [("Ann", "ran"), ("Bob",)]


@pytest.mark.parametrize("row", [",,O", ",ran,", ",Word,Tag"])
def test_a_wrong_row_of_a_word_is_named(tmp_path, row):
    content = f"Sentence #,Word,Tag\n1,Ann,B-per\n{row}\n"
    with pytest.raises(ValueError, match="line 3 (has no|repeats the header)"):
        read(write(tmp_path, content, "ner.csv"), **KAGGLE, tag_scheme="none")


@pytest.mark.parametrize("header", ["FORM\tUPOS", "Word\tPOS", "Token\tEntity", "word\tcategory"])
def test_a_header_is_no_word_where_tags_have_no_scheme(tmp_path, header):
    """NE is a tag of STTS, and Word a name that has it."""
    words = "Word\tNE\nhilft\tVVFIN\n\n"
    assert len(read(write(tmp_path, words * 2), tag_scheme="none")) == 2
    assert len(read(write(tmp_path, f"{words}Text\tpos\n\n"), tag_scheme="none")) == 2  # a word and its class
    with pytest.raises(ValueError, match="line 1 looks like a header"):
        read(write(tmp_path, f"{header}\n{words}"), tag_scheme="none")


def test_a_header_is_told_by_any_of_its_columns(tmp_path):
    """As in simpletransformers' files."""
    path = write(tmp_path, "sentence_id\twords\tlabels\n0\tHarry\tB-PER\n0\tis\tO\n")
    with pytest.raises(ValueError, match="line 1 looks like a header .'sentence_id', 'words', 'labels'"):
        read(path)


def test_a_last_column_of_words_is_no_column_of_tags(tmp_path):
    path = write(tmp_path, "".join(f"{tag} NN w{n % 15}{tag}\n" for n in range(20) for tag in "AB"))
    with pytest.raises(ValueError, match="20 of 30 tags occur once, as words do. In columns the last is"):
        read(path)


def test_types_that_look_alike_are_refused_and_those_that_may_be_one_are_shown(tmp_path, caplog):
    files, dataset = TokenClassification.files, DatasetConfig()
    path = write(tmp_path, "Ann B-PER\n\nBob B-\u0420ER\n")
    with pytest.raises(ValueError, match=r"conll: the labels 'B-PER' \(1 time.*with U\+0420\) look alike"):
        list(files.read_examples(path, dataset))
    assert len(list(files.read_examples(write(tmp_path, "Ann B-PER\n\nBob B-Per\n"), dataset))) == 2
    assert "'B-PER' (1 time) and 'B-Per' (1 time) differ only in capitals" in caplog.text


@pytest.mark.long
@pytest.mark.skipif(not CONLL.is_dir(), reason=f"{CONLL} is not there")
@pytest.mark.parametrize(
    ("name", "sentences", "words", "documents", "entities"),
    [("eng.train", 14_041, 203_621, 946, 23_499)],
)
def test_the_published_counts_of_conll_2003(name, sentences, words, documents, entities):
    found = read(CONLL / name)
    assert len(found) == sentences and len({id(sentence.document) for sentence in found}) == documents
    labels = [label for sentence in found for label in sentence.labels]
    assert len(labels) == words and sum(label[0] == "B" for label in labels) == entities


@pytest.mark.parametrize("together", [1, 2])
def test_documents_in_other_capitals_stay_on_one_side(tmp_path, together):
    """16 of 24 held-out sentences had such a copy among those trained on."""
    sentences = [f"Ann{number} B-PER\nwent O\n" for number in range(40)]
    documents = ["\n".join(sentences[at : at + together]) for at in range(0, 40, together)]
    copies = [text.replace("Ann", "ANN").replace("went", "WENT") for text in documents]
    mark = "-DOCSTART- O\n\n" if together > 1 else ""
    path = write(tmp_path, "\n".join(mark + text for text in documents + copies))
    data = LabelledFile(path, TaggedFiles(), DatasetConfig())
    train, dev = data.split(0.3, seed=1)
    sides = [{" ".join(example.words).lower() for example in side.examples} for side in (train, dev)]
    assert len(dev.examples) == 24 and not sides[0] & sides[1]
    exact = [repr(example.document.sentences) for example in data.examples]
    assert TaggedFiles().groups(data.examples) == exact, "as ever"


NAMED = {"column_names": ("word", "pos", "chunk", "tag"), "text": "word", "label": "tag"}


@pytest.mark.parametrize(("name", "content", "dataset"), [
    ("a.conll", IOB1_FILE, {}),
    ("a.testa", IOB1_FILE, NAMED),
    ("a.testa", IOB1_FILE, NAMED | {"label": "label"}),
    ("a.txt", "EU\tNOUN\nsaid\tVERB\n", {"labels": ("NOUN", "VERB")}),
    ("a.txt", "dogs NOUN dog\nran VERB run\n", {"labels": ("NOUN", "VERB")}),
    ("a.txt", "B-ACTOR tom\nO ran\n", {}),
    ("a.csv", "text,label\n\"['U.S.', 'said']\",\"['B-LOC', 'O']\"\n", {}),
])  # fmt: skip
def test_labelled_words_are_no_texts_to_answer(tmp_path, name, content, dataset):
    path, dataset = write(tmp_path, content, name), TaggedFiles().dataset_of_texts(DatasetConfig(**dataset))
    examples = examples_of_file(path, [("text",)], dataset)
    with pytest.raises(ValueError, match=f"{name} has .* where a text is expected, words as labelled files"):
        with_checked_texts(examples, path, dataset, TaggedFiles())


def test_labelled_words_of_standard_input_are_no_texts_either():
    """kbert predict < FILE.conll answered each word as a text."""
    examples = examples_from_lines([("text",)], IOB1_FILE.splitlines(), "standard input")
    with pytest.raises(ValueError, match="^standard input has .* where a text is expected, words as"):
        with_checked_texts(examples, "standard input", DatasetConfig(), TaggedFiles())


@pytest.mark.parametrize(("name", "content"), [
    ("a.txt", "EU said so.\n\nVitamin O\n"),
    ("a.txt", "Drive on I-95\n"),
    ("a.txt", "He went .\nIt rained all day .\n"),
    ("a.csv", "text\nEU said\n[sic]\n"),
    ("a.csv", "text\n(2019)\n[1]\n"),
    ("a.csv", "text\nEU said\n('Yes')\n"),
    ("a.jsonl", "{\"text\": \"['a']\"}\n"),
])  # fmt: skip
def test_texts_to_answer_pass(tmp_path, name, content):
    path, dataset = write(tmp_path, content, name), DatasetConfig(labels=("O", "B-PER", "."))
    read = list(examples_of_file(path, [("text",)], dataset))
    assert list(with_checked_texts(iter(read), path, dataset, TaggedFiles())) == read
    assert list(with_checked_texts(iter(read), path, None, None)) == read
