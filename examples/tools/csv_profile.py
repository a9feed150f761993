"""Says what the columns of a CSV file hold."""

from _table import Table

METADATA = {
    "name": "csv_profile",
    "function": "profile_csv",
    "description": "Says of each column of a CSV file with a header: whether it holds numbers, dates or texts, how many "
    "cells are empty, how many values differ, and the smallest and largest value.",
    "dangerous": False,
    "domain": "data",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "the file, relative to the root"}},
        "required": ["path"],
    },
}


def profile_csv(path: str):
    table = Table(path)
    columns = [profile(name, [row[name] for row in table.rows]) for name in table.columns]
    return {"rows": len(table.rows), "empty": sum(column["empty"] for column in columns), "columns": columns}


def profile(name, cells):
    values = [cell for cell in cells if cell.strip()]
    kind, key = kind_of(values)
    return {
        "column": name,
        "holds": kind,
        "empty": len(cells) - len(values),
        "distinct": len(set(values)),
        "smallest": min(values, key=key, default=None),
        "largest": max(values, key=key, default=None),
    }


def kind_of(values):
    """Returns what all values are, and how they are ordered."""
    if not values:
        return "nothing", str
    if all(is_number(value) for value in values):
        return "numbers", float
    if all(is_date(value) for value in values):
        return "dates", str
    return "texts", str


def is_number(text):
    try:
        # What float also takes, such as nan, has no order.
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def is_date(text):
    year, *rest = text.split("-")
    return len(year) == 4 and len(rest) == 2 and all(part.isdigit() for part in (year, *rest))
