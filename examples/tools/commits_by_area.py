"""Sorts commits into areas by the first words of their subjects."""

import re

METADATA = {
    "name": "commits_by_area",
    "function": "group_commits",
    "description": "Sorts the lines of a git log into areas: 'journal: rows share a commit' belongs to journal, "
    "'fix(api): ...' to api, a subject without an area to other. The log has one commit a line: hash, date, author and subject, "
    "separated by tabs.",
    "dangerous": False,
    "domain": "repository",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "log": {"type": "string", "description": "git log --format=%h%x09%as%x09%an%x09%s"},
            "areas_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "description": "areas to name, 12 if left out; commits of further ones belong to other",
            },
        },
        "required": ["log"],
    },
}

# area: subject; area, area: subject; kind(area): subject
SUBJECT = re.compile(r"(?:\w+\((?P<inner>[^)]+)\)|(?P<areas>[\w./-]+(?:, ?[\w./-]+)*))!?: (?P<rest>.+)")
OTHER = "other"


def group_commits(log: str, areas_max: int = 12):
    commits = [read_line(line, at + 1) for at, line in enumerate(log.splitlines()) if line.strip()]
    by_area = {}
    for area, commit in commits:
        by_area.setdefault(area, []).append(commit)
    named = sorted((area for area in by_area if area != OTHER), key=lambda area: (-len(by_area[area]), area))
    kept = named[:areas_max]
    rows = [row for area in kept for row in rows_of(area, by_area[area])]
    rest = [commit for area, commit in commits if area not in kept]
    rows.extend(rows_of(OTHER, rest))
    areas = [{"area": area, "commits": len(by_area[area])} for area in kept]
    if rest:
        areas.append({"area": OTHER, "commits": len(rest)})
    dates = sorted(commit["date"] for _, commit in commits)
    return {
        "commits": len(commits),
        "from": dates[0] if dates else "",
        "to": dates[-1] if dates else "",
        "areas": areas,
        "rows": rows,
    }


def read_line(line, at):
    """Returns the area of a commit and the commit."""
    cells = line.split("\t", 3)
    if len(cells) != 4:
        expected = "expected hash, date, author and subject, separated by tabs"
        raise ValueError("line %d of the log is %r: %s" % (at, line, expected))
    commit, date, _, subject = cells
    match = SUBJECT.fullmatch(subject)
    if match is None:
        return OTHER, {"change": subject, "commit": commit, "date": date}
    area = match["inner"] or match["areas"].split(",")[0]
    return area, {"change": match["rest"], "commit": commit, "date": date}


def rows_of(area, commits):
    return [{"area": area, **commit} for commit in commits]
