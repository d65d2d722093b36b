"""Sets up the progress report and the memory estimate of a training, from its task, config and devices."""

import dataclasses

from absl import logging

from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.training.devices.device_memory import memory_of_cpu, memory_of_gpu
from kbert.training.devices.jit import device_type
from kbert.training.measuring.event_files import EventFiles, tensorboard_is_installed
from kbert.training.measuring.memory_estimate import (
    TrainingShape,
    estimate_memory,
    largest_batch,
    readable_bytes,
)
from kbert.training.measuring.peak_flops import peak_of
from kbert.training.measuring.progress import TrainingProgress
from kbert.training.measuring.training_flops import Heads, training_flops


def make_progress(
    task, config, plan, number: int, run, strategy, metrics_file: MetricsFile | None, step: int, before=None
) -> TrainingProgress:
    """The `TrainingProgress` of a phase.

    Args:
      task, config, plan, run, strategy: those of the training.
      number: the index of the phase in `plan.phases`.
      metrics_file: the run's, or None if another process writes metrics and event files.
      step: the step at which it begins.
      before: see `TrainingProgress`.
    """
    events = None
    if metrics_file and tensorboard_is_installed():
        lines = read_metrics(metrics_file.path) if metrics_file.path.is_file() else ()
        events = EventFiles(run.path / "events", lines)
    peak = peak_of(strategy, config.precision, config.peak_flops)
    if peak and step == plan.phases[number].first_step:
        logging.info("peak: %.3g TFLOP/s, %s", peak.flops_per_second / 1e12, peak.source)
    heads = Heads.of_parts(task.parts)
    return TrainingProgress(
        metrics_file,
        plan.num_train_steps,
        plan.phases[number].config.train_batch_size,
        step,
        before=before,
        phase=number + 1 if len(plan.phases) > 1 else None,
        count_flops=lambda work: training_flops(config.encoder, work, heads, config.frozen, config.adapters),
        peak=peak,
        events=events,
        ends_by_time=config.optimizer.decay == "budget",
    )


def training_shapes(task, config, plan, details: dict, num_replicas: int) -> list[TrainingShape]:
    """The shape of the batch that one device works on, for each phase; `details`: the content of run.json."""
    records = [details.get("records")] * len(plan.phases)
    if "records_of_phases" in details:
        records = [one["records"] for one in details["records_of_phases"]]
    return [
        _shape_of_phase(task, config, phase.config, settings or {}, details, num_replicas)
        for phase, settings in zip(plan.phases, records, strict=True)
    ]


def _shape_of_phase(task, config, phase_config, settings, details, num_replicas):
    length = settings.get("max_seq_length", details["max_seq_length"])
    examples = phase_config.train_batch_size
    # Records that kbert did not write do not say this: then use the 15 % of the original BERT.
    predictions = settings.get("max_predictions_per_seq", round(0.15 * length))
    rows = config.packed_rows or examples * task.texts_per_example
    devices = num_replicas * phase_config.gradient_accumulation_steps
    return TrainingShape(
        -(-rows // devices),
        length,
        -(-predictions * examples // rows),
        Heads.of_parts(task.parts),
        config.precision,
        config.recompute_activations,
        phase_config.gradient_accumulation_steps > 1,
        config.frozen,
        config.adapters,
    )


def log_memory(task, config, plan, details: dict, strategy):
    """Logs, before training begins, the memory needed, the memory available, and the largest batch that fits.

    If it does not fit this is only a warning, since it is an estimate. If texts are packed into as many rows
    as they need, the estimate is an upper bound. For a model without an encoder there is none.
    """
    if not task.has_encoder:
        return
    device, num_replicas = device_type(strategy), strategy.num_replicas_in_sync
    memory = {"GPU": memory_of_gpu, "CPU": memory_of_cpu}.get(device, lambda: None)()
    shapes = training_shapes(task, config, plan, details, num_replicas)
    shape = max(shapes, key=lambda shape: estimate_memory(config.encoder, shape).total)
    sharing = 1
    if device == "CPU" and num_replicas > 1:
        sharing = len(strategy.extended.worker_devices)  # the devices of this process
    say, sentence = memory_sentence(config.encoder, shape, memory, sharing)
    say("%s", sentence)


def memory_sentence(encoder, shape: TrainingShape, memory, num_sharing: int = 1):
    """The sentence that `log_memory` logs.

    Args:
      encoder: the `EncoderConfig`.
      shape: the `TrainingShape` of one device.
      memory: `DeviceMemory`, or None if it is not known.
      num_sharing: the number of replicas that share this memory.

    Returns:
      (logging.info or logging.warning, the sentence).
    """
    estimate = estimate_memory(encoder, shape)
    batch = f"{shape.batch_size} x {shape.seq_length} tokens"
    needs = f"memory: about {readable_bytes(estimate.total)} for {batch} on a device"
    if memory is None:
        return logging.info, f"{needs}."
    available = memory.available // num_sharing
    has = f"{memory.device} has {readable_bytes(available)}" + (" for each" if num_sharing > 1 else "")
    most = largest_batch(encoder, shape, available)
    if estimate.total <= available:
        return logging.info, f"{needs}; {has}: it fits (at most {most} examples at a time)."
    most = f"at most {most} examples at a time fit" if most else "not even one example fits"
    if not shape.recompute:
        recomputed = largest_batch(encoder, dataclasses.replace(shape, recompute=True), available)
        most += f", with recompute_activations {recomputed}"
    return logging.warning, (
        f"{needs}, but {has}: IT WILL PROBABLY NOT FIT; {most}. Raise gradient_accumulation_steps, or lower "
        "train_batch_size."
    )
