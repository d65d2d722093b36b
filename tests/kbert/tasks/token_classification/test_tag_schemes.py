"""Schemes there and back, and files in none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kbert.tasks.token_classification.entity_scores import find_entities
from kbert.tasks.token_classification.tag_schemes import (
    SCHEMES,
    find_scheme,
    from_iob2,
    labels_in_bioes,
    other_beginnings,
    scheme_of_labels,
    scheme_problem,
    split_tag,
    to_iob2,
)

# Two entities of one type side by side, other types, and a type with a hyphen.
IOB2 = ("B-PER", "I-PER", "B-PER", "O", "B-ORG", "B-in-law", "I-in-law", "O")


@st.composite
def iob2_tags(draw):
    """A sentence in IOB2."""
    tags = []
    for kind in draw(st.lists(st.sampled_from(["", "PER", "ORG", "in-law"]), max_size=6)):
        tags.append(f"B-{kind}" if kind else "O")
        tags += [f"I-{kind}" if kind else "O"] * draw(st.integers(0, 2))
    return tuple(tags)


@given(tags=iob2_tags(), scheme=st.sampled_from(SCHEMES))
def test_schemes_come_back_and_are_found(tags, scheme):
    written = from_iob2(tags, scheme)
    assert scheme_problem(written, scheme) is None
    assert to_iob2(written, scheme) == tags
    found = find_scheme([(written, range(len(written)))], "file")
    # A scheme may be told by some entities alone; one that is taken for it says the same.
    assert to_iob2(written, found) == tags
    if scheme in ("iob1", "iob2", "bioes"):
        assert found == (scheme if any(tag != "O" for tag in tags) else "iob2")
    assert find_entities(to_iob2(written, found)) == find_entities(tags, strict=True)


@pytest.mark.parametrize(
    ("tags", "scheme", "place", "why"),
    [
        (["S-PER"], "iob2", 0, "'S-PER' has a prefix that iob2 does not have"),
        (["B-PER", "O"], "bioes", 0, "'B-PER' begins or goes on with an entity that does not end"),
        (["S-PER", "E-PER"], "bioes", 1, "'E-PER' goes on with an entity that has not begun"),
        (["O", "NNP"], "iob2", 1, "'NNP' is no tag of an entity"),
        (["B-"], "iob1", 0, "'B-' is no tag"),
        (["O", "S-O"], "bioes", 1, "'S-O' says that the type is O, which means no entity; write O"),
        (["B-PER|B-LOC"], "iob2", 0, "'B-PER|B-LOC' is several tags in one"),
        (["B-PER", "I-PER|O"], "iob2", 1, "'I-PER|O' is several tags in one"),
    ],
)
def test_what_breaks_a_scheme(tags, scheme, place, why):
    found, sentence = scheme_problem(tags, scheme)
    assert found == place and why in sentence


def test_a_file_in_no_scheme_is_told_by_its_lines():
    sentences = [(["B-PER", "E-PER"], ["line 3", "line 4"]), (["O", "I-ORG"], ["line 6", "line 7"])]
    with pytest.raises(ValueError) as error:
        find_scheme(sentences, "mixed.conll")
    message = str(error.value)
    assert message.startswith("mixed.conll: its tags are in none of the schemes iob1, iob2, ")
    assert "bioes breaks at line 7: 'I-ORG' goes on" in message
    assert 'dataset.tag_scheme = "none"' in message


def test_one_slip_among_many_types_is_no_column_of_words():
    tags = [f"B-T{number}" for number in range(25)]
    with pytest.raises(ValueError, match=r"'X-T4'.* Fix the file") as error:
        find_scheme([([*tags, "X-T4"], [*range(26)])], "many.conll")
    assert "as words do" not in str(error.value)


@given(tags=st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]), max_size=8))
def test_any_tags_of_b_and_i_are_the_entities_that_conlleval_finds(tags):
    """Whatever scheme they are taken for; most beginnings decide it."""
    others = {scheme: len(list(other_beginnings(tags, scheme))) for scheme in ("iob1", "iob2")}
    found = find_scheme([(tags, range(len(tags)))], "file")
    assert found in others and others[found] == min(others.values())
    for scheme in others:
        assert find_entities(to_iob2(tags, scheme), strict=True) == find_entities(tags)


WORDS = ("B-A", "I-A", "I-A", "O", "B-B", "B-B")


@pytest.mark.parametrize(("scheme", "written"), [
    ("bmes", "B-A M-A E-A O S-B S-B"),
    ("bilou", "B-A I-A L-A O U-B U-B"),
    ("bmewo", "B-A M-A E-A O W-B W-B"),
    ("ioe2", "I-A I-A E-A O E-B E-B"),
    ("ioe1", "I-A I-A I-A O E-B I-B"),
])  # fmt: skip
def test_relatives_of_the_schemes(scheme, written):
    tags = written.split()
    assert find_scheme([(tags, range(len(tags)))], "file") == scheme
    assert to_iob2(tags, scheme) == WORDS and from_iob2(WORDS, scheme) == tuple(tags)


@pytest.mark.parametrize(("labels", "letters", "scheme"), [
    ("O B-A I-A E-A S-A", "OBIES", "bioes"),
    ("O B-A I-A L-A U-A", "OBIES", "bilou"),
    ("O B-A M-A E-A S-A", "OBIES", "bmes"),
    ("O B-A M-A E-A W-A", "OBIES", "bmewo"),
    ("O B-A I-A", "OBI", "iob2"),
    ("O B-A I-A B-B", "OBIB", "iob2"),
    ("O I-A I-B", "OII", "iob1"),
    ("O B-A I-A I-B", "OBII", "iob1"),
    ("O I-A E-A", "OIE", "ioe2"),
    ("O B-A L-A W-A", None, "iob2"),  # of two schemes
    ("O NN", None, "iob2"),
    ("O", None, "iob2"),
])  # fmt: skip
def test_labels_of_a_model(labels, letters, scheme):
    labels = labels.split()
    found = labels_in_bioes(labels)
    assert (found and "".join(tag[0] for tag in found.values())) == letters
    assert found is None or [split_tag(tag)[1] for tag in found.values()] == [tag[2:] for tag in labels]
    assert scheme_of_labels(labels) == scheme
