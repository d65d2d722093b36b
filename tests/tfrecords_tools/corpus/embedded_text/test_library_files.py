"""Which files are read, and what is said when there are none."""

import pytest

from tests.tfrecords_tools.corpus.embedded_text.small_library import write_small_library
from tfrecords_tools.corpus.embedded_text import documents
from tfrecords_tools.corpus.embedded_text.library_files import check_library, module_files


@pytest.fixture
def small_library(tmp_path):
    return write_small_library(tmp_path)


def test_an_incomplete_library_is_named_with_a_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"lacks pydoc_data/topics\.py .* and the \.py sources"):
        documents(tmp_path)
    with pytest.raises(ValueError, match="Use a full CPython"):
        documents(tmp_path)


def test_a_library_without_topics_says_only_that(small_library):
    (small_library / "pydoc_data" / "topics.py").unlink()
    with pytest.raises(ValueError, match="lacks pydoc_data") as error:
        check_library(small_library)
    assert "and the .py sources" not in str(error.value)


def test_tests_and_stray_scripts_are_not_read(small_library):
    assert [name for name, _ in module_files(small_library)] == ["queue"]
