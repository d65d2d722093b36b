"""What the comparison with the control says, in one sentence. Standard library only."""


def verdict(pretrained: dict, from_scratch: dict) -> str:
    """Says whether pretraining helped: only a difference larger than the deviation between seeds counts.

    Args:
      pretrained, from_scratch: the accuracy over the seeds, as `summarize_seeds` gives it: `mean`,
        `deviation` and `values`, shares from 0 to 1.
    """
    points = 100 * (pretrained["mean"] - from_scratch["mean"])
    deviation = 100 * max(pretrained["deviation"], from_scratch["deviation"])
    seeds = f"{len(pretrained['values'])} seeds"
    if abs(points) <= deviation:
        return (
            f"These {seeds} do not tell whether pretraining helped: {points:+.1f} points, and the deviation "
            f"between seeds is {deviation:.1f}."
        )
    told = "Pretraining helped" if points > 0 else "Pretraining did not help; it lost"
    return f"{told}: {points:+.1f} points of accuracy over {seeds}, which deviate by {deviation:.1f}."
