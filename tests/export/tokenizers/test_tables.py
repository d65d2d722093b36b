"""The committed tables are what the graph does."""

import pytest

from export.tokenizers.write_unicode_tables import TABLES_FILE, unicode_tables


@pytest.mark.slow
@pytest.mark.long
def test_the_tables_are_those_of_the_graph():
    """After a new TensorFlow: python -m export.tokenizers.write_unicode_tables."""
    assert TABLES_FILE.read_text(encoding="utf-8") == unicode_tables(), "the file is of another TensorFlow"
