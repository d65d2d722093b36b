r"""Benchmark: masked-LM loss by time, kbert beside Model Garden and Hugging Face, all from the same start.

  make bench-peers
  python -m benchmarks.time_to_quality --input_files='novels/*.txt' --minutes=20

All get the same records (made by this project) in the same order, the same first weights, and AdamW with the
same numbers, clipping, warm-up and a constant rate after it; dropout is on. Each is at its best: a short
trial finds its faster precision; `--contestants='kbert/*,hugging_face/*+compile'` has torch.compile take
part. Then they take turns, with the same threads, until the steps of each have taken --minutes. The time of a
contestant is that of its own steps; the first one, which traces or compiles, counts; starting does not.
"""

import statistics
import tempfile
from pathlib import Path

from absl import flags

from benchmarks.report import close, machine, markdown
from benchmarks.workers import text_batches
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, parts_of
from benchmarks.workers.on_the_clock import LossByTime, OnTheClock
from kbert.cli import script

FLAGS = flags.FLAGS
_DEFAULT = tuple(
    f"{system}/{precision}"
    for system in ("kbert", "model_garden", "hugging_face")
    for precision in ("float32", "bfloat16")
)
CONTESTANTS = (*_DEFAULT, *(f"{name}+compile" for name in _DEFAULT))
SHARES, LOSSES = (0.25, 0.5, 1.0), (7, 6.5, 6, 5.5, 5, 4.5)
WINDOW = 50  # a loss is the mean of so many steps
_TRIAL_WARM_UP, _TRIAL_STEPS, _WARM_UP_STEPS, _TURN_SECONDS = 2, 12, 100, 10.0


def define_flags():
    define_contestant_flags(CONTESTANTS, _DEFAULT)
    flags.DEFINE_string("input_files", None, "Text, a paragraph a line; by default CPython's documentation.")
    flags.DEFINE_float("minutes", 10.0, "Minutes of training of each contestant.", lower_bound=0.1)
    flags.DEFINE_integer("batches", 1400, "Batches, in their order again and again.", lower_bound=1)
    flags.DEFINE_integer("dupe_factor", 1, "How often a text is in the records, masked anew.", lower_bound=1)


def main():
    names = chosen_contestants(CONTESTANTS)
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        settings = text_batches.prepare(Path(folder), FLAGS.input_files, FLAGS.batches, FLAGS.dupe_factor)
        settings |= {"num_warmup_steps": _WARM_UP_STEPS, "seed": 1}
        with started(find_faster(names, settings), "pretraining", settings) as workers:
            alternate([OnTheClock(worker, FLAGS.minutes * 60) for worker in workers], None, _TURN_SECONDS)
            records = {worker.name: worker.record for worker in workers}
    rows = figures(records, FLAGS.minutes * 60)
    print(table(rows, FLAGS.minutes))
    close("time_to_quality", rows, minutes=FLAGS.minutes)


def find_faster(names, settings) -> list[str]:
    """Each system with its options in its faster precision; all try some steps."""
    with started(names, "pretraining", settings) as trials:
        alternate(trials, _TRIAL_WARM_UP + _TRIAL_STEPS, 1)
        seconds = {
            trial.name: statistics.median(step["seconds"] for step in trial.record.steps[_TRIAL_WARM_UP:])
            for trial in trials
        }
    print("seconds of a step: " + ", ".join(f"{name} {value:.3f}" for name, value in seconds.items()))
    best: dict = {}
    for name in sorted(names, key=lambda name: seconds[name]):
        system, _, options = parts_of(name)
        best.setdefault((system, *options), name)
    return list(best.values())


def figures(records: dict, seconds: float) -> dict:
    """name -> figures; `losses` by share of the time, `seconds_to` by loss, None where it was not reached."""
    curves = {name: LossByTime(record.steps, WINDOW) for name, record in records.items()}
    return {
        name: {
            "steps": len(records[name].steps),
            "seconds_per_step": statistics.median(step["seconds"] for step in records[name].steps),
            "first_step": records[name].steps[0]["seconds"],
            "losses": {share: curve.at(share * seconds) for share in SHARES},
            "seconds_to": {level: curve.seconds_to(level) for level in LOSSES},
        }
        for name, curve in curves.items()
    }


def table(rows: dict, minutes: float) -> str:
    """Markdown, with a row for each contestant; "-" where a loss was not reached."""
    heads = ["", "steps", "s/step", "first step, s"]
    heads += [f"loss after {share * minutes:g} min" for share in SHARES]
    heads += [f"min to {level:g}" for level in LOSSES]
    return markdown(
        heads,
        [
            [
                name,
                f"{row['steps']:,}",
                f"{row['seconds_per_step']:.3f}",
                f"{row['first_step']:.1f}",
                *("-" if loss is None else f"{loss:.3f}" for loss in row["losses"].values()),
                *("-" if time is None else f"{time / 60:.2f}" for time in row["seconds_to"].values()),
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
