"""A warning where a run does no better than the best constant answer."""

import math

from absl import logging

# Metrics are means in float32. One example of a million more would be twice as much.
_ROUNDING = 5e-7
_FAR_OFF = 100.0  # a loss that only squares of large differences have


def warn_of_constant(task, metrics: dict, advice: str):
    """Logs what `no_better_than_constant` says of a task's metrics."""
    unweighted = task.get_config().get("class_weights", "") is None
    for sentence in no_better_than_constant(metrics, task.higher_is_better, unweighted, advice):
        logging.warning("%s", sentence)


def no_better_than_constant(
    metrics: dict, higher_is_better, class_weights=False, advice="another seed, or a smaller learning rate"
) -> list[str]:
    """A sentence for each metric that is no better than that of the best constant answer.

    A classifier that ends at the most frequent label has learnt nothing; with few examples that happens to
    some seeds (arXiv 2006.04884, section 4).

    Args:
      metrics: those of a run, with those of the best constant answer: `accuracy` and `baseline_accuracy`.
      higher_is_better: function from a metric's name to whether more of it is better.
      class_weights: whether the sentence names `class_weights`, for a task that has them.
      advice: what to try.
    """
    balanced = ", or for rare labels task_settings.class_weights=balanced" if class_weights else ""
    sentences = []
    for name, constant in metrics.items():
        metric = name.replace("baseline_", "", 1)
        value = metrics.get(metric)
        if metric == name or not isinstance(value, float) or not isinstance(constant, float):
            continue
        if math.isnan(constant):  # of labels that are all the same nothing is better than anything
            continue
        ahead = value - constant if higher_is_better(metric) else constant - value
        if not ahead > _ROUNDING * max(1.0, abs(constant)):  # also for not-a-number
            to_try = advice + balanced
            if metric.endswith("loss") and value > _FAR_OFF:
                to_try += "; where labels are far from 0, (label - mean) / deviation: a new head stays near 0"
            sentences.append(
                f"This run does no better than a constant answer: {metric} {value:.4g}, the best constant "
                f"answer {constant:.4g}. Try {to_try}."
            )
    return sentences
