"""Files to documents."""

from tests.tfrecords_tools.corpus.embedded_text.small_library import MODULE
from tfrecords_tools.corpus.embedded_text.library_documents import module_documents


def test_module_gives_docstrings_and_comments_in_reading_order():
    (document,) = module_documents("queue", MODULE)
    assert document.sentences == (
        "This module has a Queue that is shared by threads.",
        "See the manual for the pre-arranged order of the items.",
        "Put an item into the queue.",
        "The item that is put at the end of the queue.",
        "The lock is held while the item is stored, because two threads may come at the same time.",
    )
