from tests.chi_square import goodness_of_fit


def test_a_wrong_die_is_found_and_a_right_one_is_not():
    assert goodness_of_fit([100, 90, 110, 95, 105, 100], [1 / 6] * 6) > 0.5
    assert goodness_of_fit([100, 90, 110, 95, 105, 300], [1 / 6] * 6) < 1e-6
