"""What the comparison with the control says: only more than the deviation counts, for either side."""

import pytest

from kbert.quickstart.from_text import verdict


def over_seeds(mean, deviation):
    return {"mean": mean, "deviation": deviation, "values": [mean - deviation, mean, mean + deviation]}


@pytest.mark.parametrize(
    ("pretrained", "from_scratch", "begins", "points"),
    [
        ((0.62, 0.02), (0.41, 0.03), "Pretraining helped: ", "+21.0"),
        ((0.41, 0.02), (0.62, 0.03), "Pretraining did not help; it lost: ", "-21.0"),
        ((0.45, 0.01), (0.41, 0.05), "These 3 seeds do not tell whether pretraining helped: ", "+4.0"),
        ((0.41, 0.05), (0.45, 0.01), "These 3 seeds do not tell whether pretraining helped: ", "-4.0"),
    ],
)
def test_more_than_the_larger_deviation_counts(pretrained, from_scratch, begins, points):
    sentence = verdict(over_seeds(*pretrained), over_seeds(*from_scratch))
    assert sentence.startswith(begins + points + " points")
    assert f"{100 * max(pretrained[1], from_scratch[1]):.1f}." in sentence
