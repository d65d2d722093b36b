import numpy as np
import pytest

from benchmarks import loss_curve


def test_difference_is_set_against_the_deviation_between_seeds():
    found = loss_curve.difference(np.array([1.0, 3.0]), np.array([2.0, 2.0, 5.0]))
    assert found["difference"] == pytest.approx(-1.0)
    # Variances 2 and 3.
    assert found["seed_deviation"] == pytest.approx(np.sqrt(2.5))
    assert found["standard_error"] == pytest.approx(np.sqrt(2.5 * (1 / 2 + 1 / 3)))


def test_the_same_learning_is_within_the_noise_and_another_is_not():
    generator = np.random.default_rng(1)
    curve = 8 * np.exp(-np.arange(400) / 200)

    def runs(shift):
        # Seeds shift a whole curve and every step of it.
        return curve + shift + generator.normal(0, 0.02, (4, 1)) + generator.normal(0, 0.05, (4, 400))

    for shift, is_within in ((0.0, True), (0.3, False)):
        found = loss_curve.compare({"kbert": runs(shift), "hugging_face": runs(0.0)}, window=50)["all"]
        assert (abs(found["difference"]) < 4 * found["standard_error"]) == is_within


def test_windows_cover_the_curve():
    curves = {name: np.tile(np.arange(10.0), (2, 1)) for name in ("kbert", "hugging_face")}
    windows = loss_curve.compare(curves, window=5)["windows"]
    assert [(w["last_step"], w["kbert"]) for w in windows] == [(5, 2.0), (10, 7.0)]


def test_exactness_is_relative():
    curves = {"kbert": np.array([2.0, 1.0, 0.5]), "hugging_face": np.array([2.0, 1.0, 0.5 + 1e-6])}
    found = loss_curve.exactness(curves)
    assert found["exact_all"] == pytest.approx(2e-6, rel=1e-4)
    assert found["exact_loss_fell_by"] == pytest.approx(1.5, rel=1e-4)
