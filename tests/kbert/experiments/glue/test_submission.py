"""The files of a submission: GLUE's header, every row once and in order, predictions as GLUE spells them."""

from types import SimpleNamespace

import pytest

from kbert.config import FinetuningConfig, load_config
from kbert.experiments.glue.glue_tasks import GLUE_TASKS
from kbert.experiments.glue.submission import format_prediction, write_submission
from kbert.inference import loading
from kbert.shipped_configs import configs_directory
from tests.kbert.experiments.glue import small_glue


class AnsweringRun:
    """What a submission needs of a run. It answers by the first word: the small files' own rule."""

    path = "run"
    words = ("jump", "walk", "look")

    def __init__(self, name, **changes):
        self.config = load_config(FinetuningConfig, configs_directory() / "finetuning" / f"{name}.toml")
        self.asked = []
        self._changes = changes

    def task(self):
        return SimpleNamespace(**{"labels": self.config.dataset.labels} | self._changes)

    def predict(self, examples):
        self.asked += examples
        places, labels = (
            [self.words.index(one["text"].split()[0]) for one in examples],
            self.config.dataset.labels,
        )
        if not labels:
            return [{"prediction": 4.0 * place - 1.5} for place in places]
        return [{"label": labels[place % len(labels)]} for place in places]


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a submission of small files; gives its lines and the run that was asked."""
    monkeypatch.setattr(loading, "open_model", lambda run: run)
    folder = small_glue.write_glue(tmp_path / "glue")

    def write(name, source, index="index", run=None, change=None):
        run = run or AnsweringRun(GLUE_TASKS[name].model_of or name)
        if change:
            path = folder / source
            path.write_text(change(path.read_text(encoding="utf-8-sig")), encoding="utf-8")
        output = tmp_path / "out.tsv"
        write_submission(GLUE_TASKS[name], run, folder / source, index, output)
        return output.read_bytes().decode().split("\n"), run

    return write


# Task, its file, the column of the index, and what the first three rows say.
OFFICIAL = [
    ("cola", "CoLA/test.tsv", "index", ["0", "1", "0"]),
    ("sst2", "SST-2/test.tsv", "index", ["0", "1", "0"]),
    ("mrpc", "MRPC/test.tsv", "index", ["0", "1", "0"]),
    ("qqp", "QQP/test.tsv", "id", ["0", "1", "0"]),
    ("stsb", "STS-B/test.tsv", "index", ["0.000", "2.500", "5.000"]),
    ("mnli", "MNLI/test_matched.tsv", "index", ["contradiction", "entailment", "neutral"]),
    ("qnli", "QNLI/test.tsv", "index", ["entailment", "not_entailment", "entailment"]),
    ("rte", "RTE/test.tsv", "index", ["entailment", "not_entailment", "entailment"]),
    ("wnli", "WNLI/test.tsv", "index", ["0", "1", "0"]),
    ("ax", "diagnostic/diagnostic.tsv", "index", ["contradiction", "entailment", "neutral"]),
]


@pytest.mark.parametrize(("name", "source", "index", "expected"), OFFICIAL, ids=[row[0] for row in OFFICIAL])
def test_every_task_is_spelled_as_glue_has_it(write, name, source, index, expected):
    lines, run = write(name, source, index)
    assert lines[0] == "index\tprediction" and lines[-1] == ""
    assert lines[1:4] == [f"{place}\t{value}" for place, value in enumerate(expected)]
    assert len(lines) - 2 == len(run.asked) and [line.split("\t")[0] for line in lines[1:-1]] == [
        str(number) for number in range(len(run.asked))
    ]
    assert all(
        ('"' in example["text"]) and len(example) == 1 + (name not in ("cola", "sst2"))
        for example in run.asked
    )


def test_numbers_are_cut_to_the_range_with_three_decimals():
    said = {-0.2: "0.000", 0.0: "0.000", 2.34567: "2.346", 5.0: "5.000", 5.2: "5.000"}
    for number, text in said.items():
        assert format_prediction(GLUE_TASKS["stsb"], {"prediction": number}) == text


REFUSED = {
    "a short row": (
        lambda text: text.replace("\n2\t", "\nbroken\n2\t"),
        "test.tsv line 4: 1 columns where 3",
    ),
    "an index twice": (
        lambda text: text.replace("\n2\t", "\n1\t"),
        "7 rows below its header, but 7 were read, with 6",
    ),
    "no index": (lambda text: text.replace("index\t", "number\t"), "has no column 'index'"),
    "no rows": (lambda text: text.split("\n")[0] + "\n", "holds no rows"),
}


@pytest.mark.parametrize(("change", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_a_broken_test_file_is_refused_before_anything_is_asked(write, tmp_path, change, sentence):
    run = AnsweringRun("qqp")
    run.config = AnsweringRun("rte").config
    with pytest.raises(ValueError, match=sentence):
        write("rte", "RTE/test.tsv", run=run, change=change)
    assert not run.asked and not (tmp_path / "out.tsv").exists()


def test_labels_that_glue_does_not_know_are_refused(write):
    run = AnsweringRun("rte", labels=("yes", "no"))
    with pytest.raises(
        ValueError, match="run predicts yes, no, but GLUE expects entailment, not_entailment of rte"
    ):
        write("rte", "RTE/test.tsv", run=run)
    with pytest.raises(
        ValueError, match="run predicts entailment, not_entailment, but GLUE expects numbers of stsb"
    ):
        write("stsb", "STS-B/test.tsv", run=AnsweringRun("rte"))
    lines, _ = write("rte", "RTE/test.tsv", run=AnsweringRun("rte", labels=("not_entailment", "entailment")))
    assert len(lines) == small_glue.NUM_TEST + 2  # another order is no other set
