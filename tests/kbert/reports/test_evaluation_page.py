"""The page of an evaluation: every kind of content, texts that are no HTML, and a size that has a bound."""

import json
import re
from html import unescape

from kbert.reports.evaluation_page import write_evaluation_page
from kbert.tasks.pages.content import (
    Bar,
    Bars,
    Card,
    Cards,
    Counts,
    Fact,
    Mark,
    MarkedText,
    Numbers,
    Reliability,
    Scatter,
    Section,
)
from tests.html_checks import read_page

EVIL = "<script>alert('x')</script> & <img src=x onerror=alert(1)> \"'"
HEBREW = "שלום עולם"


def page_of(folder, *sections, **metrics):
    path = folder / "new" / "page.html"
    run = folder / f"run {EVIL.replace('/', '')}"
    run.mkdir(exist_ok=True)
    lines = [{"step": 5, "split": "train", "loss": 1.0}, {"step": 5, "split": "eval", "loss": 2.0}]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    data = f"{EVIL.replace('/', '')}.tsv"
    metrics = {"accuracy": 0.5, "loss": float("nan"), "table": [[1]], "num_examples": 2} | metrics
    write_evaluation_page(run, data, 5, "accuracy", metrics, list(sections), path)
    return read_page(path)


EVERY_KIND = [
    Section(EVIL, EVIL, Counts((EVIL, "b"), [[3, 1], [0, 0]])),
    Section("Numbers", "", Numbers(("label", EVIL), [(EVIL, "1")])),
    Section("Bars", "", Bars([Bar(EVIL, 0.5, EVIL)])),
    Section("Reliability", "", Reliability([0.2, 0.7, 0.0], [0.5, 0.6, 0.0], [1, 5, 0])),
    Section("Scatter", "", Scatter([(1.0, 2.0), (float("nan"), 1.0)], EVIL, EVIL)),
    Section(
        "Cards",
        "",
        Cards([Card((MarkedText(EVIL, EVIL, (Mark(0, 8, 11, EVIL),)),), (Fact(EVIL, EVIL, True),))]),
    ),
]


def test_texts_are_never_html(tmp_path):
    html = page_of(tmp_path, *EVERY_KIND, **{EVIL: EVIL})
    assert "<img" not in html and "alert(1)" in html
    assert html == page_of(tmp_path, *EVERY_KIND, **{EVIL: EVIL})


def test_a_marked_text_reads_as_it_was_written(tmp_path):
    text = MarkedText("", HEBREW + EVIL, (Mark(3, 9, "right"), Mark(12, 20, "wrong", "given")))
    html = page_of(tmp_path, Section("Cards", "", Cards([Card((text,), ())])))
    (shown,) = re.findall(r"<p dir=\"auto\">(.*?)</p>", html)
    assert unescape(re.sub("<small>.*?</small>|<[^>]*>", "", shown)) == text.text
    marked = re.findall(r"<mark class=\"(\w+)\">(.*?)</mark>", shown)
    assert [kind for kind, _ in marked] == ["right", "wrong"]
    assert unescape(marked[0][1]) == text.text[3:9]
