"""A template of this folder and plain data -> an HTML page: one file that loads nothing and runs no script.

The templates are in `kbert/reports/templates`. Whatever they show is escaped; HTML comes from them alone.
"""

import functools
import json
from pathlib import Path

from tqdm import tqdm

from kbert.files.whole_file import with_escapes, write_text
from kbert.reports import line_charts, pictures
from kbert.reports.run_metrics import score_text, words
from kbert.tasks.pages.content import shortened


def render(template: str, **values) -> str:
    """The text of a page.

    Args:
      template: the name of a file in `templates`.
      **values: what it shows, by name; a page has a `title`.

    Raises:
      jinja2.UndefinedError: when the template names a value that there is not.
    """
    return with_escapes(_environment().get_template(template).render(values))


def write_page(path: str | Path, template: str, **values):
    """Writes a page, see `render`. The file appears only when it is complete; its folder is made."""
    text = render(template, **values)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    write_text(text, path)


def percent(share: float, digits: int = 1) -> str:
    """0.1234 -> "12.3%". What is less than all is never "100.0%"."""
    share = min(share, 1.0 - 10.0 ** (-2 - digits)) if share < 1.0 else share
    return f"{100 * share:.{digits}f}%"


def setting_text(value) -> str:
    """A value of a config as JSON, a text without its quotes."""
    return json.dumps(value, ensure_ascii=False).strip('"')


def _value(value):
    """A metric for people: 0.9040, 1,821, or a text as it is."""
    return value if isinstance(value, str) else f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def size_text(number: int) -> str:
    """Bytes for people: 1.4 MB."""
    unit, scale = next(((u, s) for u, s in (("GB", 1e9), ("MB", 1e6)) if number >= s), ("kB", 1e3))
    return f"{number / scale:.1f} {unit}"


@functools.cache
def _environment():
    # Here, because they load slowly, and scripts import the tables of this folder.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["pictures"] = pictures
    environment.filters |= {
        "count": "{:,}".format,
        "line_chart": line_charts.line_chart,
        "percent": percent,
        "readable": tqdm.format_sizeof,
        "score": score_text,
        "setting": setting_text,
        "seconds": tqdm.format_interval,
        "short": shortened,
        "size": size_text,
        "value": _value,
        "words": words,
    }
    return environment
