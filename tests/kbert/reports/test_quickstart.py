"""The quickstart's page and table: every measured number is there, and every text is only text."""

import base64
import copy
import re
from html import unescape

import pytest
from jinja2 import UndefinedError

from kbert.reports.quickstart import results_table, write_page
from tests.html_checks import Balanced

PNG = b"\x89PNG\r\n\x1a\n a picture"


def scores(**means_and_deviations):
    return {
        name: {"mean": mean, "deviation": deviation, "values": [mean - deviation, mean, mean + deviation]}
        for name, (mean, deviation) in means_and_deviations.items()
    }


def rows(*answers):
    roads = ("Keras (Python)", "LiteRT dynamic int8")
    return [
        {"way": road, "label": label, "probability": probability, "latency_ms": latency}
        for road, (label, probability, latency) in zip(roads, answers, strict=True)
    ]


RESULTS = {
    "kbert_version": "0.9.7",
    "python": "3.11.77",
    "tensorflow": "2.21.88",
    "cores": 3,
    "total_seconds": 301.2,
    "directory": "/somewhere/quickstart_run",
    "steps": [
        {"title": "Text", "command": "python -m a.b --output_dir=x", "seconds": 9.14, "log": "logs/01.log"},
        {"title": "Training", "command": "python -m c.d --x=y", "seconds": 123.4, "log": "logs/02.log"},
    ],
    "corpus": {"documents": 1218, "sentences": 23179, "tokens": 400321, "examples": 20654},
    "vocabulary": {"size": 4096, "unknown_share": 0.0037},
    "pretraining": {
        "num_train_steps": 815, "examples_per_second": 352.6, "masked_lm_accuracy": 0.314,
        "masked_lm_loss": 4.17, "next_sentence_accuracy": 0.702, "baseline_accuracy": 0.052,
        "baseline_token": "the", "num_examples": 1207, "num_parameters": 1234567,
    },
    "fill_mask": [
        {
            "text": "This [MASK] returns a [MASK].",
            "masks": [
                [{"token": "function", "probability": 0.331}, {"token": "##s", "probability": 0.119}],
                [{"token": "string", "probability": 0.229}, {"token": "list", "probability": 0.087}],
            ],
        }
    ],
    "classifier": {
        "labels": ["internet", "graphics"], "num_train_examples": 1687, "num_test_examples": 543,
        "baseline_accuracy": 0.203,
        "pretrained": scores(loss=(1.07, 0.11), accuracy=(0.624, 0.021), f1=(0.607, 0.034)),
        "from_scratch": scores(loss=(1.31, 0.12), accuracy=(0.551, 0.017), f1=(0.538, 0.015)),
        "confusion": [[101, 7], [13, 89]],
        "verdict": "Pretraining helped: +7.3 points.",
    },
    "answers": {
        "examples": [
            {"text": "Return a new socket object.", "label": "internet", "is_right": True,
             "rows": rows(("internet", 0.812, 3.26), ("internet", 0.806, 0.84))},
            {"text": "Draw a window on the screen.", "label": "graphics", "is_right": False,
             "rows": rows(("internet", 0.516, 3.71), ("graphics", 0.507, 0.91))},
        ],
        "max_difference": 1.2e-7,
        "max_difference_int8": 0.0041,
    },
    "sizes": [{"what": "SavedModel", "bytes": 5512345}, {"what": "LiteRT", "bytes": 1351234}],
    "paths": {"corpus": "quickstart_run/text", "this page": "quickstart_run/index.html"},
}  # fmt: skip

MEASURED = """05:01 3 0.9.7 3.11.77 2.21.88 9.1 123.4 1,218 23,179 400,321 20,654 4,096 0.37% 815 352.6 31.4%
    4.17 70.2% 5.2% 1,207 1,234,567 33.1% 11.9% 22.9% 8.7% 1,687 543 20.3% 62.4% 2.1 60.7% 3.4 1.07 0.11 55.1%
    1.7 53.8% 1.5 1.31 0.12 81.2% 3.3 80.6% 0.8 51.6% 3.7 50.7% 0.9 1.2e-07 4.1e-03 5.5 1.4""".split()
WORDS = ["“the”", "function", "##s", "string", "internet", "Keras (Python)", "LiteRT dynamic int8",
         "Return a new socket object.", "Draw a window on the screen.", "graphics",
         "right", "wrong", "3 seeds", "Pretraining helped: +7.3 points.",
         "Text", "Training", "SavedModel", "quickstart_run/text", "quickstart_run/index.html"]  # fmt: skip
ON_THE_PAGE_ONLY = ["101", "7", "13", "89", "60.3%", "64.5%", "53.4%", "56.8%", "/somewhere/quickstart_run",
                    "python -m a.b --output_dir=x", "python -m c.d --x=y"]  # fmt: skip


@pytest.fixture
def page(tmp_path):
    """Writes results as a page and returns its HTML."""

    def write(results=RESULTS):
        path = tmp_path / "index.html"
        write_page(results, PNG, path)
        return path.read_text(encoding="utf-8")

    return write


def visible_text(html):
    body = html[html.index("<body>") :]
    return unescape(re.sub(r"<[^>]*>", "\0", body)).replace("\0\0", "\0").replace("\0", " ")


def missing(expected, text):
    """What does not stand in `text` as a whole word or number."""
    text = " ".join(text.split())
    return [item for item in expected if not re.search(rf"(?<![\w.,]){re.escape(item)}(?![\w])", text)]


def test_every_measured_number_and_name_is_on_the_page(page):
    html = page()
    text = " ".join(visible_text(html).split())
    assert missing(MEASURED, text) == []
    assert [item for item in WORDS + ON_THE_PAGE_ONLY if item not in text] == []
    assert all(f'href="{step["log"]}"' in html for step in RESULTS["steps"])


def test_every_measured_number_and_name_is_in_the_table():
    table = results_table(RESULTS)
    assert missing(MEASURED, table) == []
    assert [item for item in WORDS if item not in table] == []


def test_the_table_stays_under_100_columns():
    results = copy.deepcopy(RESULTS)
    results["answers"]["examples"][0]["text"] = results["fill_mask"][0]["text"] = results["steps"][0][
        "title"
    ] = "word " * 99
    results["answers"]["examples"][0]["rows"][0]["label"] = "x" * 120
    results["classifier"]["verdict"] = "word " * 99
    assert max(map(len, results_table(results).splitlines())) < 100


def replace_texts(value, text):
    """Every string of the results becomes `text`; names that the code looks up stay."""
    if isinstance(value, dict):
        return {key: replace_texts(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [replace_texts(item, text) for item in value]
    return text if isinstance(value, str) else value


def test_every_text_is_escaped(page):
    hostile = replace_texts(RESULTS, "<script>alert('1')</script>\"&")
    hostile["paths"] = {"<script>": "<script>"}
    html = page(hostile)
    assert "<script" not in html
    assert "'1'" not in html and '\\"&"' not in html
    assert "&lt;script&gt;" in html
    Balanced().check(html)


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    html = page()
    Balanced().check(html)
    assert base64.b64encode(PNG).decode("ascii") in html
    assert not re.search(r"https?://|<link|<script|@import|url\(", html)
    assert "prefers-color-scheme: dark" in html and 'name="viewport"' in html


def test_bars_are_as_long_as_the_accuracies_and_their_lines_as_the_deviations(page):
    bars = re.findall(r"--share: ([\d.]+); --deviation: ([\d.]+)", page())
    assert bars == [("0.2030", "0.0000"), ("0.5510", "0.0170"), ("0.6240", "0.0210")]


def test_a_failure_leaves_the_previous_page_whole(page, tmp_path):
    before = page()
    with pytest.raises(UndefinedError):
        write_page({}, PNG, tmp_path / "index.html")
    assert (tmp_path / "index.html").read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
