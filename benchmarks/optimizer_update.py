r"""Benchmark: clipping and updating all weights of a model, without a forward or backward pass.

  python -m benchmarks.optimizer_update
  python -m benchmarks.optimizer_update --encoder=bert_base --repetitions=15

The work is memory traffic. For each weight, the gradient is read for the norm; then gradient, weight and two
moments are read, and weight and moments are written: 32 bytes, if nothing else is read or written. The rate
in the table is these bytes over the time. Contestants run in turn; the time is the median, with the fastest
in brackets. CPU time is the median over updates, summed over threads; it is the better measure where other
programs share the cores.

- separate: TensorFlow operations one after the other: clip, decay, fused Adam (ResourceApplyAdam).
- kbert: the norm, then kbert's optimizer with the clipping factor as its `gradient_scale`.
- kbert, all XLA: the same compiled by XLA as one program, as in a training step compiled as a whole.
- Keras: keras.optimizers.AdamW with `global_clipnorm`.
- kbert LAMB: as kbert, with norms of every variable and update.
"""

import statistics
import time

from absl import flags

from benchmarks.figures import closing_line
from kbert import command_line
from kbert.config import EncoderConfig, OptimizerConfig, encoder_presets, from_dict

FLAGS = flags.FLAGS

_BYTES_OF_A_WEIGHT = 32


def define_flags():
    flags.DEFINE_enum("encoder", "bert_mini", encoder_presets(), "Its variables are updated.")
    flags.DEFINE_integer("repetitions", 31, "Timed updates of each contestant.", lower_bound=1)
    flags.DEFINE_integer("threads", 2, "Threads of TensorFlow's operations.", lower_bound=1)


def main(argv):
    del argv
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(FLAGS.threads)
    updates, num_weights = _updates(from_dict(EncoderConfig, {"preset": FLAGS.encoder}))
    gigabytes = num_weights * _BYTES_OF_A_WEIGHT / 1e9
    compile_seconds = {name: _timed(update)[0] for name, update in updates.items()}
    measured = {name: [] for name in updates}
    for _ in range(FLAGS.repetitions):
        for name, update in updates.items():
            measured[name].append(_timed(update))
    print(f"{FLAGS.encoder}: {num_weights / 1e6:.1f} million weights, {FLAGS.threads} threads")
    print(f"{'':16}{'milliseconds':>20}{'GB/s':>8}{'CPU ms':>10}{'first call, s':>16}")
    summary = {"encoder": FLAGS.encoder, "threads": FLAGS.threads}
    for name, values in measured.items():
        seconds, cpu_seconds = zip(*values, strict=True)
        median, fastest, cpu = statistics.median(seconds), min(seconds), statistics.median(cpu_seconds)
        times, first = f"{median * 1e3:.1f} ({fastest * 1e3:.1f})", compile_seconds[name]
        print(f"{name:16}{times:>20}{gigabytes / median:>8.1f}{cpu * 1e3:>10.1f}{first:>16.1f}")
        summary[name] = {
            "median_ms": round(median * 1e3, 2),
            "fastest_ms": round(fastest * 1e3, 2),
            "median_cpu_ms": round(cpu * 1e3, 2),
        }
    closing_line.close("optimizer_update", {"results": summary})


def _updates(encoder_config):
    """(name -> function that clips and updates all variables once, the number of weights)."""
    import keras
    import tensorflow as tf

    from kbert.encoder import BertEncoder
    from kbert.runs.run_directory import trained_weights
    from kbert.tasks.pretraining import Pretraining
    from kbert.training.optimizers import make_optimizer

    keras.utils.set_random_seed(1)
    weights = trained_weights(Pretraining().build_model(BertEncoder(encoder_config)))
    gradients = [tf.random.stateless_normal(v.shape, (n, 1)) for n, v in enumerate(weights.values())]
    rate, step = tf.constant(1e-4), tf.constant(100)
    config = OptimizerConfig(name="adamw")
    adamw = make_optimizer(config, weights)
    lamb = make_optimizer(OptimizerConfig(name="lamb"), weights)
    keras_adamw = keras.optimizers.AdamW(
        1e-4, weight_decay=config.weight_decay, epsilon=1e-6, global_clipnorm=1.0
    )
    keras_adamw.exclude_from_weight_decay(var_names=["gamma", "beta", "bias"])
    keras_adamw.build(list(weights.values()))

    def kbert(optimizer):
        def update():
            norm = tf.linalg.global_norm(gradients)
            optimizer.apply(gradients, rate, step, gradient_scale=1.0 / tf.maximum(norm, 1.0))
            return norm

        return update

    def with_keras():
        keras_adamw.apply(gradients)
        return rate

    updates = {
        "separate": tf.function(_separate(adamw, weights, gradients, rate, step)),
        "kbert": tf.function(kbert(adamw)),
        "kbert, all XLA": tf.function(kbert(adamw), jit_compile=True),
        "Keras": tf.function(with_keras),
        "kbert LAMB": tf.function(kbert(lamb)),
    }
    return updates, sum(gradient.shape.num_elements() for gradient in gradients)


def _separate(optimizer, weights, gradients, rate, step):
    """AdamW as one operation after the other, on the optimizer's own moments."""
    import tensorflow as tf

    from kbert.training.optimizers.parameter_groups import is_decayed

    config, slots = optimizer.config, optimizer.slots()

    def update():
        clipped, norm = tf.clip_by_global_norm(gradients, config.global_clipnorm)
        updates = tf.cast(step + 1, tf.float32)
        for (name, weight), gradient in zip(weights.items(), clipped, strict=True):
            if is_decayed(name, config.exclude_from_weight_decay):
                weight.value.assign_sub(rate * config.weight_decay * weight.value)
            tf.raw_ops.ResourceApplyAdam(
                var=weight.value.handle,
                m=slots[f"{name}/adam_m"].handle,
                v=slots[f"{name}/adam_v"].handle,
                beta1_power=tf.pow(config.beta_1, updates),
                beta2_power=tf.pow(config.beta_2, updates),
                lr=rate,
                beta1=config.beta_1,
                beta2=config.beta_2,
                epsilon=config.epsilon,
                grad=gradient,
            )
        return norm

    return update


def _timed(update):
    """(wall seconds, CPU seconds of all threads) of one update."""
    start, cpu_start = time.perf_counter(), time.process_time()
    update().numpy()
    return time.perf_counter() - start, time.process_time() - cpu_start


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
