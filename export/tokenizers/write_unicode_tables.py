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
from .tables.graph_facts import SURROGATES, GraphFacts, graph_facts

TABLES_FILE = Path(code_points.__file__).resolve().with_name("unicode_tables.json")


def source_files(facts: GraphFacts) -> dict[Path, str]:
    """path -> content: the tables that Python and Kotlin read."""
    return {TABLES_FILE: json.dumps(_tables(facts), indent=1) + "\n"}


def _tables(facts) -> dict[str, str]:
    sets = facts._asdict()
    shifts = {name: compact_shifts(sets.pop(name)) for name in ("lowered", "decomposed")}
    mark_order = sets.pop("mark_order")
    # Halves of surrogate pairs have no UTF-8, so the graph never sees one.
    sets["dropped"] = facts.dropped | set(SURROGATES)
    # White space at the ends of a line of vocab.txt: load_vocab of the original strips each line.
    sets["stripped"] = {code for code in range(0x110000) if chr(code).isspace()}
    tables = {name: compact_set(codes) for name, codes in sets.items()}
    return tables | shifts | {"mark_order": compact_numbers(mark_order)}


def main():
    for path, content in source_files(graph_facts()).items():
        write_text(content, path)
        print(f"{path.name}: {len(content):,} bytes")


if __name__ == "__main__":
    script.run(main)
