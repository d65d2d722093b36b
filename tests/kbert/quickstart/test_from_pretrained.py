"""The quickstart on a pretrained encoder: what its recipe gets, and what it refuses before the first."""

import shlex

import pytest

from kbert.quickstart import from_pretrained
from kbert.quickstart.answers import ShownExample
from kbert.quickstart.from_pretrained import quickstart_pretrained
from kbert.quickstart.recipe import parse_recipe
from tests.docs.command_checks import faults


@pytest.fixture
def encoder(tmp_path):
    folder = tmp_path / "encoder"
    folder.mkdir()
    (folder / "README.md").write_text(
        "---\nlanguage: en\nlicense: apache-2.0\ntags:\n- x\n---\nlicense: mit\n"
    )
    return folder


@pytest.fixture
def values(monkeypatch):
    """The values that the recipe gets, whose steps are not run."""
    given = {}

    def run(recipe, output_dir, **values):
        given.update(values)
        output_dir.mkdir()
        (output_dir / "test.json").write_text(
            '{"accuracy": 0.75, "baseline_accuracy": 0.25, "num_examples": 16}'
        )

    monkeypatch.setattr(from_pretrained, "run_recipe", run)
    shown = [ShownExample("good text", "a", "a", True), ShownExample("bad text", "a", "b", False)]
    monkeypatch.setattr(from_pretrained, "_shown", lambda run, train_file: shown)
    return given


def labelled_csv(path, num_rows, header="text,label"):
    path.write_text(header + "\n" + "".join(f"text number {n},label {n % 2}\n" for n in range(num_rows)))
    return path


@pytest.mark.parametrize(("num_rows", "epochs"), [(20, 5), (2_500, 2), (100_000, 1)])
def test_a_file_of_ones_own_is_split_and_a_long_one_is_read_less_often(
    tmp_path, encoder, values, num_rows, epochs
):
    data = labelled_csv(tmp_path / "my file.csv", num_rows)
    quickstart_pretrained(tmp_path / "run", encoder, data)
    training, evaluation, _ = (
        shlex.split(command.replace("\\\n", ""))
        for _, command in parse_recipe("from_pretrained.sh", **values)
    )
    assert training[-3:] == [
        f"--train_file={data}",
        "--override=dev_split=0.2",
        f"--override=num_train_epochs={epochs}",
    ]
    assert f"--init_checkpoint={encoder}" in training and faults(training, True) == []
    assert {f"--eval_file={data}", "--split=dev"} <= set(evaluation) and faults(evaluation, True) == []


@pytest.mark.parametrize(
    ("header", "num_rows", "complaint"),
    [
        ("review,label", 20, "no column 'text'"),
        ("text,stars", 20, "no column 'label'"),
        ("text,label", 19, "19 rows and 2 different labels; expected at least 20 rows and two labels"),
    ],
)
def test_a_wrong_file_is_refused_before_anything_is_written(tmp_path, encoder, header, num_rows, complaint):
    data = labelled_csv(tmp_path / "mine.csv", num_rows, header)
    with pytest.raises(ValueError, match=complaint):
        quickstart_pretrained(tmp_path / "run", encoder, data)
    assert not (tmp_path / "run").exists()
