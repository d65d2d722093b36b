"""The tables as files: texts that compact.py made, and nothing else."""

import json
from pathlib import Path

from .compact import compact_numbers, compact_set, compact_shifts
from .graph_facts import SURROGATES, GraphFacts

FOLDER = Path(__file__).resolve().parents[1]


def source_files(facts: GraphFacts) -> dict[Path, str]:
    """path -> content: the tables that Python and Kotlin read."""
    return {FOLDER / "unicode_tables.json": json.dumps(_tables(facts), indent=1) + "\n"}


def _tables(facts) -> dict[str, str]:
    sets = facts._asdict()
    folded, mark_order = sets.pop("folded"), sets.pop("mark_order")
    # Halves of surrogate pairs have no UTF-8, so the graph never sees one.
    sets["dropped"] = facts.dropped | set(SURROGATES)
    # White space at the ends of a line of vocab.txt: load_vocab of the original strips each line.
    sets["stripped"] = {code for code in range(0x110000) if chr(code).isspace()}
    tables = {name: compact_set(codes) for name, codes in sets.items()}
    return tables | {"folded": compact_shifts(folded), "mark_order": compact_numbers(mark_order)}
