import pytest

from tests.chi_square import goodness_of_fit, upper_tail


@pytest.mark.parametrize(
    ("statistic", "degrees", "probability"),
    # Abramowitz and Stegun, table 26.8.
    [
        (3.84146, 1, 0.05),
        (10.8276, 1, 0.001),
        (5.99147, 2, 0.05),
        (18.3070, 10, 0.05),
        (149.449, 100, 0.001),
        (82.358, 100, 0.9),
    ],
)
def test_the_tail_is_that_of_the_tables(statistic, degrees, probability):
    assert upper_tail(statistic, degrees) == pytest.approx(probability, rel=1e-4)


def test_the_tail_at_its_ends():
    assert upper_tail(0.0, 3) == 1.0 and 0.0 <= upper_tail(1e4, 3) < 1e-300 and upper_tail(1e6, 3) == 0.0


def test_a_wrong_die_is_found_and_a_right_one_is_not():
    assert goodness_of_fit([100, 90, 110, 95, 105, 100], [1 / 6] * 6) > 0.5
    assert goodness_of_fit([100, 90, 110, 95, 105, 300], [1 / 6] * 6) < 1e-6
