"""Which numbers an answer may hold."""

import numpy as np
import pytest

from kbert.inference.finite_numbers import require_finite_answers


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_no_answer(number):
    answers = [np.zeros(3), np.array([1.0, number])]
    with pytest.raises(ValueError, match=r"^here gives numbers that are not finite .* for texts\[1\]"):
        require_finite_answers(answers, "here")
    with pytest.raises(ValueError, match=r"for texts\[7\]"):
        require_finite_answers(answers, "here", positions=[5, 7])
