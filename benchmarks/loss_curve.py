r"""Benchmark of learning: masked-LM loss by step, kbert beside Hugging Face from the same start.

  make bench-peers
  python -m benchmarks.loss_curve --input_files='novels/*.txt' --html=loss_curve.html

Both get the same records (made by this project) in the same order, the same first weights, AdamW with the
same numbers, clipping, warm-up and decay, in float32. Two questions:

- exactness: without dropout nothing is random, so losses must agree step by step, to rounding that grows
  as training goes on;
- learning: with dropout, each system trains with several dropout seeds. The difference of the systems' mean
  curves is compared with its standard error, which comes from the deviation between the seeds of one system.

Speed is not measured here: each contestant has one core, and --at_once of them train at a time.
"""

import itertools
import statistics
import sys
import tempfile
import threading
from pathlib import Path
from queue import Empty, SimpleQueue

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.figures import closing_line
from benchmarks.learning import text_batches
from benchmarks.learning.text_batches import define_text_flags
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant
from kbert import command_line
from kbert.activity import activity
from kbert.progress import Progress
from kbert.reports.page import write_page as write_html

FLAGS = flags.FLAGS

SYSTEMS = ("kbert", "hugging_face")
_LOSS = "masked_lm_loss"
_STEPS_PER_REQUEST = 50


def define_flags():
    define_text_flags(hidden_size=128, layers=2, seq_length=64)
    flags.DEFINE_integer("steps", 300, "Training steps with dropout.", lower_bound=10)
    flags.DEFINE_integer("exact_steps", 40, "Training steps without dropout.", lower_bound=2)
    flags.DEFINE_integer("seeds", 4, "Dropout seeds of each system.", lower_bound=2)
    flags.DEFINE_integer("window", 50, "A point of the curves is a mean of so many steps.", lower_bound=1)
    flags.DEFINE_integer("at_once", 2, "Contestants that train at the same time, a core each.", lower_bound=1)
    flags.DEFINE_string("html", None, "Where to write a page with the curves.")
    environments.define_flags("hugging_face")


def main(argv):
    del argv
    text_batches.require_whole_heads()
    if FLAGS.steps < 2 * FLAGS.window:
        raise ValueError(f"--steps={FLAGS.steps} must be at least two windows of {FLAGS.window}.")
    pythons = environments.pythons("hugging_face")
    if not pythons:
        raise ValueError("there is nothing to compare with; `make bench-peers` installs Hugging Face.")
    with tempfile.TemporaryDirectory() as folder:
        longest = max(FLAGS.steps, FLAGS.exact_steps)
        settings = text_batches.prepare(Path(folder), longest, (0.0, FLAGS.dropout))
        settings["shared"] |= {
            "precision": "float32",
            "num_train_steps": FLAGS.steps,
            "num_warmup_steps": FLAGS.steps // 10,
        }
        jobs = [(system, 0.0, 1, FLAGS.exact_steps) for system in SYSTEMS]
        jobs += [
            (system, FLAGS.dropout, seed, FLAGS.steps)
            for seed in range(1, FLAGS.seeds + 1)
            for system in SYSTEMS
        ]
        curves = train_all(jobs, settings, pythons["hugging_face"])
    exact = {system: curves[system, 0.0, 1] for system in SYSTEMS}
    noisy = {
        system: np.stack([curves[system, FLAGS.dropout, seed] for seed in range(1, FLAGS.seeds + 1)])
        for system in SYSTEMS
    }
    found = exactness(exact) | {"learning": compare(noisy, FLAGS.window)}
    print(report(found))
    if FLAGS.html:
        write_page(FLAGS.html, found, noisy)
        print(f"the curves are in {FLAGS.html}")
    closing_line.close("loss_curve", closing(found))


# ------------------------------------------------------------------------------ training


def train_all(jobs, settings, hugging_face_python) -> dict:
    """(system, dropout, seed) -> array of the loss at each step. Each thread trains one job after another."""
    waiting, curves, failures = SimpleQueue(), {}, []
    for job in jobs:
        waiting.put(job)
    taken = _StepsTaken(sum(num_steps for *_, num_steps in jobs))

    def lane(core):
        while not failures:
            try:
                system, dropout, seed, num_steps = waiting.get_nowait()
            except Empty:
                return
            try:
                own = settings["shared"] | settings["weights"][dropout] | {"seed": seed}
                losses = train(system, own, num_steps, core, hugging_face_python, taken)
            except ValueError as error:
                failures.append(error)
                return
            curves[system, dropout, seed] = losses
            print(
                f"  {environments.PEERS.get(system, system)}, dropout {dropout}, seed {seed}: "
                f"loss {losses[0]:.4f} to {losses[-_STEPS_PER_REQUEST:].mean():.4f}",
                flush=True,
            )

    lanes = [threading.Thread(target=lane, args=(core,)) for core in range(FLAGS.at_once)]
    with activity("training"):
        for one in lanes:
            one.start()
        for one in lanes:
            one.join()
    if failures:
        raise failures[0]
    return curves


class _StepsTaken:
    """Shows how many of all steps the lanes together have taken."""

    def __init__(self, total: int):
        self._progress, self._lock, self._steps = Progress("Trained", "steps", total), threading.Lock(), 0

    def add(self, steps: int):
        with self._lock:
            self._steps += steps
            self._progress.report(self._steps)


def train(system, settings, num_steps, core, hugging_face_python, taken) -> np.ndarray:
    script = REPOSITORY / "benchmarks" / "peers" / "hugging_face_pretraining.py"
    command = [hugging_face_python, str(script)]
    if system == "kbert":
        command = [sys.executable, "-m", "benchmarks.workers.kbert_pretraining"]
    worker = Contestant(system, command, settings, threads=1, cwd=REPOSITORY, first_core=core)
    try:
        while len(worker.record.steps) < num_steps:
            turn = min(_STEPS_PER_REQUEST, num_steps - len(worker.record.steps))
            worker.take_turn(turn)
            taken.add(turn)
    finally:
        worker.close()
    return np.array([step[_LOSS] for step in worker.record.steps])


# ------------------------------------------------------------------------------ comparing


def exactness(curves) -> dict:
    """The largest relative difference of the losses without dropout: in the first ten steps, and in all."""
    kbert, peer = curves["kbert"], curves["hugging_face"]
    relative = np.abs(kbert - peer) / peer
    return {
        "exact_steps": len(relative),
        "exact_first_ten": float(relative[:10].max()),
        "exact_all": float(relative.max()),
        "exact_loss_fell_by": float(peer[0] - peer[-1]),
    }


def compare(curves, window) -> dict:
    """Compares the mean curves, and sets their difference beside the deviation between seeds.

    Args:
      curves: system -> losses [seeds, steps].
      window: how many steps are averaged first.

    Returns:
      "windows": a dict for each window, with both means, the difference, the deviation between seeds (pooled
      over the two systems) and the standard error of the difference; "all": the same over the whole curve;
      "second_half": the same over its second half.
    """
    num_windows = next(iter(curves.values())).shape[1] // window
    averaged = {
        system: losses[:, : num_windows * window].reshape(len(losses), num_windows, window).mean(2)
        for system, losses in curves.items()
    }
    windows = [
        {"last_step": (index + 1) * window}
        | difference(averaged["kbert"][:, index], averaged["hugging_face"][:, index])
        for index in range(num_windows)
    ]
    whole = difference(averaged["kbert"].mean(1), averaged["hugging_face"].mean(1))
    half = num_windows // 2
    second = difference(averaged["kbert"][:, half:].mean(1), averaged["hugging_face"][:, half:].mean(1))
    return {"windows": windows, "all": whole, "second_half": second}


def difference(ours, theirs) -> dict:
    """Compares two samples, one value per seed. The deviation is pooled over both systems."""
    pooled = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / 2)
    error = pooled * np.sqrt(1 / len(ours) + 1 / len(theirs))
    return {
        "kbert": float(np.mean(ours)),
        "hugging_face": float(np.mean(theirs)),
        "difference": float(np.mean(ours) - np.mean(theirs)),
        "seed_deviation": float(pooled),
        "standard_error": float(error),
    }


# ------------------------------------------------------------------------------ report


def report(found) -> str:
    rows = [
        f"\nwithout dropout, {found['exact_steps']} steps in which the loss fell by "
        f"{found['exact_loss_fell_by']:.3f}: the losses differ by at most {found['exact_first_ten']:.1e} of "
        f"their size in the first ten steps, {found['exact_all']:.1e} in all",
        f"with dropout {FLAGS.dropout}, {FLAGS.seeds} seeds each:",
        "| steps | kbert | Hugging Face | difference | standard error by seeds |",
        "|---|---|---|---|---|",
    ]
    for values in found["learning"]["windows"]:
        last = values["last_step"]
        rows.append(_row(f"{last - FLAGS.window + 1} to {last}", values))
    rows.append(_row("all", found["learning"]["all"]))
    rows.append(_row("second half", found["learning"]["second_half"]))
    return "\n".join(rows)


def _row(name, values):
    return (
        f"| {name} | {values['kbert']:.4f} | {values['hugging_face']:.4f} | {values['difference']:+.4f} "
        f"| {values['standard_error']:.4f} |"
    )


def closing(found) -> dict:
    """The closing JSON. "ratio" is the difference over the whole curve in standard errors."""
    learning = found["learning"]
    errors = [w["difference"] / w["standard_error"] for w in learning["windows"] if w["standard_error"]]
    return {
        "kbert": round(learning["second_half"]["kbert"], 4),
        "peers": {"Hugging Face": round(learning["second_half"]["hugging_face"], 4)},
        "ratio": round(learning["all"]["difference"] / learning["all"]["standard_error"], 2),
        "ratio_to": "the standard error by seeds, of the difference over all steps",
        "median_window_in_standard_errors": round(statistics.median(map(abs, errors)), 2),
        "exact_first_ten": found["exact_first_ten"],
        "exact_all": found["exact_all"],
        "exact_steps": found["exact_steps"],
    }


def write_page(path, found, curves):
    """The curves of all seeds, and the table."""
    from kbert.reports.line_charts import Chart, Kind, Series

    series = []
    for system in SYSTEMS:
        for losses in curves[system]:
            whole = losses[: len(losses) // FLAGS.window * FLAGS.window].reshape(-1, FLAGS.window).mean(1)
            steps = list(itertools.accumulate([FLAGS.window] * len(whole)))
            series.append(Series(system, SYSTEMS.index(system), steps, list(whole)))
    chart = Chart("masked-LM loss", series, Kind("{:.4f}".format, from_zero=False), FLAGS.steps)
    values = found["learning"]
    head = ["steps to", "kbert", "Hugging Face", "difference", "standard error"]
    cells = [
        [str(w["last_step"]), *(f"{w[key]:.4f}" for key in ("kbert", "hugging_face"))]
        + [f"{w['difference']:+.4f}", f"{w['standard_error']:.4f}"]
        for w in values["windows"]
    ]
    lead = (
        f"Over all steps the mean losses differ by {values['all']['difference']:+.4f}; the standard error by "
        f"seeds is {values['all']['standard_error']:.4f}."
    )
    note = (
        f"{FLAGS.seeds} seeds each, blue kbert, orange Hugging Face. Without dropout the losses of "
        f"{found['exact_steps']} steps differ by at most {found['exact_all']:.1e} of their size."
    )
    title, values = "Does it learn the same?", {"lead": lead, "note": note, "chart": chart}
    write_html(path, "benchmark.html", title=title, heads=head, rows=cells, **values)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
