r"""Script: asks the tokenizer in the graph about every character, and writes its tables in each language.

  python -m export.tokenizers.write_unicode_tables

For developers, after TensorFlow or TF-Text changed: the tables are those of the versions installed.
"""

import json
from pathlib import Path

from kbert.cli import script
from kbert.files.whole_file import write_text
from kbert.tokenization.core_ops import code_points

from .tables.compact import compact_numbers, compact_set, compact_shifts
from .tables.graph_facts import SURROGATES, graph_facts

TABLES_FILE = Path(code_points.__file__).resolve().with_name("unicode_tables.json")


def unicode_tables() -> str:
    """The content of `TABLES_FILE`, which Python and Kotlin read."""
    sets = graph_facts()
    shifts = {name: compact_shifts(sets.pop(name)) for name in ("lowered", "decomposed")}
    mark_order = sets.pop("mark_order")
    # Halves of surrogate pairs have no UTF-8, so the graph never sees one.
    sets["dropped"] |= set(SURROGATES)
    # White space at the ends of a line of vocab.txt: load_vocab of the original strips each line.
    sets["stripped"] = {code for code in range(0x110000) if chr(code).isspace()}
    tables = {name: compact_set(codes) for name, codes in sets.items()}
    return json.dumps(tables | shifts | {"mark_order": compact_numbers(mark_order)}, indent=1) + "\n"


def main():
    content = unicode_tables()
    write_text(content, TABLES_FILE)
    print(f"{TABLES_FILE.name}: {len(content):,} bytes")


if __name__ == "__main__":
    script.run(main)
