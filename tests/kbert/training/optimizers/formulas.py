"""The update formulas in NumPy and float64, written from papers and originals, independently of kbert."""

import numpy as np


class NumpyOptimizer:
    """One variable under one of the three rules.

    Args:
      rule: "adam_weight_decay", "adamw" or "lamb".
      value: the variable.
      weight_decay: 0.0 for a variable that is excluded.
      adapted: whether LAMB's trust ratio applies.
      corrected: moments are corrected for their start at 0.
    """

    def __init__(self, rule, value, weight_decay, adapted, corrected, beta_1=0.9, beta_2=0.999, epsilon=1e-6):
        self.rule, self.weight_decay, self.adapted, self.corrected = rule, weight_decay, adapted, corrected
        self.beta_1, self.beta_2, self.epsilon = beta_1, beta_2, epsilon
        self.value = np.asarray(value, np.float64)
        self.m, self.v, self.t = np.zeros_like(self.value), np.zeros_like(self.value), 0

    def update(self, gradient, rate):
        self.t += 1
        self.m = self.beta_1 * self.m + (1.0 - self.beta_1) * gradient
        self.v = self.beta_2 * self.v + (1.0 - self.beta_2) * gradient**2
        first, second = 1.0 - self.beta_1**self.t, 1.0 - self.beta_2**self.t
        if not self.corrected:
            first = second = 1.0
        if self.rule == "lamb":  # arXiv 1904.00962, algorithm 2: both moments are corrected, then epsilon
            step = (self.m / first) / (np.sqrt(self.v / second) + self.epsilon)
        else:  # arXiv 1412.6980, end of section 2: "epsilon hat" beside the uncorrected root
            step = np.sqrt(second) / first * self.m / (np.sqrt(self.v) + self.epsilon)
        step = step + self.weight_decay * self.value
        if self.rule == "lamb" and self.adapted:
            weight_norm, step_norm = np.linalg.norm(self.value), np.linalg.norm(step)
            if weight_norm > 0 and step_norm > 0:
                rate = rate * weight_norm / step_norm
        self.value = self.value - rate * step
