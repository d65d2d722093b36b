r"""Benchmark: one pretraining step (masked LM and next sentence), kbert beside its peers.

  make bench-peers
  python -m benchmarks.training_step
  python -m benchmarks.training_step --encoder=bert_small --batch_size=16 --seq_length=512 --predictions=76

Every contestant is its own process with the same threads, the same first weights, the same batches in memory,
the same dropout rates and AdamW with the same numbers and clipping; it takes some steps and waits while the
others of its precision take theirs. The first losses are in the table: they differ by dropout alone (with
--dropout=0 they are equal up to rounding; KerasHub has no next sentence, and another activation in its head).
`+compile` is with XLA or torch.compile. The closing sentence takes each at its best.

The rows called "floor" give the least time that a step could take: a worker that does as much arithmetic in
large matrix products alone, in the same rounds.
"""

import dataclasses
import statistics
import tempfile
from pathlib import Path

import numpy as np
from absl import flags

from benchmarks.report import beside_best_peer, close, machine, markdown
from benchmarks.workers.adamw import adamw
from benchmarks.workers.contestants import alternate, started
from benchmarks.workers.environments import chosen_contestants, define_contestant_flags, parts_of
from kbert.cli import script
from kbert.config import EncoderConfig, encoder_presets, from_dict
from kbert.training.measuring.step_work import StepWork, training_flops

FLAGS = flags.FLAGS

# Encoder, batch size, sequence length: what runs without --encoder.
SHAPES = (("bert_mini", 32, 128), ("bert_base", 8, 128))
PRECISIONS = ("float32", "bfloat16")
_SYSTEMS = ("kbert", "model_garden", "keras_hub", "hugging_face")
_DEFAULT = tuple(f"{system}/{precision}" for precision in PRECISIONS for system in _SYSTEMS)
CONTESTANTS = (*_DEFAULT, *(f"{name}+compile" for name in _DEFAULT))
_BATCHES = 4
_WARM_UP_STEPS = 2


def define_flags():
    define_contestant_flags(CONTESTANTS, _DEFAULT)
    flags.DEFINE_enum("encoder", None, encoder_presets(), "One shape; by default BERT-mini and BERT-base.")
    flags.DEFINE_integer("batch_size", 32, "Examples of a batch, with --encoder.", lower_bound=1)
    flags.DEFINE_integer("seq_length", 128, "Tokens of an example, with --encoder.", lower_bound=8)
    flags.DEFINE_integer("predictions", 20, "Masked tokens of an example.", lower_bound=1)
    flags.DEFINE_float("dropout", 0.1, "All dropout rates.", lower_bound=0.0, upper_bound=0.9)
    flags.DEFINE_integer("rounds", 10, "Timed turns of every contestant.", lower_bound=1)
    flags.DEFINE_integer("steps_per_turn", 2, "Steps of a turn.", lower_bound=1)
    flags.DEFINE_integer(
        "updates_per_step",
        1,
        "Updates that a step takes before it looks at a loss: training loops on a GPU do not look at each.",
        lower_bound=1,
    )


def main():
    names = chosen_contestants(CONTESTANTS)
    if FLAGS.updates_per_step > 1 and {parts_of(name)[0] for name in names} - {"kbert", "hugging_face"}:
        raise ValueError("--updates_per_step above 1 is for kbert and hugging_face alone; see --contestants.")
    shapes = [(FLAGS.encoder, FLAGS.batch_size, FLAGS.seq_length)] if FLAGS.encoder else SHAPES
    print(machine(), flush=True)
    rows = {}
    for preset, batch_size, seq_length in shapes:
        encoder = encoder_of(preset, seq_length)
        work = StepWork.for_batch(batch_size, seq_length, FLAGS.predictions)
        flops = training_flops(encoder, work)
        title = f"{preset}, {batch_size} x {seq_length}"
        print(f"\n{title}: {flops / 1e9:.0f} GF of work an update, {FLAGS.threads} threads", flush=True)
        found = figures(measure(encoder, batch_size, seq_length, flops, names), flops, FLAGS.updates_per_step)
        print(table(found))
        speeds = {name: 1 / row["seconds"] for name, row in found.items() if not name.startswith("floor")}
        print(beside_best_peer(speeds))
        rows |= {f"{title}: {name}": row for name, row in found.items()}
    close("training_step", rows)


def encoder_of(preset: str, seq_length: int) -> EncoderConfig:
    """A preset with --dropout; ValueError where the lengths do not fit it."""
    encoder = from_dict(EncoderConfig, {"preset": preset})
    if not FLAGS.predictions < seq_length <= encoder.max_position_embeddings:
        raise ValueError(
            f"--seq_length={seq_length} must lie above --predictions={FLAGS.predictions} and be at most "
            f"{encoder.max_position_embeddings}, the positions of {preset}."
        )
    return dataclasses.replace(
        encoder, hidden_dropout_prob=FLAGS.dropout, attention_probs_dropout_prob=FLAGS.dropout
    )


def measure(encoder, batch_size, seq_length, flops, names) -> dict:
    """name -> its `Record`; "floor/float32" is that of the matrix products."""
    # Late: reading and writing checkpoints loads Keras.
    from benchmarks.workers import starting_point

    records = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = starting_point.write_weights(
            Path(folder), encoder, None, "keras_hub" in {parts_of(name)[0] for name in names}
        )
        batches = starting_point.random_batches(
            _BATCHES, batch_size, seq_length, FLAGS.predictions, encoder.vocab_size
        )
        np.savez(Path(folder, "batches.npz"), **batches)
        settings |= {
            "encoder": dataclasses.asdict(encoder),
            "batches": str(Path(folder, "batches.npz")),
            "optimizer": adamw(1e-4),
            "flops": flops * FLAGS.updates_per_step,
            "updates_per_step": FLAGS.updates_per_step,
            "num_warmup_steps": 0,
            "seed": 1,
        }
        for precision in dict.fromkeys(parts_of(name)[1] for name in names):
            group = [name for name in names if parts_of(name)[1] == precision]
            with started([*group, f"floor/{precision}"], "pretraining", settings) as workers:
                alternate(workers, 1, _WARM_UP_STEPS)
                alternate(workers, FLAGS.rounds, FLAGS.steps_per_turn)
                records |= {worker.name: worker.record for worker in workers}
    return records


def figures(records: dict, flops: float, updates_per_step=1) -> dict:
    """name -> figures of an update after the warm-up; `flops` is its work."""
    rows = {}
    for name, record in records.items():
        steps = record.steps[_WARM_UP_STEPS:]
        seconds = sorted(step["seconds"] / updates_per_step for step in steps)
        rows[name] = {
            "seconds": statistics.median(seconds),
            "fastest": seconds[0],
            "slowest": seconds[-1],
            "cpu_seconds": statistics.median(step["cpu_seconds"] for step in steps) / updates_per_step,
            "gigaflops_per_second": flops / statistics.median(seconds) / 1e9,
            "megabytes": record.peak_megabytes,
            "losses": [step.get("masked_lm_loss") for step in record.steps[:2]],
        }
    return rows


def table(rows: dict) -> str:
    """Markdown: a row for every contestant and for the floor of each precision."""
    heads = ["", "s/update", "fastest to slowest", "CPU s/update", "GF/s", "peak MB", "first MLM losses"]
    return markdown(
        heads,
        [
            [
                name,
                f"{row['seconds']:.4f}",
                f"{row['fastest']:.4f} to {row['slowest']:.4f}",
                f"{row['cpu_seconds']:.4f}",
                f"{row['gigaflops_per_second']:.0f}",
                f"{row['megabytes']:,.0f}",
                ", ".join(f"{loss:.5f}" for loss in row["losses"] if loss),
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
