"""Sets up the progress report of a training, from its task, config and devices."""

from absl import logging

from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.training.measuring.event_files import EventFiles, tensorboard_is_installed
from kbert.training.measuring.peak_flops import peak_of
from kbert.training.measuring.progress import TrainingProgress
from kbert.training.measuring.step_work import memory_sentence, training_flops


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
    # Frozen weights have fewer products than the formula of a whole training counts.
    is_whole = config.trains_whole_encoder
    return TrainingProgress(
        metrics_file,
        plan.num_train_steps,
        plan.phases[number].config.train_batch_size,
        step,
        before=before,
        phase=number + 1 if len(plan.phases) > 1 else None,
        count_flops=(lambda work: training_flops(config.encoder, work)) if is_whole else None,
        peak=peak,
        events=events,
        ends_by_time=config.optimizer.decay == "budget",
    )


def log_memory(task, config, plan, details: dict, num_replicas: int):
    """Logs about how much memory a device needs, for the largest batch of all phases.

    If texts are packed into as many rows as they need, this is an upper bound.

    Args:
      task, config, plan: those of the training.
      details: the content of run.json.
      num_replicas: how many devices share a batch.
    """
    records = [details.get("records")] * len(plan.phases)
    if "records_of_phases" in details:
        records = [one["records"] for one in details["records_of_phases"]]
    batches = []
    for phase, settings in zip(plan.phases, records, strict=True):
        settings, examples = settings or {}, phase.config.train_batch_size
        length = settings.get("max_seq_length", details["max_seq_length"])
        rows = config.packed_rows or examples * task.texts_per_example
        predictions = settings.get("max_predictions_per_seq", 0)
        devices = num_replicas * phase.config.gradient_accumulation_steps
        batches.append((-(-rows // devices), length, -(-predictions * examples // rows)))
    logging.info("%s", memory_sentence(config, *max(batches, key=lambda batch: batch[0] * batch[1])))
