"""A DataFrame and its columns with the methods by which those of pandas and polars are known."""


class Column:
    """A column: what it holds has an order, but no index from 0."""

    def __init__(self, values):
        self._values = list(values)

    def __iter__(self):
        return iter(self._values)

    def __len__(self):
        return len(self._values)

    def to_list(self):
        return list(self._values)

    def __repr__(self):
        return f"Column({self._values})"


class Frame:
    """A table that gives the names of its columns when it is gone through, as pandas does."""

    def __init__(self, columns):
        self._columns = columns

    @property
    def columns(self):
        return list(self._columns)

    def __iter__(self):
        return iter(self._columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name):
        return Column(self._columns[name])

    def __repr__(self):
        return f"Frame({self._columns})"
