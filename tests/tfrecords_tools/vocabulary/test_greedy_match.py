"""Words -> pieces for counted words, against the reference tokenizer."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.greedy_match import GreedyMatcher
from tests.kbert.tokenization import reference_tokenizer
from tfrecords_tools.vocabulary.coverage import coverage

_short = st.text("abc", min_size=1, max_size=4)


@settings(max_examples=60, derandomize=True)
@given(
    beginnings=st.sets(_short, max_size=12),
    continuations=st.sets(_short, max_size=12),
    words=st.lists(st.text("abcd", min_size=1, max_size=12), min_size=1, max_size=30),
)
def test_words_are_cut_as_the_tokenizer_does(beginnings, continuations, words):
    pieces = [*beginnings, *(f"##{piece}" for piece in continuations)]
    matcher = GreedyMatcher(pieces)
    expected = [reference_tokenizer.wordpieces(word, pieces) for word in words]
    assert [matcher(word) or ["[UNK]"] for word in words] == expected

    covered = coverage(dict.fromkeys(words, 2), pieces)
    different = list(dict.fromkeys(words))
    rows = [reference_tokenizer.wordpieces(word, pieces) for word in different]
    assert covered.num_words == 2 * len(different)
    assert covered.num_pieces == 2 * sum(map(len, rows))
    assert covered.num_unknown == 2 * rows.count(["[UNK]"])
