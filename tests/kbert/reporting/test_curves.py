"""Curves: whatever a run has left in its metrics.jsonl becomes a readable PNG, or one clear sentence."""

import io
import json
import subprocess
import sys

import pytest
from PIL import Image

from kbert.reporting.curves import draw_curves

PRETRAINING = {
    "masked_lm_loss": 7.5,
    "next_sentence_loss": 0.69,
    "masked_lm_accuracy": 0.05,
    "next_sentence_accuracy": 0.5,
}


@pytest.fixture
def run_folder(tmp_path):
    """Writes a run folder with the given (step, split, metrics) and an optional tail."""

    def write(name, rows, tail=""):
        folder = tmp_path / name
        folder.mkdir()
        lines = [{"step": step, "split": split} | metrics for step, split, metrics in rows]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / "metrics.jsonl").write_text(text + tail, encoding="utf-8")
        return folder

    return write


def pretraining_rows(num_intervals=4):
    for index in range(1, num_intervals + 1):
        yield 10 * index, "train", PRETRAINING | {"learning_rate": 1e-3 / index, "gradient_norm": 1.0}
    yield 10 * num_intervals, "eval", PRETRAINING


def picture(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return Image.open(io.BytesIO(png)).convert("RGB")


def colours(png):
    return {colour for _, colour in picture(png).getcolors(maxcolors=1 << 24)}


def test_the_picture_is_1200_pixels_wide_and_grows_by_a_row_a_run(run_folder):
    one = run_folder("one", pretraining_rows())
    two = run_folder("two", [(5, "train", {"loss": 1.0, "accuracy": 0.5, "learning_rate": 1e-4})])
    single = picture(draw_curves({"one": one}, "A run"))
    double = picture(draw_curves({"one": one, "two": two}, "Two runs"))
    assert single.width == double.width == 1200
    assert 300 < double.height - single.height < 400


def test_every_loss_and_score_has_its_colour(run_folder):
    blue, vermilion, green = (0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x00, 0x9E, 0x73)
    two = colours(draw_curves({"": run_folder("two", pretraining_rows())}, "Two"))
    assert {blue, vermilion} <= two and green not in two
    one = run_folder("one", [(1, "train", {"loss": 2.0}), (9, "train", {"loss": 1.0})])
    assert not {vermilion, green} & colours(draw_curves({"": one}, "One"))


def test_evaluation_points_are_drawn(run_folder):
    rows = list(pretraining_rows())
    without = run_folder("without", rows[:-1])
    with_points = run_folder("with", rows)
    assert draw_curves({"": without}, "Run") != draw_curves({"": with_points}, "Run")


def test_a_half_written_last_line_changes_nothing(run_folder):
    whole = run_folder("whole", pretraining_rows())
    torn = run_folder("torn", pretraining_rows(), tail='{"step": 50, "split": "tr')
    assert draw_curves({"": torn}, "Run") == draw_curves({"": whole}, "Run")


def test_values_that_are_no_curves_are_left_out(run_folder):
    metrics = {"loss": 0.7, "accuracy": 0.5, "confusion": [[1, 2], [3, 4]], "baseline_accuracy": 0.5}
    folder = run_folder("classifier", [(62, "eval", metrics)])
    assert picture(draw_curves({"only an evaluation": folder}, "Run")).width == 1200


def test_names_are_shown_as_they_stand_and_never_as_formulas(run_folder):
    folder = run_folder("run", pretraining_rows())
    assert picture(draw_curves({r"$\frac{$ <b>_x^": folder}, r"$\broken$ & $5")).width == 1200


def test_what_is_missing_is_named(tmp_path, run_folder):
    with pytest.raises(ValueError, match=r"nowhere holds no metrics\.jsonl; give the --run_dir"):
        draw_curves({"": tmp_path / "nowhere"}, "Run")
    just_begun = run_folder("just_begun", [], tail='{"step": 1')
    with pytest.raises(ValueError, match=r"just_begun/metrics\.jsonl holds no metrics yet"):
        draw_curves({"": just_begun}, "Run")
    with pytest.raises(ValueError, match="no run to draw"):
        draw_curves({}, "Run")


def run_script(*flags):
    command = [sys.executable, "-m", "kbert.scripts.draw_curves", *map(str, flags)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_script_writes_a_picture_where_the_name_ends_in_png(run_folder, tmp_path):
    folder, png = run_folder("phase1", pretraining_rows()), tmp_path / "pictures" / "phase1.png"
    result = run_script(f"--run_dir={folder}", f"--output_file={png}")
    assert result.returncode == 0, result.stderr
    assert str(png) in result.stdout
    assert [path.name for path in png.parent.iterdir()] == ["phase1.png"]
    picture(png.read_bytes())


def test_the_script_ends_with_one_line_when_there_is_no_run(tmp_path):
    result = run_script(f"--run_dir={tmp_path / 'nowhere'}")
    assert result.returncode == 1
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert not (tmp_path / "nowhere").exists()
