"""The contents of the sections of `Task.metrics_page` and `Task.examples_page` -> HTML."""

from html import escape

from kbert.reporting.bar_pictures import HorizontalBar, bars
from kbert.reporting.evaluations import example_cards, square_pictures
from kbert.reporting.html_page import section, table
from kbert.tasks.pages import content as kinds
from kbert.tasks.pages.content import Section, shortened

_LONGEST_NAME, _LONGEST_HEAD = 24, 14  # characters of a label in a table, beside a row and above a column
STYLE = (
    square_pictures.STYLE
    + example_cards.STYLE
    + """
.confusion td { text-align: right; padding: .3rem .7rem; }
.confusion th { padding-right: .7rem; white-space: nowrap; }
.confusion thead th { text-align: right; }
"""
)


def drawn_section(part: Section, most_bytes: int) -> str:
    """A section of a page.

    Args:
      part: the section.
      most_bytes: how much HTML its examples may take; see `example_cards.cards`.
    """
    note = f"<p class='note'>{escape(part.note)}</p>\n"
    return section(part.title, note + _drawn(part.content, most_bytes))


def _drawn(content, most_bytes):
    if isinstance(content, kinds.Counts):
        return _counts(content)
    if isinstance(content, kinds.Numbers):
        rows = [(_short(name), *numbers) for name, *numbers in content.rows]
        return table(content.heads, rows)
    if isinstance(content, kinds.Bars):
        return bars(
            [
                HorizontalBar(shortened(one.name, 60), one.share, "var(--first)", one.text)
                for one in content.bars
            ]
        )
    if isinstance(content, kinds.Reliability):
        return square_pictures.reliability_picture(content)
    if isinstance(content, kinds.Scatter):
        return square_pictures.scatter_picture(content)
    if isinstance(content, kinds.Cards):
        return example_cards.cards(content.cards, most_bytes)
    raise ValueError(
        f"a section of a page holds {type(content).__name__}; expected one of the kinds of "
        "kbert.tasks.pages.content."
    )


def _counts(content):
    """A table whose cells are the darker the larger their share of the row is."""
    heads = "".join(f"<th>{_short_html(name, _LONGEST_HEAD)}</th>" for name in content.names)
    rows = []
    for name, counts in zip(content.names, content.counts, strict=True):
        total = max(1, sum(counts))
        cells = "".join(
            f"<td style='background:rgb(47 155 214 / {0.6 * count / total:.2f})'>{count:,}</td>"
            for count in counts
        )
        rows.append(f"<tr><th>{_short_html(name)}</th>{cells}</tr>")
    return (
        "<div class='wide'><table class='confusion'><thead><tr><th>right \\ given</th>"
        f"{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>\n"
    )


def _short(name, longest=_LONGEST_NAME):
    return shortened(str(name), longest)


def _short_html(name, longest=_LONGEST_NAME):
    return f"<bdi title='{escape(str(name)[:200], quote=True)}'>{escape(_short(name, longest))}</bdi>"
