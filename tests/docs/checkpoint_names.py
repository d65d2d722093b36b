"""docs/checkpoint_names.md, from the name tables: `python -m tests.docs.checkpoint_names` writes it."""

import re

from kbert.checkpoints.conversion import names
from tests.docs.markdown import REPOSITORY

PAGE = REPOSITORY / "docs" / "checkpoint_names.md"
FORMATS = {
    "Hugging Face BERT": names.HUGGING_FACE,
    "DistilBERT": names.DISTILBERT,
    "google-research/bert (TF1)": names.GOOGLE_TF1,
    "KerasHub": names.KERAS_HUB,
    "Model Garden": names.MODEL_GARDEN,
}
# Families of Hugging Face: only what differs from BERT.
FAMILIES = {"ELECTRA": names.ELECTRA, "RoBERTa, XLM-R": names.ROBERTA, "MPNet": names.MPNET}
_HEAD = """# Names of variables

Written by `tests/docs/checkpoint_names.py` from the tables that conversions use. ᵀ marks a transposed matrix.
`{layer}` counts from 0. An empty cell: the format has no such variable, or it is not written there.

In Hugging Face's classes with a head the encoder's names begin with `bert.`, `distilbert.`, `electra.`,
`roberta.` or `mpnet.`. Heads of Model Garden are found by their position; these are kbert's names for them.

"""
_FAMILIES = """
## ELECTRA, RoBERTa, XLM-R and MPNet

As Hugging Face's BERT, but for these. An empty cell: as in BERT, but MPNet has no table of segments. In
classifiers of RoBERTa, XLM-R and MPNet the pooler is `classifier.dense`, as in ELECTRA.

"""


def page() -> str:
    """The text of the page."""
    bert = _cells(names.HUGGING_FACE)
    families = {
        title: {name: cell for name, cell in _cells(table).items() if bert.get(name) != cell}
        for title, table in FAMILIES.items()
    }
    formats = {title: _cells(table) for title, table in FORMATS.items()}
    return _HEAD + _table(formats) + _FAMILIES + _table(families)


def _cells(table):
    """kbert's name -> the cell of a table. A bias stands beside its kernel, a beta beside its gamma."""
    cells = {}
    for row in (row for part in table.values() for row in part):
        name, cell = f"`{row.kbert}`", f"`{row.outside}`" + (" ᵀ" if row.transposed else "")
        last = row.kbert.rpartition("/")[2]
        if last in ("bias", "beta"):
            first, first_cell = cells.popitem()
            name, cell = f"{first}, `{last}`", f"{first_cell}, `{re.split('[/.]', row.outside)[-1]}`"
        cells[name] = cell
    return cells


def _table(columns):
    lines = [["kbert", *columns], ["---"] * (1 + len(columns))]
    for name in dict.fromkeys(name for cells in columns.values() for name in cells):
        lines.append([name, *(cells.get(name, "") for cells in columns.values())])
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
