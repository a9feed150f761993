"""Writes a report as Markdown: the last node of most of the plans here."""

METADATA = {
    "name": "markdown_report",
    "function": "write_markdown_report",
    "description": "Returns a report as Markdown text: a title, and sections with a heading, a sentence and a table, "
    "each part if it is given. A section whose rows are an empty list says that there is nothing.",
    "dangerous": False,
    "domain": "report",
    "output_type": "text",
    "parameters": {
        "type": "object",
        "properties": {
            "title": {"type": "string", "minLength": 1},
            "sections": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "properties": {
                        "heading": {"type": "string", "minLength": 1},
                        "text": {"type": "string"},
                        "rows": {
                            "type": "array",
                            "items": {"type": "object"},
                            "description": "one object a row; the first one's fields are the columns",
                        },
                    },
                    "required": ["heading"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["title", "sections"],
    },
}


def write_markdown_report(title: str, sections: list) -> str:
    parts = ["# " + title]
    for section in sections:
        parts.append("## " + section["heading"])
        if section.get("text"):
            parts.append(section["text"])
        if "rows" in section:
            parts.append(table(section["rows"]))
    return "\n\n".join(parts)


def table(rows):
    if not rows:
        return "Nothing."
    columns = list(rows[0])
    cells = [[cell(row.get(column)) for column in columns] for row in rows]
    widths = [max(len(line[at]) for line in [columns] + cells) for at in range(len(columns))]
    is_number = [all(isinstance(row.get(column), (int, float)) for row in rows) for column in columns]
    rule = ["-" * (width - 1) + ":" if number else "-" * width for width, number in zip(widths, is_number)]
    lines = [line(columns, widths, is_number), line(rule, widths, is_number)]
    lines.extend(line(row, widths, is_number) for row in cells)
    return "\n".join(lines)


def line(cells, widths, is_number):
    padded = [
        text.rjust(width) if number else text.ljust(width)
        for text, width, number in zip(cells, widths, is_number)
    ]
    return "| " + " | ".join(padded) + " |"


def cell(value):
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return format(value, ",")
    if isinstance(value, float):
        return format(value, ",.2f")
    return str(value).replace("|", "\\|").replace("\n", " ")
