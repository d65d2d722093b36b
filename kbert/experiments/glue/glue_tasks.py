"""The tasks of GLUE: their folders, the scores that GLUE reports, the files that it asks for.

A task is trained by its config, `configs/finetuning/NAME.toml`.
"""

from dataclasses import dataclass, field

from kbert.files.near_names import did_you_mean


@dataclass(frozen=True)
class Submission:
    """One file of a submission.

    Args:
      name: how GLUE calls it.
      sources: where the texts lie, in the task's folder, the first that is there: (file, the column of the
        index that GLUE wants back; None: the row's number, from 0).
    """

    name: str
    sources: tuple[tuple[str, str | None], ...] = (("test.tsv", "index"),)


@dataclass(frozen=True)
class GlueTask:
    """A task of GLUE.

    Args:
      name: as in `tasks`; also that of its config.
      folders: how its folder is called, but for case and marks: GLUE's own name, then those of others.
      metrics: what GLUE reports of it; the first chooses the learning rate and the run.
      submissions: the files that it gives to a submission.
      labels: the predictions that GLUE allows; () for numbers from 0 to 5.
      dev_file: what it is evaluated on.
      other_dev_files: name -> what it is evaluated on as well.
      model_of: the task whose model answers; None: it is trained.
      in_average: whether it counts in the average.
    """

    name: str
    folders: tuple[str, ...]
    metrics: tuple[str, ...]
    submissions: tuple[Submission, ...]
    labels: tuple[str, ...] = ("0", "1")
    dev_file: str = "dev.tsv"
    other_dev_files: dict[str, str] = field(default_factory=dict)
    model_of: str | None = None
    in_average: bool = True


_MNLI_LABELS = ("contradiction", "entailment", "neutral")
_RTE_LABELS = ("entailment", "not_entailment")

# Scores and averages: arXiv 1804.07461, section 3 and table 1. Names of files and predictions of a
# submission: benchmarks.py of nyu-mll/jiant.
GLUE_TASKS = {
    task.name: task
    for task in (
        GlueTask("cola", ("CoLA",), ("matthews",), (Submission("CoLA.tsv"),)),
        GlueTask("sst2", ("SST-2", "SST"), ("accuracy",), (Submission("SST-2.tsv"),)),
        GlueTask(
            "mrpc",
            ("MRPC",),
            ("accuracy", "f1"),
            (Submission("MRPC.tsv", (("test.tsv", "index"), ("msr_paraphrase_test.txt", None))),),
        ),
        GlueTask("stsb", ("STS-B", "STS"), ("pearson", "spearman"), (Submission("STS-B.tsv"),), labels=()),
        GlueTask("qqp", ("QQP",), ("accuracy", "f1"), (Submission("QQP.tsv", (("test.tsv", "id"),)),)),
        GlueTask(
            "mnli",
            ("MNLI",),
            ("accuracy", "mismatched_accuracy"),
            (
                Submission("MNLI-m.tsv", (("test_matched.tsv", "index"),)),
                Submission("MNLI-mm.tsv", (("test_mismatched.tsv", "index"),)),
            ),
            labels=_MNLI_LABELS,
            dev_file="dev_matched.tsv",
            other_dev_files={"mismatched": "dev_mismatched.tsv"},
        ),
        GlueTask("qnli", ("QNLI", "QNLIv2"), ("accuracy",), (Submission("QNLI.tsv"),), labels=_RTE_LABELS),
        GlueTask("rte", ("RTE",), ("accuracy",), (Submission("RTE.tsv"),), labels=_RTE_LABELS),
        # Its dev file has training sentences with the opposite label: the BERT paper leaves it out.
        GlueTask("wnli", ("WNLI",), ("accuracy",), (Submission("WNLI.tsv"),), in_average=False),
        GlueTask(
            "ax",
            ("AX", "diagnostic"),
            (),
            (
                Submission(
                    "AX.tsv", tuple((name, "index") for name in ("AX.tsv", "test.tsv", "diagnostic.tsv"))
                ),
            ),
            labels=_MNLI_LABELS,
            model_of="mnli",
        ),
    )
}


def glue_tasks(names) -> list[GlueTask]:
    """The tasks of these names, each once, in GLUE's order; all for no name.

    Raises:
      ValueError: for a name that is none, with the one that was perhaps meant, and for a task without the one
        whose model answers it.
    """
    names = [name.strip().lower() for name in names]
    for name in names:
        if name not in GLUE_TASKS:
            hint = did_you_mean(name, GLUE_TASKS, nearness=0.6)
            raise ValueError(f"tasks: {name!r} is no task of GLUE.{hint} Tasks: {', '.join(GLUE_TASKS)}.")
    chosen = [task for task in GLUE_TASKS.values() if not names or task.name in names]
    trained = {task.name for task in chosen if not task.model_of}
    for task in chosen:
        if task.model_of and task.model_of not in trained:
            raise ValueError(
                f"tasks: {task.name} is predicted by the model of {task.model_of}; name {task.model_of} too."
            )
    return chosen
