"""Counts marks of unfinished work in text files."""

import collections
import re

from _checkout import list_files

METADATA = {
    "name": "repository_marks",
    "function": "count_marks",
    "description": "Counts words such as TO-DO marks in the text files of a directory: how often each stands there, and "
    "which files have most. A mark counts as a whole word in the case that it is given in.",
    "dangerous": False,
    "timeout": 300,
    "domain": "repository",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "directory to look at, relative to the root"},
            "marks": {
                "type": "array",
                "items": {"type": "string", "pattern": "^\\w+$"},
                "minItems": 1,
                "maxItems": 20,
                "description": "the words to count",
            },
            "files_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "how many files to name, 10 if left out",
            },
        },
        "required": ["path", "marks"],
    },
}

TEXT_BYTES_MAX = 5_000_000


def count_marks(path: str, marks: list, files_max: int = 10):
    pattern = re.compile(r"\b(%s)\b" % "|".join(re.escape(mark) for mark in marks))
    by_mark = collections.Counter({mark: 0 for mark in marks})
    by_file = collections.Counter()
    listing = list_files(path)
    for name, text in listing.texts(TEXT_BYTES_MAX):
        found = pattern.findall(text)
        by_mark.update(found)
        if found:
            by_file[name] += len(found)
    files = sorted(by_file.items(), key=lambda entry: (-entry[1], entry[0]))
    return {
        "total": sum(by_mark.values()),
        "by_mark": [{"mark": mark, "count": by_mark[mark]} for mark in marks],
        "files": [{"file": name, "count": count} for name, count in files[:files_max]],
        "files_total": len(files),
        "unreadable": len(listing.unreadable),
    }
