"""The scores against a reference written apart from them, from the words of the official definition."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tasks.question_answering import squad_scores

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


def reference_normalized(text):
    """Lower, delete 32 punctuation marks, whole words a/an/the to spaces, words joined by a space.

    Character by character, without expressions: a word of letters, digits and underscores (underscores are
    gone by then) is an article where it is one from end to end.
    """
    text = "".join(character for character in text.lower() if character not in ASCII_PUNCTUATION)
    out, word = [], ""
    for character in text + " ":
        if character.isalnum():
            word += character
            continue
        out.append(" " if word in ("a", "an", "the") else word)
        out.append(character)
        word = ""
    return " ".join("".join(out).split())


def reference_f1(said, right, v2):
    said, right = reference_normalized(said).split(), reference_normalized(right).split()
    if v2 and (not said or not right):
        return 1.0 if said == right else 0.0
    rest, common = list(right), 0
    for word in said:
        if word in rest:
            rest.remove(word)
            common += 1
    if common == 0:
        return 0.0
    return 2 * (common / len(said)) * (common / len(right)) / (common / len(said) + common / len(right))


def reference_pair(said, golds, v2):
    if v2:
        golds = [gold for gold in golds if reference_normalized(gold) != ""]
        if not golds:
            golds = [""]
    exact = [1.0 if reference_normalized(said) == reference_normalized(gold) else 0.0 for gold in golds]
    return max(exact), max(reference_f1(said, gold, v2) for gold in golds)


def reference_best(rows, index):
    """The walk of `find_best_thresh` over dicts, as the definition tells it."""
    raw = {row["id"]: reference_pair(row["said"], row["golds"], True)[index] for row in rows}
    by_id = {row["id"]: row for row in rows}
    score = sum(1 for row in rows if not row["golds"])
    best, threshold = score, 0.0
    for name in sorted(raw, key=lambda name: by_id[name]["odds"]):
        row = by_id[name]
        if row["golds"]:
            score += raw[name]
        elif row["said"] != "":
            score -= 1
        if score > best:
            best, threshold = score, row["odds"]
    return 100.0 * best / len(rows), threshold


words = st.sampled_from(
    ["the", "a", "an", "The", "cat", "Cat", "dog.", "U.S.", "-", "1998", "é", "theatre", "_"]
)
texts = st.one_of(st.lists(words, max_size=5).map(" ".join), st.text(max_size=12))
odds = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 1.0]), st.floats(-20, 20, allow_subnormal=False))
golds = st.lists(texts.filter(bool), max_size=3)
questions = st.lists(st.tuples(texts, odds, golds), min_size=1, max_size=12)


@given(texts)
@settings(max_examples=60)
def test_answers_are_normalized_as_the_definition_says(text):
    assert squad_scores.normalized(text) == reference_normalized(text)


@pytest.mark.slow
@given(questions)
@settings(max_examples=60)
def test_scores_of_v1_are_the_official_ones(rows):
    rows = [(said, golds or ["the cat"]) for said, _, golds in rows]
    pairs = [reference_pair(said, golds, False) for said, golds in rows]
    expected = {
        "exact_match": 100.0 * sum(exact for exact, _ in pairs) / len(rows),
        "f1": 100.0 * sum(score for _, score in pairs) / len(rows),
    }
    assert squad_scores.scores_v1(*zip(*rows, strict=True)) == expected


@pytest.mark.slow
@given(questions, odds)
@settings(max_examples=60)
def test_scores_of_v2_are_the_official_ones(questions, threshold):
    rows = [
        {"id": f"q{number}", "said": said, "odds": odd, "golds": golds}
        for number, (said, odd, golds) in enumerate(questions)
    ]
    expected = {}
    for index, name in enumerate(("exact", "f1")):
        full_name = "exact_match" if name == "exact" else "f1"
        kept = {}
        for row in rows:
            score = reference_pair(row["said"], row["golds"], True)[index]
            kept[row["id"]] = (1.0 if not row["golds"] else 0.0) if row["odds"] > threshold else score
        groups = {
            full_name: rows,
            f"HasAns_{name}": [row for row in rows if row["golds"]],
            f"NoAns_{name}": [row for row in rows if not row["golds"]],
        }
        for group, members in groups.items():
            if members:
                expected[group] = 100.0 * sum(kept[row["id"]] for row in members) / len(members)
        best, where = reference_best(rows, index)
        expected |= {f"best_{name}": best, f"best_{name}_thresh": where}
        expected[f"baseline_{full_name}"] = 100.0 * len(groups[f"NoAns_{name}"]) / len(rows)
        raw = [reference_pair(row["said"], row["golds"], True)[index] for row in rows]
        expected[f"always_answered_{full_name}"] = 100.0 * sum(raw) / len(rows)
    said, odd, golds = zip(*questions, strict=True)
    found = squad_scores.scores_v2(said, odd, golds, threshold)
    chosen = found.pop("chosen_threshold")
    assert found == expected
    every = [squad_scores.scores_v2(said, odd, golds, where)["f1"] for where in (min(odd) - 1.0, *odd)]
    apart = all(b - a > 1e-3 for a, b in itertools.pairwise(sorted(set(odd))))
    for shift in (0.0, -1e-4, 1e-4) if apart else (0.0,):  # odds of another batch or export
        shifted = [one + shift for one in odd]
        assert squad_scores.scores_v2(said, shifted, golds, chosen)["f1"] == pytest.approx(max(every))
