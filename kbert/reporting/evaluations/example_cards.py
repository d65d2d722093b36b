"""Examples as HTML: their texts with marks, and what is to be known of them. All texts are escaped here."""

from collections.abc import Iterator
from html import escape

from kbert.reporting.line_pictures import NUM_COLOURS
from kbert.tasks.pages.content import Card, MarkedText, shortened

_LONGEST_NAME, _LONGEST_VALUE = 80, 300  # characters


def cards(examples: list[Card], most_bytes: int) -> str:
    """The examples below one another; where they take more than `most_bytes`, the last ones are left out.

    A sentence says how many were left out.
    """
    parts, size = [], 0
    for number, example in enumerate(examples):
        html = card(example)
        size += len(html.encode("utf-8"))
        if size > most_bytes:
            left = len(examples) - number
            parts.append(f"<p class='note'>{left:,} more are left out to keep the page small.</p>\n")
            break
        parts.append(html)
    return "".join(parts)


def card(example: Card) -> str:
    """One example."""
    facts = "".join(
        f"<span{_side(fact.is_right)}><small>{_name(fact.name)}</small> "
        f"<b dir='auto'>{escape(shortened(fact.value, _LONGEST_VALUE))}</b></span> "
        for fact in example.facts
    )
    texts = "".join(map(marked_text, example.texts))
    return f"<article class='example'>\n<p class='answers'>{facts}</p>\n{texts}</article>\n"


def marked_text(text: MarkedText) -> str:
    """A text with its marks; it runs from right to left where its first strong letter does."""
    name = f"<small>{_name(text.name)}</small>" if text.name else ""
    return f"<div class='words'>{name}<p dir='auto'>{''.join(_pieces(text))}</p></div>\n"


def _pieces(text) -> Iterator[str]:
    end = 0
    for mark in text.marks:
        yield escape(text.text[end : mark.start])
        name = f"<small>{_name(mark.name)}</small>" if mark.name else ""
        kind = mark.kind if isinstance(mark.kind, str) else f"entity c{mark.kind % NUM_COLOURS}"
        yield f"<mark class='{kind}'>{escape(text.text[mark.start : mark.end])}{name}</mark>"
        end = mark.end
    yield escape(text.text[end:])


def _name(name):
    return escape(shortened(name, _LONGEST_NAME))


def _side(is_right):
    return "" if is_right is None else " class='right'" if is_right else " class='wrong'"


STYLE = """
.example { border-top: 1px solid var(--faint); padding: .5rem 0 .4rem; }
.example p { margin: .15rem 0; }
.answers > span { display: inline-block; margin-right: 1.3rem; max-width: 100%; overflow-wrap: anywhere; }
.answers small, .words small { color: var(--pale); font-size: .8rem; }
.answers b { font-weight: 600; }
.answers .right b { color: var(--third); }
.answers .wrong b { color: var(--second); }
.words { display: flex; flex-wrap: wrap; gap: 0 .8rem; }
.words > small { flex: 0 0 4.2rem; padding-top: .3rem; }
.words > p { flex: 1 1 16rem; min-width: 0; overflow-wrap: anywhere; white-space: pre-line; }
.words mark { -webkit-box-decoration-break: clone; box-decoration-break: clone; }
.words mark small { margin-inline-start: .3rem; font-size: .72rem; color: inherit; opacity: .75; }
mark.right { background: color-mix(in srgb, var(--third) 28%, transparent); }
mark.wrong { background: color-mix(in srgb, var(--second) 28%, transparent); }
mark.entity { background: color-mix(in srgb, var(--c) 24%, transparent); }
"""
