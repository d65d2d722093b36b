r"""Benchmark: masked-LM loss by time, kbert beside Model Garden and Hugging Face, all from the same start.

  make bench-peers
  python -m benchmarks.time_to_quality --input_files='novels/*.txt' --minutes=20 \
      --html=time_to_quality.html

All get the same records (made by this project) in the same order, the same first weights, and AdamW with the
same numbers, clipping, warm-up and a constant rate after it; dropout is on. With --decay=linear the rate
falls to 0 at the last step that a short trial foretells for each, near its true last one. Each is at its
best: the trial finds its faster precision; `--contestants=kbert,hugging_face+compile` has torch.compile
(or XLA) take part. Then they take turns, with the same threads, until the steps of each have taken
--minutes. The time of a contestant is that of its own steps; the first one, which traces or compiles, counts;
starting does not.
--weights_dir keeps what each has learned, as Hugging Face's files, to be fine-tuned.
"""

import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from absl import flags

from benchmarks import REPOSITORY, training_step
from benchmarks.learning import quality_report, text_batches
from benchmarks.learning.on_the_clock import LossByTime, OnTheClock
from benchmarks.learning.text_batches import define_text_flags
from benchmarks.report import close, fit_for_machine, machine
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line

FLAGS = flags.FLAGS
SYSTEMS = ("kbert", "model_garden", "hugging_face")
_TRIAL_WARM_UP, _TRIAL_STEPS = 2, 12


def define_flags():
    define_text_flags(hidden_size=256, layers=4, seq_length=128)
    flags.DEFINE_float("minutes", 10.0, "Minutes of training of each contestant.", lower_bound=0.1)
    flags.DEFINE_list("contestants", list(SYSTEMS), "Who takes part; +compile after a name compiles it.")
    precisions = fit_for_machine(training_step.PRECISIONS)
    flags.DEFINE_list("precisions", precisions, "Each takes the faster of these.")
    flags.DEFINE_list("losses", ["7", "6.5", "6", "5.5", "5", "4.5"], "The table has the minutes to each.")
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)
    flags.DEFINE_integer("batches", 1400, "Batches, in their order again and again.", lower_bound=1)
    flags.DEFINE_integer("dupe_factor", 1, "How often a text is in the records, masked anew.", lower_bound=1)
    flags.DEFINE_enum(
        "decay", "none", ["none", "linear"], "Of the rate after its warm-up, over the steps of --minutes."
    )
    flags.DEFINE_integer("warmup_steps", 100, "Steps in which the rate rises.", lower_bound=1)
    flags.DEFINE_integer("window", 50, "A loss is the mean of so many steps.", lower_bound=1)
    flags.DEFINE_integer("seed", 1, "Of dropout.", lower_bound=0)
    flags.DEFINE_float("turn_seconds", 10.0, "About how long a turn lasts.", lower_bound=0.1)
    flags.DEFINE_string("html", None, "Where to write a page with the curves.")
    flags.DEFINE_string("weights_dir", None, "A folder, for the trained weights of each contestant.")
    environments.define_flags("model_garden", "hugging_face")


def main(argv):
    del argv
    text_batches.require_whole_heads()
    contestants = checked_contestants(FLAGS.contestants, FLAGS.precisions)
    levels = checked_losses(FLAGS.losses)
    check_weights_dir(FLAGS.weights_dir, contestants)
    check_decay(FLAGS.decay, contestants)
    peers = dict.fromkeys(system for system, _ in contestants if system != "kbert")
    pythons = {"kbert": sys.executable} | environments.pythons(*peers)
    contestants = [(system, compiled) for system, compiled in contestants if system in pythons]
    print(machine(), flush=True)
    with tempfile.TemporaryDirectory() as folder:
        made = text_batches.prepare(Path(folder), FLAGS.batches, (FLAGS.dropout,), FLAGS.dupe_factor)
        settings = made["shared"] | made["weights"][FLAGS.dropout] | {"seed": FLAGS.seed}
        settings |= {"num_warmup_steps": FLAGS.warmup_steps}
        chosen = dict(find_faster(one, settings | constant_rate(), pythons) for one in contestants)
        records = train_all(
            {key: settings | schedule_settings(seconds) for key, seconds in chosen.items()}, pythons
        )
    curves = {key: LossByTime(record.steps, FLAGS.window) for key, record in records.items()}
    results = quality_report.results(curves, records, FLAGS.minutes * 60, levels)
    print(quality_report.table(results, FLAGS.minutes, levels))
    if FLAGS.html:
        quality_report.write_page(FLAGS.html, curves, results, FLAGS.minutes, levels, FLAGS.window)
        print(f"the curves are in {FLAGS.html}")
    closing = quality_report.closing(curves, results, FLAGS.minutes * 60)
    close("time_to_quality", quality_report.figures(results, levels), **closing)


def checked_contestants(names, precisions) -> list[tuple[str, bool]]:
    """(system, whether it is compiled) of every name.

    Raises:
      ValueError: for a name or precision that is not known, or a system that is named twice.
    """
    parsed = training_step.checked_contestants(names, precisions)
    systems = [system for system, _ in parsed]
    for system in systems:
        if system not in SYSTEMS:
            raise ValueError(f"--contestants names {system!r}; choose among {', '.join(SYSTEMS)}.")
        if systems.count(system) > 1:
            raise ValueError(f"--contestants names {system!r} twice; give it once, with or without +compile.")
    return parsed


def checked_losses(texts) -> list[float]:
    """The losses in descending order; ValueError for what is no positive number."""
    try:
        levels = sorted(map(float, texts), reverse=True)
    except ValueError:
        levels = []
    if not levels or not levels[-1] > 0:
        raise ValueError(f"--losses={','.join(texts)} must be positive numbers, such as 7,6.5,6.")
    return levels


def check_weights_dir(folder, contestants):
    """Raises ValueError for a contestant that cannot write its weights, or whose folder exists."""
    if not folder:
        return
    for system, _ in contestants:
        if system == "model_garden":
            raise ValueError("--weights_dir: Model Garden's model has no format that kbert reads; leave out.")
        if Path(folder, system).exists():
            raise ValueError(f"--weights_dir: {Path(folder, system)} exists; name another folder.")


def check_decay(decay, contestants):
    """Raises ValueError for a decay with a contestant whose worker has a constant rate only."""
    if decay != "none" and any(system == "model_garden" for system, _ in contestants):
        raise ValueError(f"--decay={decay}: Model Garden takes part with a constant rate only; leave it out.")


def constant_rate() -> dict:
    """Constant but for rounding, after the warm-up: no contestant knows how far it will come."""
    return {"num_train_steps": 10**9}


def schedule_settings(seconds_per_step) -> dict:
    """What --decay asks for; a linear one ends after as many steps as fit into --minutes."""
    if FLAGS.decay == "none":
        return constant_rate()
    return {"num_train_steps": max(FLAGS.warmup_steps + 1, round(FLAGS.minutes * 60 / seconds_per_step))}


def find_faster(contestant, settings, pythons) -> tuple[tuple[str, bool, str], float]:
    """(system, whether it is compiled, its faster precision), and the seconds of a step in that one."""
    system, compiled = contestant
    with ExitStack() as stack:
        trials = {
            precision: start((system, compiled, precision), settings, pythons, stack)
            for precision in FLAGS.precisions
        }
        alternate(list(trials.values()), _TRIAL_WARM_UP + _TRIAL_STEPS, 1)
        seconds = {
            precision: statistics.median(step["seconds"] for step in trial.record.steps[_TRIAL_WARM_UP:])
            for precision, trial in trials.items()
        }
    said = ", ".join(f"{precision} {value:.3f} s" for precision, value in seconds.items())
    print(f"  {training_step.label(system, compiled)}, a step: {said}", flush=True)
    faster = min(seconds, key=lambda precision: seconds[precision])
    return (system, compiled, faster), seconds[faster]


def train_all(settings, pythons) -> dict:
    """(system, compiled, precision) -> its `Record`; all take turns until the time of each is used up."""
    with ExitStack() as stack:
        workers = {
            key: OnTheClock(start(key, own, pythons, stack), FLAGS.minutes * 60)
            for key, own in settings.items()
        }
        alternate(list(workers.values()), None, FLAGS.turn_seconds)
        for (system, _, _), worker in workers.items():
            if FLAGS.weights_dir:
                worker.save(Path(FLAGS.weights_dir).resolve() / system)
        return {key: worker.record for key, worker in workers.items()}


def start(key, settings, pythons, stack) -> Contestant:
    system, compiled, precision = key
    worker = Contestant(
        quality_report.label(key),
        training_step.command_of(system, pythons),
        settings | {"precision": precision, "compile": compiled},
        FLAGS.threads,
        cwd=REPOSITORY,
    )
    stack.callback(worker.close)
    return worker


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
