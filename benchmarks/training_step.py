r"""Benchmark: one pretraining step (masked LM and next sentence), kbert beside its peers.

  make bench-peers
  python -m benchmarks.training_step
  python -m benchmarks.training_step --encoder=bert_small --batch_size=16 --seq_length=512 --predictions=76

Every contestant is its own process with the same threads, the same first weights, the same batches in memory,
the same dropout rates and AdamW with the same numbers and clipping; it takes some steps and waits while the
others take theirs. The first losses are in the table: they differ by dropout alone (with --dropout=0 they are
equal up to rounding; KerasHub has no next sentence, and another activation in its head). Each contestant runs
in each precision, and its faster precision counts. `+compile` after a name compiles that contestant, with XLA
or torch.compile.

The rows called "floor" give the least time that a step could take: the arithmetic that it needs, at the speed
of large matrix products on this machine, measured in the same rounds.
"""

import dataclasses
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks import REPOSITORY
from benchmarks.report import close, fit_for_machine, machine
from benchmarks.workers import environments
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line
from kbert.config import EncoderConfig, OptimizerConfig, encoder_presets, from_dict
from kbert.training.devices.device_memory import memory_of_cpu
from kbert.training.measuring.training_flops import Heads, StepWork, training_flops

FLAGS = flags.FLAGS

# Encoder, batch size, sequence length: what runs without --encoder.
SHAPES = (("bert_mini", 32, 128), ("bert_base", 8, 128))
_PEERS = ("model_garden", "keras_hub", "hugging_face")
CONTESTANTS = ("kbert", *_PEERS)
PRECISIONS = ("float32", "bfloat16")
_NAMES = {"kbert": "kbert"} | environments.PEERS
_BATCHES = 4
_WARM_UP_STEPS = 2
# An idle worker: its program; weights, gradients and two moments in float32. A working one needs more.
_IDLE_BYTES, _BYTES_PER_WEIGHT, _WORKING_BYTES = 1.0e9, 16, 3.0e9


def define_flags():
    flags.DEFINE_enum("encoder", None, encoder_presets(), "One shape; by default BERT-mini and BERT-base.")
    flags.DEFINE_integer("batch_size", 32, "Examples of a batch, with --encoder.", lower_bound=1)
    flags.DEFINE_integer("seq_length", 128, "Tokens of an example, with --encoder.", lower_bound=8)
    flags.DEFINE_integer("predictions", 20, "Masked tokens of an example.", lower_bound=1)
    flags.DEFINE_float("dropout", 0.1, "All dropout rates.", lower_bound=0.0, upper_bound=0.9)
    flags.DEFINE_list("contestants", list(CONTESTANTS), "Who takes part; +compile after a name compiles it.")
    flags.DEFINE_list("precisions", fit_for_machine(PRECISIONS), "Each contestant runs in each of these.")
    flags.DEFINE_integer("threads", 2, "Threads of each contestant.", lower_bound=1)
    flags.DEFINE_integer("rounds", 10, "Timed turns of every contestant.", lower_bound=1)
    flags.DEFINE_integer("steps_per_turn", 2, "Steps of a turn.", lower_bound=1)
    environments.define_flags(*_PEERS)


def main(argv):
    del argv
    contestants = checked_contestants(FLAGS.contestants, FLAGS.precisions)
    pythons = {"kbert": sys.executable} | environments.pythons(
        *dict.fromkeys(system for system, _ in contestants if system != "kbert")
    )
    contestants = [(system, compiled) for system, compiled in contestants if system in pythons]
    shapes = [(FLAGS.encoder, FLAGS.batch_size, FLAGS.seq_length)] if FLAGS.encoder else SHAPES
    print(machine(), flush=True)
    summaries = []
    for preset, batch_size, seq_length in shapes:
        encoder = from_dict(EncoderConfig, {"preset": preset})
        encoder = dataclasses.replace(
            encoder, hidden_dropout_prob=FLAGS.dropout, attention_probs_dropout_prob=FLAGS.dropout
        )
        if not FLAGS.predictions < seq_length <= encoder.max_position_embeddings:
            raise ValueError(
                f"--seq_length={seq_length} must lie above --predictions={FLAGS.predictions} and be at most "
                f"{encoder.max_position_embeddings}, the positions of {preset}."
            )
        work = StepWork.of_batch(batch_size, seq_length, FLAGS.predictions)
        flops = training_flops(encoder, work, Heads(masked_lm=True, pooled_labels=2))
        title = f"{preset}, {batch_size} x {seq_length}"
        print(f"\n{title}: {flops / 1e9:.0f} GF of useful work a step, {FLAGS.threads} threads", flush=True)
        records = measure(encoder, batch_size, seq_length, contestants, pythons)
        results, peaks = summarize(records, flops)
        print(table(results, peaks, flops))
        summaries.append({"shape": title} | summary(results, peaks, flops))
    one_table = rows(results, peaks, flops) if len(shapes) == 1 else None
    close("training_step", one_table or {}, **joined(summaries))


def checked_contestants(names, precisions) -> list[tuple[str, bool]]:
    """(system, whether it is compiled) of every name.

    Raises:
      ValueError: for a name or precision that is not known.
    """
    parsed = []
    for name in names:
        system, separator, option = name.partition("+")
        if system not in CONTESTANTS or (separator and option != "compile"):
            raise ValueError(
                f"--contestants names {name!r}; choose among {', '.join(CONTESTANTS)}, each also with "
                "+compile after it."
            )
        parsed.append((system, bool(option)))
    for precision in precisions:
        if precision not in PRECISIONS:
            raise ValueError(f"--precisions names {precision!r}; choose among {', '.join(PRECISIONS)}.")
    return parsed


# ------------------------------------------------------------------------------ measuring


def measure(encoder, batch_size, seq_length, contestants, pythons) -> dict:
    """(system, compiled, precision) -> its `Record`, and "matmul" -> those of the matrix products."""
    # Late: reading and writing checkpoints loads Keras.
    from benchmarks.workers import starting_point

    with tempfile.TemporaryDirectory() as folder:
        settings = starting_point.write_weights(Path(folder), encoder, None, "keras_hub" in pythons)
        batches = starting_point.random_batches(
            _BATCHES, batch_size, seq_length, FLAGS.predictions, encoder.vocab_size
        )
        np.savez(Path(folder, "batches.npz"), **batches)
        adam = dataclasses.asdict(OptimizerConfig())
        names = ("learning_rate", "weight_decay", "beta_1", "beta_2", "epsilon", "global_clipnorm")
        settings |= {
            "encoder": dataclasses.asdict(encoder),
            "batches": str(Path(folder, "batches.npz")),
            "optimizer": {name: adam[name] for name in names},
            "num_train_steps": 10**9,  # nearly a constant rate; Model Garden and KerasHub have a constant one
            "num_warmup_steps": 0,
            "seed": 1,
        }
        records = {}
        for group in groups(contestants, FLAGS.precisions, encoder):
            records |= measure_group(group, settings, pythons, matmul="matmul" not in records)
    return records


def groups(contestants, precisions, encoder) -> list[list]:
    """All workers at once if there is memory for them, else one precision after the other."""
    from kbert.checkpoints.model_variables import model_shapes, parts_of

    shapes = model_shapes(encoder, parts_of("pretraining").values())
    weights = sum(int(np.prod(shape)) for shape in shapes.values())
    everyone = [(*contestant, precision) for precision in precisions for contestant in contestants]
    needed = len(everyone) * (_IDLE_BYTES + _BYTES_PER_WEIGHT * weights) + _WORKING_BYTES
    if needed <= memory_of_cpu().available:
        return [everyone]
    print("not enough memory for all at once: one precision after the other", flush=True)
    return [[one for one in everyone if one[2] == precision] for precision in precisions]


def measure_group(group, settings, pythons, matmul) -> dict:
    workers = {}
    with ExitStack() as stack:
        for system, compiled, precision in group:
            name = f"{label(system, compiled)}, {precision}"
            own = settings | {"precision": precision, "compile": compiled}
            workers[system, compiled, precision] = start(name, command_of(system, pythons), own, stack)
            print(f"  {name}: {workers[system, compiled, precision].record.facts}", flush=True)
        if matmul:
            command = [sys.executable, "-m", "benchmarks.workers.matmul_speed"]
            workers["matmul"] = start("matrix products", command, {"precisions": FLAGS.precisions}, stack)
        everyone = list(workers.values())
        alternate(everyone, 1, _WARM_UP_STEPS)
        alternate(everyone, FLAGS.rounds, FLAGS.steps_per_turn)
        return {key: worker.record for key, worker in workers.items()}


def start(name, command, settings, stack) -> Contestant:
    worker = Contestant(name, command, settings, FLAGS.threads, cwd=REPOSITORY)
    stack.callback(worker.close)
    return worker


def command_of(system, pythons) -> list[str]:
    if system == "kbert":
        return [pythons[system], "-m", "benchmarks.workers.kbert_pretraining"]
    return [
        pythons[system],
        str(REPOSITORY / "benchmarks" / "peers" / f"{system}_pretraining.py"),
    ]


def label(system, compiled) -> str:
    return _NAMES[system] + (" (compiled)" if compiled else "")


# ------------------------------------------------------------------------------ report


def summarize(records, flops) -> tuple[dict, dict]:
    """(contestant -> figures, precision -> GF/s of matrix products), both after the warm-up."""
    timed = {key: record.steps[_WARM_UP_STEPS:] for key, record in records.items()}
    precisions = dict.fromkeys(key[2] for key in records if key != "matmul")
    peaks = {
        precision: statistics.median(step[precision] for step in timed["matmul"]) for precision in precisions
    }
    results = {}
    for key in records:
        if key == "matmul":
            continue
        seconds = sorted(step["seconds"] for step in timed[key])
        median = statistics.median(seconds)
        results[key] = {
            "seconds": median,
            "fastest": seconds[0],
            "slowest": seconds[-1],
            "cpu_seconds": statistics.median(step["cpu_seconds"] for step in timed[key]),
            "gigaflops_per_second": flops / median / 1e9,
            "share": flops / median / 1e9 / peaks[key[2]],
            "megabytes": records[key].peak_megabytes,
            "losses": [step["masked_lm_loss"] for step in records[key].steps[:2]],
            "versions": records[key].facts,
        }
    return results, peaks


def table(results, peaks, flops) -> str:
    """Markdown: a row for every contestant and precision, and the floor of each precision."""
    rows = [
        "| contestant | precision | s/step | fastest to slowest | CPU s/step | GF/s | of matmul's | peak MB "
        "| first masked-LM losses |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (system, compiled, precision), facts in results.items():
        losses = ", ".join(f"{loss:.4f}" for loss in facts["losses"])
        rows.append(
            f"| {label(system, compiled)} | {precision} | {facts['seconds']:.3f} | {facts['fastest']:.3f} to "
            f"{facts['slowest']:.3f} | {facts['cpu_seconds']:.3f} | {facts['gigaflops_per_second']:.0f} | "
            f"{facts['share']:.0%} | {facts['megabytes']:,.0f} | {losses} |"
        )
    for precision, peak in peaks.items():
        rows.append(
            f"| *floor: matrix products alone* | {precision} | {flops / 1e9 / peak:.3f} | | | {peak:.0f} "
            "| 100% | | |"
        )
    return "\n".join(rows)


def rows(results, peaks, flops) -> dict:
    """The closing line's rows: "kbert/float32" or "hugging_face+compile/bfloat16" -> figures; the floors."""
    found = {
        f"{system}{'+compile' * compiled}/{precision}": facts
        for (system, compiled, precision), facts in results.items()
    }
    floors = {
        f"floor/{precision}": {"seconds": flops / 1e9 / peak, "gigaflops_per_second": peak}
        for precision, peak in peaks.items()
    }
    return found | floors


def summary(results, peaks, flops) -> dict:
    """Each system in its faster precision, and how many times faster than the best peer kbert is."""
    best = {}
    for (system, compiled, precision), facts in results.items():
        found = {"seconds": round(facts["seconds"], 4), "precision": precision, "compiled": compiled}
        if system not in best or found["seconds"] < best[system]["seconds"]:
            best[system] = found
    closing = {
        "kbert": best.pop("kbert", None),
        "peers": {_NAMES[system]: found for system, found in best.items()},
        "floor_seconds": {precision: round(flops / 1e9 / peak, 4) for precision, peak in peaks.items()},
    }
    if closing["kbert"] and best:
        rival = min(best, key=lambda system: best[system]["seconds"])
        closing["ratio"] = round(best[rival]["seconds"] / closing["kbert"]["seconds"], 2)
        closing["ratio_to"] = _NAMES[rival]
    return closing


def joined(summaries) -> dict:
    """The closing JSON: the keys of the first shape at the top level, and all shapes under "shapes"."""
    first = summaries[0]
    top = {key: first[key] for key in ("kbert", "peers", "ratio", "ratio_to") if key in first}
    return top | {"shapes": summaries}


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
