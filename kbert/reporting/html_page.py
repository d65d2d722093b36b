"""The parts of an HTML page: one file with its styles inside, without scripts or anything else to load.

Arguments that are names, cells or titles are plain text and are escaped here. A body is already HTML.
"""

import textwrap
from html import escape


def page(title: str, lead: str, note: str, sections, style: str = "") -> str:
    """A complete page.

    Args:
      title: plain text, for the heading and the name of the tab.
      lead: HTML of the first sentence, which states the main result.
      note: HTML of the small print below it.
      sections: HTML parts, as returned by `section`.
      style: additional CSS rules for this page.
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n<p class='lead'>{lead}</p>\n<p class='note'>{note}</p>\n"
        + "\n".join(sections)
        + "\n</main>\n</body>\n</html>\n"
    )


def section(title: str, body: str) -> str:
    """A numbered part of the page."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{body}\n</section>"


def facts(values: dict[str, str]) -> str:
    """A few values side by side, each above its name; `values`: name -> value."""
    items = "".join(
        f"<div><dd>{escape(value)}</dd><dt>{escape(name)}</dt></div>" for name, value in values.items()
    )
    return f"<dl class='facts'>{items}</dl>\n"


def table(heads, rows, num_text_columns: int = 1) -> str:
    """A table; the first `num_text_columns` columns are text, the others are numbers."""

    def cells(tag, values):
        kinds = ["" if index < num_text_columns else " class='number'" for index in range(len(values))]
        return "".join(
            f"<{tag}{kind}>{escape(value)}</{tag}>" for kind, value in zip(kinds, values, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        f"<div class='wide'><table><thead><tr>{cells('th', heads)}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>\n"
    )


# The colours are Okabe and Ito's, as in the curves: people with any colour vision can tell them apart.
_STYLE = textwrap.dedent("""
    :root { color-scheme: light dark; --ink: #222; --paper: #fff; --pale: #6b6b6b; --faint: #ececec;
            --first: #0072b2; --second: #d55e00; --third: #009e73; --mark: #fff0b8; }
    @media (prefers-color-scheme: dark) {
      :root { --ink: #e4e4e4; --paper: #17191c; --pale: #a2a2a2; --faint: #2b2e33;
              --first: #56b4e9; --second: #e69f00; --third: #3ac19a; --mark: #5c4a00; }
    }
    * { box-sizing: border-box; }
    body { margin: 0; background: var(--paper); color: var(--ink);
           font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; }
    main { max-width: 860px; margin: 0 auto; padding: 2rem 1.1rem 4rem; counter-reset: part; }
    h1 { font-size: 1.9rem; margin: 0 0 .6rem; }
    h2 { font-size: 1.2rem; margin: 2.1rem 0 .6rem; padding-top: .5rem; border-top: 1px solid var(--faint); }
    h2::before { counter-increment: part; content: counter(part) "  "; color: var(--first);
                 white-space: pre; }
    h1, h2, .lead, .note { overflow-wrap: anywhere; }
    p { margin: .6rem 0; }
    a { color: var(--first); }
    .lead { font-size: 1.12rem; }
    .note, dt { color: var(--pale); font-size: .88rem; }
    .facts { display: flex; flex-wrap: wrap; gap: .6rem 2.2rem; margin: .6rem 0 1rem; }
    .facts dd { margin: 0; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
    .wide { overflow-x: auto; margin: .6rem 0 1rem; }
    table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
    th, td { padding: .3rem .9rem .3rem 0; text-align: left; border-bottom: 1px solid var(--faint); }
    th { font-weight: normal; color: var(--pale); font-size: .88rem; }
    .number { text-align: right; padding-left: .9rem; white-space: nowrap; }
    svg { display: block; max-width: 560px; margin: .6rem 0 1rem; }
    svg text { fill: var(--ink); font-size: 14px; }
    figure { margin: 1rem 0 1.2rem; }
    figcaption { color: var(--pale); font-size: .88rem; }
    .plot { max-width: none; margin: .2rem 0; }
    .plot rect { fill: var(--first); }
    .plot .ground { fill: transparent; }
    .plot g:hover .ground { fill: var(--faint); }
    .plot line { stroke: var(--faint); }
    .plot text { font-size: 12px; fill: var(--pale); paint-order: stroke; stroke: var(--paper);
                 stroke-width: 4px; }
    .sentence { padding-left: .8rem; border-left: 3px solid var(--first); }
    mark { background: var(--mark); color: inherit; border-radius: 3px; padding: 0 .2rem; }
    code { overflow-wrap: anywhere; font-size: .9em; }
    """)
