"""What the contestants of benchmarks/scaling.py do, and the table of what they reached."""

import statistics
from dataclasses import dataclass

from benchmarks.workers.contestants import Record

_BYTES = {"float32": 4, "bfloat16": 2}


@dataclass(frozen=True)
class Plan:
    """What one contestant does.

    Args:
      strategy: of `make_strategy`.
      cores: how many cores it has; with several replicas also their number.
      batch_sizes: its global batches.
      dtypes: in which its replicas sum their gradients.
    """

    strategy: str
    cores: int
    batch_sizes: tuple[int, ...]
    dtypes: tuple[str, ...]

    @property
    def sums_gradients(self) -> bool:
        return self.strategy != "one_device"

    def variants(self) -> list[dict]:
        """Every batch with every dtype, as benchmarks/workers/kbert_replicas.py takes them."""
        return [
            {"batch_size": size, "all_reduce_dtype": dtype}
            for size in self.batch_sizes
            for dtype in self.dtypes
        ]


@dataclass(frozen=True)
class Row:
    """What a contestant reached in one of its variants.

    Args:
      name: the contestant's.
      cores: how many it had.
      batch_size: the global batch.
      dtype: of the all-reduce; None where nothing is summed over replicas.
      seconds: of its steps.
      cpu_seconds: of all its threads, in the median step.
      gradient_bytes: bytes of the gradients that each replica sums in a step.
    """

    name: str
    cores: int
    batch_size: int
    dtype: str | None
    seconds: tuple[float, ...]
    cpu_seconds: float
    gradient_bytes: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def examples_per_second(self) -> float:
        return self.batch_size / self.median


def rows(name: str, plan: Plan, record: Record, warm_up: int) -> list[Row]:
    """A row for each variant; the first `warm_up` steps of the record do not count."""
    found = []
    for number, variant in enumerate(plan.variants()):
        steps = [step for step in record.steps[warm_up:] if step["variant"] == number]
        dtype = variant["all_reduce_dtype"] if plan.sums_gradients else None
        found.append(
            Row(
                name,
                plan.cores,
                variant["batch_size"],
                dtype,
                tuple(sorted(step["seconds"] for step in steps)),
                statistics.median(step["cpu_seconds"] for step in steps),
                _BYTES[dtype] * record.facts["parameters"] if dtype else 0,
            )
        )
    return found


def efficiency(row: Row, alone: Row) -> float:
    """The examples a second, over those of as many single cores."""
    return row.examples_per_second / (row.cores * alone.examples_per_second)


def table(found: list[Row]) -> str:
    """Markdown; the first row is the process on one core, with which all are compared."""
    alone = found[0]
    lines = [
        "| | scaling | global batch | all-reduce | MB all-reduced | s/step | fastest to slowest | CPU s "
        "| examples/s | efficiency |",
        "|---|---|---:|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in found:
        kind = "" if row is alone else "strong" if row.batch_size == alone.batch_size else "weak"
        size = f"{row.gradient_bytes / 1e6:.1f}" if row.dtype else ""
        lines.append(
            f"| {row.name} | {kind} | {row.batch_size} | {row.dtype or ''} | {size} | {row.median:.3f} "
            f"| {row.seconds[0]:.3f} to {row.seconds[-1]:.3f} | {row.cpu_seconds:.2f} "
            f"| {row.examples_per_second:.1f} | {efficiency(row, alone):.0%} |"
        )
    return "\n".join(lines)


def figures(found: list[Row]) -> dict[str, dict]:
    """The closing line's rows: "mirrored, two devices/64/bfloat16" -> figures."""
    alone = found[0]
    return {
        "/".join([row.name, str(row.batch_size), *([row.dtype] if row.dtype else [])]): {
            "batch_size": row.batch_size,
            "all_reduce_dtype": row.dtype,
            "gradient_bytes": row.gradient_bytes,
            "seconds": row.median,
            "fastest": row.seconds[0],
            "slowest": row.seconds[-1],
            "cpu_seconds": row.cpu_seconds,
            "examples_per_second": row.examples_per_second,
            "efficiency": efficiency(row, alone),
        }
        for row in found
    }
