"""Lists the files of a directory for the tools beside this file.

It is no tool itself: haft looks at no file whose name begins with an underscore. A tool imports it like any neighbour.
"""

import os
import subprocess

# Left out where git cannot say what is ignored: what tools generate, and what is somebody else's.
GENERATED = {
    ".git", ".hg", ".mypy_cache", ".pytest_cache", ".svn", ".tox", ".venv", "__pycache__", "build", "dist",
    "node_modules", "target", "vendor", "venv",
}
BINARY_PROBE_BYTES = 8192


class Listing:
    """The files of a directory, by path relative to it, and how they were found."""

    def __init__(self, top, paths, found_by):
        self.top = top
        self.paths = sorted(paths)
        self.found_by = found_by
        self.unreadable = []

    def sizes(self):
        """Yields every regular file with its size. What is gone by now, or is a link, is left out."""
        for path in self.paths:
            whole = os.path.join(self.top, path)
            if os.path.isfile(whole) and not os.path.islink(whole):
                yield path, os.path.getsize(whole)

    def texts(self, bytes_max):
        """Yields every text file of at most so many bytes with what stands in it."""
        for path, size in self.sizes():
            data = self.read(path) if size <= bytes_max else None
            if data is not None and b"\0" not in data[:BINARY_PROBE_BYTES]:
                yield shown(path), data.decode("utf-8", "replace")

    def read(self, path):
        """Returns what stands in a file; of one that cannot be read nothing, and it is noted."""
        try:
            with open(os.path.join(self.top, path), "rb") as file:
                return file.read()
        except OSError:
            self.unreadable.append(path)
            return None


def require_directory(path):
    if not os.path.isdir(path):
        raise NotADirectoryError("there is no directory %r: expected a path relative to the root" % path)


def list_files(path):
    """Returns the listing of a directory: what git tracks and does not ignore, or everything but what is generated."""
    require_directory(path)
    tracked = list_with_git(path)
    if tracked is not None:
        return Listing(path, tracked, "git")
    return Listing(path, list_by_walking(path), "walking, because git lists nothing here")


def list_with_git(path):
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=path, capture_output=True, check=False)
    except FileNotFoundError:
        return None
    if done.returncode != 0:
        return None
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]


def list_by_walking(path):
    found = []
    for directory, names, files in os.walk(path):
        names[:] = [name for name in names if name not in GENERATED]
        within = os.path.relpath(directory, path)
        found.extend(os.path.normpath(os.path.join(within, name)) for name in files)
    return found


def shown(path):
    """Returns a path with bytes that are no text written out: JSON carries texts only."""
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
