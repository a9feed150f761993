"""Names the largest files of a directory."""

from _checkout import list_files, shown

METADATA = {
    "name": "repository_largest_files",
    "function": "find_largest_files",
    "description": "Names the largest files of a directory, largest first, without what git ignores.",
    "dangerous": False,
    "timeout": 300,
    "domain": "repository",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "directory to look at, relative to the root"},
            "files_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "how many to name, 10 if left out",
            },
        },
        "required": ["path"],
    },
}


def find_largest_files(path: str, files_max: int = 10):
    listing = list_files(path)
    sizes = sorted(listing.sizes(), key=lambda entry: (-entry[1], entry[0]))
    return {
        "files": [{"file": shown(name), "bytes": size} for name, size in sizes[:files_max]],
        "files_total": len(sizes),
        "bytes_total": sum(size for _, size in sizes),
    }
