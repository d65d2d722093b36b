"""The names of metrics, where there are several files to evaluate on."""


def with_prefixed(found: dict, prefix: str, metrics: dict) -> dict:
    """Metrics together with those on a further file, whose names begin with `prefix`.

    Args:
      found: the metrics so far.
      prefix: a name and `_`, as of --other_dev_file.
      metrics: those on the further file.

    Raises:
      ValueError: when two of them would have the same name, for one would replace the other.
    """
    prefixed = {prefix + name: value for name, value in metrics.items()}
    taken = sorted(found.keys() & prefixed.keys())
    if taken:
        name = prefix.removesuffix("_")
        raise ValueError(
            f"--other_dev_file={name}=...: its {taken[0].removeprefix(prefix)} would be called {taken[0]}, "
            f"as another metric is; give the file another name than {name}."
        )
    return found | prefixed
