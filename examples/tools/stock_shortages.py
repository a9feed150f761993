"""Says what has to be ordered so that the shelves stay full."""

import collections

from _table import Table, number

METADATA = {
    "name": "stock_shortages",
    "function": "find_shortages",
    "description": "Compares what is in stock with what is sold on average on a day, and returns how much of each product "
    "is missing to last for some days.",
    "dangerous": False,
    "domain": "data",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "sales_path": {
                "type": "string",
                "description": "CSV file with the columns date, product and quantity, relative to the root",
            },
            "stock_path": {
                "type": "string",
                "description": "CSV file with the columns product and in_stock, relative to the root",
            },
            "days": {"type": "integer", "minimum": 1, "maximum": 90, "description": "days that the stock is to last"},
        },
        "required": ["sales_path", "stock_path", "days"],
    },
}


def find_shortages(sales_path: str, stock_path: str, days: int):
    sales, stock = Table(sales_path), Table(stock_path)
    sales.require("date", "product", "quantity")
    stock.require("product", "in_stock")
    dates = {row["date"] for row in sales.rows}
    if not dates:
        raise ValueError("%s has no rows, so nothing says how much is sold" % sales_path)
    sold = collections.Counter()
    for at, row in enumerate(sales.rows):
        sold[row["product"]] += number(row["quantity"], "%s, row %d, column quantity" % (sales_path, at + 1))
    lines = []
    for at, row in enumerate(stock.rows):
        in_stock = number(row["in_stock"], "%s, row %d, column in_stock" % (stock_path, at + 1))
        missing = round(sold[row["product"]] / len(dates) * days - in_stock)
        if missing > 0:
            lines.append({"product": row["product"], "quantity": missing})
    return {"days": days, "lines": lines}
