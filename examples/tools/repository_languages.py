"""Counts files and lines by language."""

import os

from _checkout import list_files

METADATA = {
    "name": "repository_languages",
    "function": "count_languages",
    "description": "Counts files, lines and bytes by language, most lines first. What git ignores, binary files and "
    "files over 5 MB are not counted. Languages are told by file extension.",
    "dangerous": False,
    "timeout": 300,
    "domain": "repository",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "directory to look at, relative to the root"},
            "languages_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 100,
                "description": "languages to name, 12 if left out; the rest is summed up as other",
            },
        },
        "required": ["path"],
    },
}

TEXT_BYTES_MAX = 5_000_000
LANGUAGES = {
    "C": ".c .h",
    "C#": ".cs",
    "C++": ".cc .cpp .cxx .hh .hpp",
    "CSS": ".css .scss",
    "CSV": ".csv .tsv",
    "Go": ".go",
    "HTML": ".htm .html",
    "Java": ".java",
    "JavaScript": ".cjs .js .jsx .mjs",
    "JSON": ".json .jsonl",
    "Kotlin": ".kt .kts",
    "Lua": ".lua",
    "Markdown": ".md",
    "PHP": ".php",
    "Protocol Buffers": ".proto",
    "Python": ".py .pyi",
    "reStructuredText": ".rst",
    "Ruby": ".rb",
    "Rust": ".rs",
    "Shell": ".bash .sh .zsh",
    "SQL": ".sql",
    "SVG": ".svg",
    "Swift": ".swift",
    "Text": ".txt",
    "TOML": ".toml",
    "TypeScript": ".ts .tsx",
    "XML": ".xml",
    "YAML": ".yaml .yml",
    "Zig": ".zig",
}
BY_EXTENSION = {extension: name for name, extensions in LANGUAGES.items() for extension in extensions.split()}
BY_NAME = {"Dockerfile": "Dockerfile", "Makefile": "Make", "CMakeLists.txt": "CMake"}


def count_languages(path: str, languages_max: int = 12):
    listing = list_files(path)
    rows = {}
    for name, text in listing.texts(TEXT_BYTES_MAX):
        row = rows.setdefault(language_of(name), {"files": 0, "lines": 0, "bytes": 0})
        row["files"] += 1
        row["lines"] += len(text.splitlines())
        row["bytes"] += len(text.encode("utf-8"))
    ordered = sorted(rows.items(), key=lambda item: (-item[1]["lines"], item[0]))
    languages = [{"language": language, **row} for language, row in ordered]
    return {
        "languages": languages[:languages_max] + summed_up(languages[languages_max:]),
        "files": sum(row["files"] for row in languages),
        "lines": sum(row["lines"] for row in languages),
        "unreadable": len(listing.unreadable),
        "found_by": listing.found_by,
    }


def language_of(path):
    name = os.path.basename(path)
    extension = os.path.splitext(name)[1].lower()
    return BY_NAME.get(name) or BY_EXTENSION.get(extension) or extension or "no extension"


def summed_up(rows):
    if not rows:
        return []
    total = {"language": "other (%d)" % len(rows)}
    for field in ("files", "lines", "bytes"):
        total[field] = sum(row[field] for row in rows)
    return [total]
