"""Reads CSV files for the tools beside this file. It is no tool itself: its name begins with an underscore."""

import csv


class Table:
    """The rows of a CSV file with a header, as dictionaries of texts."""

    def __init__(self, path):
        self.path = path
        # A byte order mark, as spreadsheets write it, is not a part of the first column's name.
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            self.columns = list(reader.fieldnames or [])
            self.rows = [self._checked(row, reader.line_num) for row in reader]
        if not self.columns:
            raise ValueError("%s is empty: expected a line with the names of the columns" % path)

    def _checked(self, row, line):
        if None in row or None in row.values():
            columns = len(self.columns)
            raise ValueError("%s:%d has not as many cells as the header: expected %d" % (self.path, line, columns))
        return row

    def require(self, *columns):
        for column in columns:
            if column not in self.columns:
                names = ", ".join(self.columns)
                raise ValueError("%s has no column %r: there are %s" % (self.path, column, names))


def number(text, place):
    """Returns what a cell says as a number; place says which cell it is."""
    try:
        return float(text)
    except ValueError:
        raise ValueError("%s holds %r, expected a number" % (place, text)) from None
