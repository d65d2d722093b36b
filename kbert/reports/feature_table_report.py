"""The comparison of features with fine-tuning, as a table for a terminal and as a page."""

from pathlib import Path

from kbert.reports import page
from kbert.reports.text_table import text_table

# How the BERT paper calls the rows, and its F1 on CoNLL-2003's development set, five restarts of BERT-base
# (arXiv 1810.04805, table 7).
PAPER = {
    "embeddings": ("Embeddings", 0.910),
    "second_to_last": ("Second-to-Last Hidden", 0.956),
    "last": ("Last Hidden", 0.949),
    "weighted_sum_last_four": ("Weighted Sum Last Four Hidden", 0.959),
    "concat_last_four": ("Concat Last Four Hidden", 0.961),
    "weighted_sum_all": ("Weighted Sum All {} Layers", 0.955),
    "finetuned": ("Fine-tuned", 0.964),
}
_HEADS = ("features", "F1", "deviation", "strict F1", "token accuracy", "seeds", "paper, BERT-base")
_METRICS = ("f1", "strict_f1", "token_accuracy")


def table_rows(summary: dict) -> list[list[str]]:
    """A row for each choice of features, as texts.

    Raises:
      ValueError: when runs have no entity F1, because their labels are no tags of entities.
    """
    rows = []
    for name, found in summary["rows"].items():
        metrics = found["metrics"]
        if lacking := [metric for metric in _METRICS if metric not in metrics]:
            raise ValueError(
                f"{name}: its runs give no {', '.join(lacking)}; the comparison is for tags of entities, so "
                'leave out dataset.tag_scheme = "none".'
            )
        title, in_paper = PAPER[name]
        deviation = metrics["f1"]["deviation"]
        means = [f"{metrics[metric]['mean']:.4f}" for metric in _METRICS]
        rows.append(
            [
                title.format(summary["features"]["num_hidden_layers"]),
                means[0],
                "" if deviation is None else f"{deviation:.4f}",
                *means[1:],
                str(len(found["seeds"])),
                f"{in_paper:.3f}",
            ]
        )
    return rows


def feature_table(summary: dict) -> str:
    """The table for a terminal."""
    return text_table([_HEADS, *table_rows(summary)])


def write_page(summary: dict, path: str | Path):
    """Writes the page: the table, and below it the F1 of every seed."""
    seeds = [
        [title, str(seed), f"{value:.4f}"]
        for (title, *_), found in zip(table_rows(summary), summary["rows"].values(), strict=True)
        for seed, value in zip(found["seeds"], found["metrics"]["f1"]["values"], strict=True)
    ]
    values = {"features": summary["features"], "heads": _HEADS, "rows": table_rows(summary), "seeds": seeds}
    page.write_page(path, "feature_table.html", title="Feature-based NER", **values)
