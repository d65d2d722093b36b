"""The text that comes with every CPython: its documentation, turned into documents of sentences.

`make quickstart` has to work on a machine without a network. CPython carries a few megabytes of careful
English with it: the language reference behind `help()` (`pydoc_data.topics`), and the docstrings and comments
of the standard library. This folder reads those files as text, strips markup and code, and keeps what reads
like English. The same files always give the same documents, in the same order.

Plain Python: the standard library is all it needs. The modules, in the order of the work:

  library_files        the files
  paragraphs           their text, without code and tables
  sentences            English sentences, without markup
  library_documents    files -> documents
  splits               documents to train on, and documents held out
  areas                the topic of each module
  area_rows            documents -> labelled rows
"""

from tfrecords_tools.corpus.embedded_text.area_rows import LabelledRow, labelled_rows
from tfrecords_tools.corpus.embedded_text.areas import AREAS, SPLITS
from tfrecords_tools.corpus.embedded_text.library_documents import Document, documents
from tfrecords_tools.corpus.embedded_text.library_files import standard_library_folder
from tfrecords_tools.corpus.embedded_text.splits import split_documents

__all__ = [
    "AREAS",
    "SPLITS",
    "Document",
    "LabelledRow",
    "documents",
    "labelled_rows",
    "split_documents",
    "standard_library_folder",
]
