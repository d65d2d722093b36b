"""The committed tables are what the graph does."""

import pytest

from export.tokenizers.tables.graph_facts import graph_facts
from export.tokenizers.write_unicode_tables import source_files


@pytest.mark.slow
@pytest.mark.long
def test_the_tables_are_those_of_the_graph():
    """After a new TensorFlow: python -m export.tokenizers.write_unicode_tables."""
    for path, content in source_files(graph_facts()).items():
        assert path.read_text(encoding="utf-8") == content, f"{path} is of another TensorFlow"
