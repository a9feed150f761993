"""Finds files that hold the same."""

import collections
import hashlib
import os

from _checkout import list_files, shown

METADATA = {
    "name": "duplicate_files",
    "function": "find_duplicates",
    "description": "Finds files of a directory that hold the same bytes, most wasted bytes first, without what git "
    "ignores.",
    "dangerous": False,
    "timeout": 300,
    "domain": "files",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "directory to look at, relative to the root"},
            "bytes_min": {
                "type": "integer",
                "minimum": 1,
                "description": "files smaller than this do not count, 1 if left out",
            },
            "groups_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "how many groups to name, 20 if left out",
            },
        },
        "required": ["path"],
    },
}

READ_BYTES = 1 << 20


def find_duplicates(path: str, bytes_min: int = 1, groups_max: int = 20):
    listing = list_files(path)
    by_size = collections.defaultdict(list)
    for name, size in listing.sizes():
        if size >= bytes_min:
            by_size[size].append(name)
    by_content = collections.defaultdict(list)
    # Only files of one size can be equal, so most are never read.
    for size, names in by_size.items():
        for name in names if len(names) > 1 else []:
            found = digest(listing, name)
            if found is not None:
                by_content[size, found].append(shown(name))
    groups = [group_of(size, names) for (size, _), names in by_content.items() if len(names) > 1]
    groups.sort(key=lambda group: (-group["bytes_wasted"], group["files"]))
    return {
        "groups": groups[:groups_max],
        "groups_total": len(groups),
        "bytes_wasted": sum(group["bytes_wasted"] for group in groups),
        "unreadable": len(listing.unreadable),
    }


def digest(listing, name):
    """Returns what tells a file's content from others; of a file that cannot be read nothing, and it is noted."""
    sha256 = hashlib.sha256()
    try:
        with open(os.path.join(listing.top, name), "rb") as file:
            while piece := file.read(READ_BYTES):
                sha256.update(piece)
    except OSError:
        listing.unreadable.append(name)
        return None
    return sha256.digest()


def group_of(size, names):
    wasted = size * (len(names) - 1)
    return {"bytes_each": size, "copies": len(names), "bytes_wasted": wasted, "files": ", ".join(names)}
