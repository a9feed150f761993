"""Says which files of a checkout change most often, by its history."""

import collections
import re
import shutil
import subprocess

from _checkout import require_directory

METADATA = {
    "name": "repository_churn",
    "function": "measure_churn",
    "description": "Says which files changed most often in the latest commits of a git checkout, with lines added and "
    "removed. A directory without a history that can be read is no error: has_history is false and note says why.",
    "dangerous": False,
    "timeout": 300,
    "domain": "repository",
    "output_type": "structured",
    "parameters": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "directory within the checkout, relative to the root"},
            "commits_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10000,
                "description": "commits to look at, the latest 500 if left out",
            },
            "files_max": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "description": "how many files to name, 10 if left out",
            },
        },
        "required": ["path"],
    },
}

COMMIT = "commit"
CHANGE = re.compile(r"(\d+|-)\t(\d+|-)\t(.+)")


def measure_churn(path: str, commits_max: int = 500, files_max: int = 10):
    require_directory(path)
    why = why_no_history(path)
    if why is not None:
        return {"has_history": False, "note": "no history: " + why, "commits": 0, "files": []}
    # A file that moved counts under both names: following renames would take minutes in a large history.
    log = git(path, "log", "--no-merges", "--no-renames", "--numstat", "--format=tformat:" + COMMIT,
              "--max-count=%d" % commits_max, "--relative", "--", ".")
    if log.returncode != 0:
        raise RuntimeError("git log failed: " + log.stderr.strip())
    commits, files = read_log(log.stdout)
    ordered = sorted(files.items(), key=lambda item: (-item[1]["commits"], item[0]))
    return {
        "has_history": True,
        "note": "the latest %d commits, merges left out" % commits,
        "commits": commits,
        "files": [{"file": name, **counts} for name, counts in ordered[:files_max]],
    }


def git(path, *args):
    command = ["git", *args]
    return subprocess.run(command, cwd=path, capture_output=True, text=True, errors="backslashreplace", check=False)


def why_no_history(path):
    """Returns why there is nothing to look at, or nothing if there is a history."""
    if shutil.which("git") is None:
        return "there is no git here"
    head = git(path, "rev-parse", "--verify", "HEAD")
    return None if head.returncode == 0 else head.stderr.strip().splitlines()[0]


def read_log(log):
    """Returns the number of commits, and how often and by how much each file changed."""
    commits = 0
    files = collections.defaultdict(lambda: {"commits": 0, "added": 0, "removed": 0})
    for line in log.splitlines():
        if line == COMMIT:
            commits += 1
            continue
        change = CHANGE.fullmatch(line)
        if change is None:
            continue
        added, removed, name = change.groups()
        counts = files[name]
        counts["commits"] += 1
        # Of a binary file git counts no lines and writes a dash.
        counts["added"] += int(added) if added != "-" else 0
        counts["removed"] += int(removed) if removed != "-" else 0
    return commits, files
