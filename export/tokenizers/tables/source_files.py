"""The tables as a source file of each language: texts that compact.py made, and nothing else."""

import textwrap
from pathlib import Path

from .compact import compact_numbers, compact_set, compact_shifts
from .graph_facts import SURROGATES, GraphFacts

FOLDER = Path(__file__).resolve().parents[1]
_COLUMNS = 96  # of a line of numbers
_ABOUT = {
    "spaces": "end a word",
    "dropped": "vanish before anything else; halves of surrogate pairs too, which UTF-8 cannot write",
    "alone": "are a word each: punctuation and ideographs",
    "accents": "vanish when lower-casing",
    "fixed_accents": "of these, those across which marks are not reordered",
    "cased": "letters that have a case, for the final sigma",
    "case_ignorable": "looked past by the rule of the final sigma",
    "stripped": "white space at the ends of a line of vocab.txt, as Python's str.strip has it",
    "folded": "what characters become when lower-casing, as distances from them",
    "mark_order": "the order in which kept marks stand side by side",
}
_HEADER = (
    "What the tokenizer in the graph does with each character.",
    "Written by: python -m export.tokenizers.write_unicode_tables",
    "The form of the tables is told in export/tokenizers/tables/compact.py.",
)


def source_files(facts: GraphFacts) -> dict[Path, str]:
    """path -> content of the tables of each language."""
    tables = _tables(facts)
    return {
        FOLDER / "python" / "unicode_tables.py": _python(tables),
        FOLDER / "javascript" / "unicode_tables.js": _javascript(tables),
        FOLDER / "kotlin" / "UnicodeTables.kt": _kotlin(tables),
        FOLDER / "swift" / "UnicodeTables.swift": _swift(tables),
    }


def _tables(facts) -> dict[str, str]:
    sets = {name: getattr(facts, name) for name in _ABOUT if name in facts._fields}
    sets["dropped"] = facts.dropped | set(SURROGATES)
    # load_vocab of the original strips each line.
    sets["stripped"] = {code for code in range(0x110000) if chr(code).isspace()}
    others = {
        "folded": compact_shifts(facts.folded),
        "mark_order": compact_numbers(facts.mark_order),
    }
    return {name: others[name] if name in others else compact_set(sets[name]) for name in _ABOUT}


def _lines(table):
    """The text of a table in lines; each but the last ends with the space that it is broken at."""
    lines = textwrap.wrap(table, _COLUMNS, break_long_words=False, break_on_hyphens=False)
    return [f"{line} " for line in lines[:-1]] + lines[-1:]


def _python(tables):
    parts = ['"""' + "\n\n".join([_HEADER[0], "\n".join(_HEADER[1:])]) + '\n"""']
    for name, table in tables.items():
        texts = [f'"{line}"' for line in _lines(table)]
        value = texts[0] if len(texts) == 1 else "(\n    " + "\n    ".join(texts) + "\n)"
        parts.append(f"# {_ABOUT[name]}\n{name.upper()} = {value}")
    return parts[0] + "\n\n" + "\n".join(parts[1:]) + "\n"


def _javascript(tables):
    parts = ["\n".join(f"// {line}" for line in _HEADER)]
    for name, table in tables.items():
        lines = " +\n".join(f'  "{line}"' for line in _lines(table))
        parts.append(f"// {_ABOUT[name]}\nexport const {name.upper()} =\n{lines};")
    return "\n\n".join(parts) + "\n"


def _kotlin(tables):
    parts = []
    for name, table in tables.items():
        lines = " +\n".join(f'        "{line}"' for line in _lines(table))
        parts.append(f"    /** {_ABOUT[name]} */\n    const val {name.upper()} =\n{lines}")
    header = "\n".join(f"// {line}" for line in _HEADER)
    return f"{header}\n\npackage kbert.tokenizer\n\ninternal object UnicodeTables {{\n{_joined(parts)}\n}}\n"


def _swift(tables):
    parts = []
    for name, table in tables.items():
        lines = "\\\n".join(f"    {line}" for line in _lines(table))
        first, *others = name.split("_")
        swift_name = first + "".join(map(str.capitalize, others))
        parts.append(f'  /// {_ABOUT[name]}\n  static let {swift_name} = """\n{lines}\n    """')
    header = "\n".join(f"// {line}" for line in _HEADER)
    return f"{header}\n\nenum UnicodeTables {{\n{_joined(parts)}\n}}\n"


def _joined(parts):
    return "\n\n".join(parts)
