"""What is to be answered: the rows of a table -> examples."""

from collections.abc import Collection, Iterator

from kbert.input_pipelines.tables.table_paths import Table
from kbert.input_pipelines.tables.table_rows import columns_of, count_rows, rows_of

_KEPT = "id"  # what answers give back


def examples_of_table(table: Table, inputs: Collection[tuple[str, ...]]) -> Iterator[dict]:
    """The examples of a table: its columns with the names of inputs, and `id`; others are not read.

    A cell without a value is left out of its example.

    Args:
      table: of `find_table`.
      inputs: the inputs of each signature of the task that answers texts.

    Raises:
      ValueError: for a file that has the columns of none of them, and as `rows_of` does.
    """
    known = dict.fromkeys(name for names in inputs for name in names)
    for file in table.files:
        header = columns_of(file, table.file_format)
        if not any(set(names) <= set(header) for names in inputs):
            choices = ", or ".join(" and ".join(names) for names in inputs)
            raise ValueError(f"{file} has the columns {', '.join(header)[:500]}; expected {choices}.")
        columns = [name for name in (*known, _KEPT) if name in header]
        for _, record in rows_of(file, table.file_format, columns):
            yield {name: value for name, value in record.items() if value is not None}


def rows_of_table(table: Table) -> int:
    """The number of rows of all files. Raises ValueError as `count_rows` does."""
    return sum(count_rows(file, table.file_format) for file in table.files)
