"""A standard library of one help topic and one module, and files beside them that must not be read."""

from pathlib import Path

TOPIC = """The "assert" statement
**********************

Assert statements are a convenient way to insert *debugging assertions* into a program:

   assert_stmt ::= "assert" expression ["," expression]

The simple form, "assert expression", is checked (e.g. at run time) by the
interpreter [1]. It may be switched off.

New in version 3.1.
"""
MODULE = '''# Copyright (c) somebody. Permission is given to do this and that.

"""Queues for threads.

This module has a :class:`Queue` that is shared by ``threads``.  See
`the manual <https://docs.python.org>`_ for the pre-
arranged order of the items::

    queue = Queue()  # This is only an example in the manual.

>>> Queue()
A line of output that is not for the reader.
"""

def put(item):
    """put(item) -> None

    Put an item into the queue

    item -- The item that is put at the end of the queue.
    """
    # The lock is held while the item is stored,
    # because two threads may come at the same time.
    # queue.append(item)
'''


def write_small_library(folder: Path) -> Path:
    """Writes `folder/library` and returns it."""
    library = folder / "library"
    (library / "pydoc_data").mkdir(parents=True)
    (library / "pydoc_data" / "topics.py").write_text(f"topics = {{'assert': {TOPIC!r}}}\n")
    (library / "queue.py").write_text(MODULE)
    (library / "stray_script.py").write_text('"""This is not a part of the library."""\n')
    (library / "json" / "tests").mkdir(parents=True)
    (library / "json" / "tests" / "test_x.py").write_text('"""This is a test of the library."""')
    return library
