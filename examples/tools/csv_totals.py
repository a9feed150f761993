"""Groups the rows of a CSV file and sums them up."""

from _table import Table, number

METADATA = {
    "name": "csv_totals",
    "function": "total_csv",
    "description": "Groups the rows of a CSV file by a column and adds a column of numbers up: rows, total and mean of "
    "each group, largest total first. Rows whose number or group is empty are left out and counted.",
    "dangerous": False,
    "domain": "data",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "the file, relative to the root"},
            "group_by": {"type": "string", "description": "the column whose values are the groups"},
            "group_chars": {
                "type": "integer",
                "minimum": 1,
                "description": "how much of a value counts, such as 7 to make months of dates; all of it if left out",
            },
            "value": {"type": "string", "description": "the column to add up"},
            "order": {"type": "string", "enum": ["total", "group"], "description": "total if left out"},
        },
        "required": ["path", "group_by", "value"],
    },
}


def total_csv(path: str, group_by: str, value: str, group_chars: int = None, order: str = "total"):
    table = Table(path)
    table.require(group_by, value)
    numbers, left_out = {}, 0
    for at, row in enumerate(table.rows):
        group, cell = row[group_by].strip()[:group_chars], row[value].strip()
        if group and cell:
            place = "%s, row %d, column %s" % (path, at + 1, value)
            numbers.setdefault(group, []).append(number(cell, place))
        else:
            left_out += 1
    groups = [summed_up(group, found) for group, found in numbers.items()]
    groups.sort(key=lambda row: row["group"] if order == "group" else (-row["total"], row["group"]))
    total = round(sum(row["total"] for row in groups), 2)
    return {"groups": groups, "total": total, "rows_left_out": left_out}


def summed_up(group, numbers):
    total = sum(numbers)
    return {"group": group, "rows": len(numbers), "total": round(total, 2), "mean": round(total / len(numbers), 2)}
