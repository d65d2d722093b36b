"""Documents -> those to train on, and those held out."""

import zlib
from collections import Counter

from tfrecords_tools.corpus.embedded_text.library_documents import Document


def split_documents(
    documents: list[Document], heldout_share: float = 0.05
) -> tuple[list[Document], list[Document]]:
    """Splits into `(train, heldout)`; all documents of a module or help topic go to the same side.

    A checksum of the source's name decides: the choice looks random, but never changes.
    """
    sizes = Counter()
    for document in documents:
        sizes[document.source] += len(document.sentences)
    wanted = heldout_share * sum(sizes.values())

    heldout_sources, size = set(), 0
    for source in sorted(sizes, key=checksum):
        # A large source is skipped, so that no single source makes up most of the held-out text.
        if size + sizes[source] <= wanted and sizes[source] <= max(2, wanted / 10):
            heldout_sources.add(source)
            size += sizes[source]
    train = [document for document in documents if document.source not in heldout_sources]
    heldout = [document for document in documents if document.source in heldout_sources]
    return train, heldout


def checksum(text: str) -> tuple[int, str]:
    """A key to sort texts by: their order looks random, and is the same on every machine."""
    return zlib.crc32(text.encode("utf-8")), text
