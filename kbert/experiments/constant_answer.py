"""Whether a fine-tuned model says more than a constant answer would."""

# Metrics are means in float32. One example of a million more would be twice as much.
_ROUNDING = 5e-7


def add_baselines(task, metrics: dict, data: dict, config, vocabulary) -> dict:
    """The metrics of a run, and what the best constant answer scores on the same data.

    Args:
      task: the `Task`.
      metrics: those of the last evaluation.
      data: what stands before the names of its metrics -> development data; "" for the first.
      config: the `FinetuningConfig`.
      vocabulary: the run's.

    Returns:
      The metrics with, for example, `baseline_accuracy` and `mismatched_baseline_accuracy`.
    """
    found = dict(metrics)
    for prefix, one in data.items():
        batches = one.evaluation_batches(config.eval_batch_size, config.pad_to_longest)
        baseline = task.baseline(batches.as_numpy_iterator(), vocabulary)
        found |= {prefix + name: value for name, value in baseline.items()}
    return found


def no_better_than_constant(metrics: dict, higher_is_better) -> list[str]:
    """A sentence for each metric that is no better than that of the best constant answer.

    A classifier that ends at the most frequent label has learnt nothing; with few examples that happens to
    some seeds (arXiv 2006.04884, section 4).

    Args:
      metrics: as of `add_baselines`.
      higher_is_better: function from a metric's name to whether more of it is better.
    """
    sentences = []
    for name, constant in metrics.items():
        metric = name.replace("baseline_", "", 1)
        value = metrics.get(metric)
        if metric == name or not isinstance(value, float) or not isinstance(constant, float):
            continue
        ahead = value - constant if higher_is_better(metric) else constant - value
        if not ahead > _ROUNDING * max(1.0, abs(constant)):  # also for not-a-number
            sentences.append(
                f"This run does no better than a constant answer: {metric} {value:.4g}, the best constant "
                f"answer {constant:.4g}. Try another seed, a smaller learning rate or more epochs."
            )
    return sentences
