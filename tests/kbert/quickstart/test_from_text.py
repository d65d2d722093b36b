"""What the quickstart from text says: every measured number, texts as texts, whether pretraining helped."""

import base64
import re
from html import unescape

import pytest

from kbert.quickstart.from_text import verdict, write_page

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
    "output_dir": "/somewhere/quickstart_run",
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
    assert base64.b64encode(PNG).decode("ascii") in html
    assert not re.search(r"https?://|<link|<script|@import|url\(", html)


@pytest.mark.parametrize(
    ("pretrained", "from_scratch", "begins", "points"),
    [
        ((0.62, 0.02), (0.41, 0.03), "Pretraining helped: ", "+21.0"),
        ((0.41, 0.02), (0.62, 0.03), "Pretraining did not help; it lost: ", "-21.0"),
        ((0.45, 0.01), (0.41, 0.05), "These 3 seeds do not tell whether pretraining helped: ", "+4.0"),
        ((0.41, 0.05), (0.45, 0.01), "These 3 seeds do not tell whether pretraining helped: ", "-4.0"),
    ],
)
def test_more_than_the_larger_deviation_counts(pretrained, from_scratch, begins, points):
    sentence = verdict(*scores(pretrained=pretrained, from_scratch=from_scratch).values())
    assert sentence.startswith(begins + points + " points")
    assert f"{100 * max(pretrained[1], from_scratch[1]):.1f}." in sentence
