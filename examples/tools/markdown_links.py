"""Finds links of Markdown files that lead nowhere."""

import os
import re
import urllib.parse

from _checkout import list_files

METADATA = {
    "name": "markdown_links",
    "function": "check_links",
    "description": "Checks the links between the Markdown files of a directory: whether the file is there, and whether it "
    "has the heading. Links to hosts are counted and not followed, and files outside the directory have any heading.",
    "dangerous": False,
    "timeout": 300,
    "domain": "documents",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "directory to look at, relative to the root"}},
        "required": ["path"],
    },
}

TEXT_BYTES_MAX = 5_000_000
BROKEN_MAX = 200
FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1[`~]*[ \t]*$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\n).)+?(?<!`)\1(?!`)", re.DOTALL)
INLINE = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(\s*<?([^\s()<>]+)>?(?:\s+[\"'(][^)]*)?\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s<>]+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=[\"']([^\"']+)[\"']")
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")


def check_links(path: str):
    texts = {name: text for name, text in list_files(path).texts(TEXT_BYTES_MAX) if name.lower().endswith(".md")}
    anchors = {name: anchors_of(text) for name, text in texts.items()}
    broken, local, elsewhere = [], 0, 0
    for name, text in texts.items():
        for line, target in links_of(text):
            if SCHEME.match(target):
                elsewhere += 1
                continue
            local += 1
            why = why_broken(path, name, target, anchors)
            if why is not None:
                broken.append({"file": name, "line": line, "link": target, "why": why})
    return {
        "files": len(texts),
        "links": local,
        "links_to_hosts": elsewhere,
        "broken": broken[:BROKEN_MAX],
        "broken_total": len(broken),
    }


def links_of(text):
    """Returns the line and the target of each link. What is code is no link."""
    plain = CODE.sub(blank, FENCE.sub(blank, text))
    found = [(match.start(), match[1]) for pattern in (INLINE, DEFINITION) for match in pattern.finditer(plain)]
    return [(plain.count("\n", 0, start) + 1, target) for start, target in sorted(found)]


def blank(match):
    """Returns the lines of a match without what stands in them, so that line numbers stay."""
    return "\n" * match[0].count("\n")


def why_broken(top, name, target, anchors):
    file, _, heading = target.partition("#")
    file, heading = urllib.parse.unquote(file), urllib.parse.unquote(heading)
    if not file:
        goal = name
    elif file.startswith("/"):
        goal = os.path.normpath(file.lstrip("/"))
    else:
        goal = os.path.normpath(os.path.join(os.path.dirname(name), file))
    if not os.path.exists(os.path.join(top, goal)):
        return "there is no %s" % goal
    if heading and goal in anchors and heading.lower() not in anchors[goal]:
        return "%s has no heading #%s" % (goal, heading)
    return None


def anchors_of(text):
    """Returns what links may name in a file, as most forges make it of headings."""
    plain = FENCE.sub(blank, text)
    anchors = {match[1].lower() for match in ANCHOR.finditer(plain)}
    for match in HEADING.finditer(plain):
        words = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", match[1])).strip().lower()
        anchor, count = words.replace(" ", "-"), 0
        while anchor in anchors:
            count += 1
            anchor = "%s-%d" % (words.replace(" ", "-"), count)
        anchors.add(anchor)
    return anchors
