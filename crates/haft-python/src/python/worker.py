"""Runs the function of one Python tool, call by call.

Descriptor 3 carries lines of JSON. The first request holds the tool's source, which was checked before; each further one
is a call, and each gets one answer with its number. A call runs in a child of the process that loaded the file, unless
METADATA says that the tool keeps its state: no call sees what an earlier one left in a global. The tool shares this process, so nothing here holds a tool back that
means harm: the process is confined from outside. What is kept apart is what ordinary code does by accident: prints, closed
descriptors, children and replaced streams never reach the answers. It works with Python 3.8 and later.
"""

import fcntl
import gc
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import io
import json
import linecache
import os
import select
import signal
import sys
import traceback

CHANNEL = 3
# Above what programs count up to, so that a loop over low descriptors leaves it alone.
CHANNEL_MIN = 200
READ_BYTES = 1 << 16
INTEGER_MIN = -(1 << 63)
INTEGER_MAX = (1 << 64) - 1
# How much of everything there may be; haft says it when it has the file loaded.
BOUNDS = {}
# How often it is looked whether a child ended that sent no answer, in milliseconds.
CHILD_POLL_MS = 100
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


def out_of_the_way(descriptor):
    """Moves a descriptor to where programs do not count up to, and away from programs that the tool starts."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, CHANNEL_MIN)
    os.close(descriptor)
    return moved


class Channel:
    """The way to haft, out of the tool's way."""

    def __init__(self):
        self.pid = os.getpid()
        self.descriptor = out_of_the_way(CHANNEL)
        self.rest = b""
        # A child that goes on in this code must neither answer nor keep the channel open.
        os.register_at_fork(after_in_child=self.leave)

    def leave(self):
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def receive(self):
        """Returns the next request, or nothing once haft is gone."""
        pieces = [self.rest]
        while b"\n" not in pieces[-1]:
            piece = os.read(self.descriptor, READ_BYTES)
            if not piece:
                return None
            pieces.append(piece)
        line, _, self.rest = b"".join(pieces).partition(b"\n")
        return json.loads(line.decode("utf-8"))

    def send(self, line):
        write_all(self.descriptor, line.encode("utf-8") + b"\n")


def write_all(descriptor, data):
    data = memoryview(data)
    while data:
        data = data[os.write(descriptor, data) :]


class Surroundings:
    """What a tool may change of the process by accident, and how it was."""

    def __init__(self):
        self.streams = {
            number: fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, CHANNEL_MIN) for number in (0, 1, 2)
        }
        self.identities = {number: identity(number) for number in (0, 1, 2)}
        self.directory = out_of_the_way(os.open(".", os.O_RDONLY))
        self.memory = None
        try:
            self.memory = out_of_the_way(os.open("/proc/self/statm", os.O_RDONLY))
        except OSError:
            pass
        self.open_streams()

    def open_streams(self):
        sys.stdin = io.TextIOWrapper(io.FileIO(0, "r", closefd=False), encoding="utf-8", errors="replace")
        sys.stdout = self.output(1)
        sys.stderr = self.output(2)
        self.opened = (sys.stdin, sys.stdout, sys.stderr)

    @staticmethod
    def output(number):
        raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
        return io.TextIOWrapper(raw, encoding="utf-8", errors="backslashreplace", line_buffering=True)

    def restore(self):
        """Writes out what was printed, and makes streams, descriptors and directory what they were."""
        current = tuple(getattr(sys, name, None) for name in ("stdin", "stdout", "stderr"))
        for stream in current[1:] + self.opened[1:]:
            try:
                stream.flush()
            except BaseException:
                # Whatever a tool put there may raise anything; what it printed there was its own to lose.
                pass
        for number, kept in self.streams.items():
            if identity(number) != self.identities[number]:
                os.dup2(kept, number, inheritable=True)
        is_replaced = any(left is not right for left, right in zip(current, self.opened))
        if is_replaced or any(stream.closed for stream in self.opened):
            self.open_streams()
        try:
            os.fchdir(self.directory)
        except OSError:
            pass

    def resident_bytes(self):
        if self.memory is None:
            return 0
        return int(os.pread(self.memory, 128, 0).split()[1]) * PAGE_BYTES


def identity(number):
    try:
        status = os.fstat(number)
    except OSError:
        return None
    return (status.st_dev, status.st_ino)


class CheckedLoader(importlib.abc.InspectLoader):
    """Loads the tool from the source that was checked, whatever lies on the disk by now."""

    def __init__(self, path, source):
        self.path = path
        self.source = source

    def get_source(self, name):
        return importlib.util.decode_source(self.source)

    def get_code(self, name):
        return compile(self.source, self.path, "exec", dont_inherit=True)


class CheckedFinder(importlib.abc.MetaPathFinder):
    """Finds the tool's own module, and no other."""

    def __init__(self, name, loader):
        self.name = name
        self.loader = loader

    def find_spec(self, name, path=None, target=None):
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.loader.path, loader=self.loader)


class SourceLoader(importlib.machinery.SourceFileLoader):
    """Loads a module from its source alone: the bytecode beside it may be that of anything, and nobody reads it."""

    def get_code(self, name):
        path = self.get_filename(name)
        return self.source_to_code(self.get_data(path), path)


def finder_without_bytecode(base):
    """Returns what finds the modules beneath a directory, but for those of an environment that lies there."""
    loaders = (
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (SourceLoader, importlib.machinery.SOURCE_SUFFIXES),
    )

    def find(path):
        is_installed = is_within(sys.prefix, base) and is_within(path, sys.prefix)
        if is_installed or not is_within(path, base):
            raise ImportError("not beneath %s" % base, path=path)
        return importlib.machinery.FileFinder(path, *loaders)

    return find


def is_within(path, base):
    return path == base or path.startswith(base.rstrip("/") + "/")


class Context(dict):
    """Which call this is: keys, also readable as attributes."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Tool:
    """The function of the checked file, and where its code lies."""

    def __init__(self, request):
        self.path = request["path"]
        self.base = request["package_root"] or os.path.dirname(self.path)
        source = request["source"].encode("latin-1")
        name = request["module"]
        if request["package_root"] is None:
            # Neither the file nor a neighbour takes the place of a module that is called the same, such as calendar.
            name = name.replace(".", "_")
            while name in sys.modules or importlib.util.find_spec(name) is not None:
                name += "_tool"
            sys.path.append(self.base)
        else:
            sys.path.insert(0, self.base)
        sys.path_hooks.insert(0, finder_without_bytecode(self.base))
        sys.argv = [self.path]
        text = importlib.util.decode_source(source)
        linecache.cache[self.path] = (len(source), None, text.splitlines(True), self.path)
        sys.meta_path.insert(0, CheckedFinder(name, CheckedLoader(self.path, source)))
        module = importlib.import_module(name)
        self.function = getattr(module, request["function"], None)
        if not callable(self.function):
            message = "the file has no callable %s once it is loaded" % request["function"]
            raise AttributeError(message)

    def call(self, arguments):
        result = self.function(**arguments)
        if hasattr(type(result), "__await__"):
            import asyncio

            result = asyncio.run(awaited(result))
        return result


async def awaited(awaitable):
    return await awaitable


class NotJson(Exception):
    """A result, or a part of it, that JSON cannot carry."""

    def __init__(self, path, message):
        place = "result" + "".join("[%s]" % json.dumps(step) for step in path)
        super().__init__("%s %s" % (place, message))


ADVICE = {
    "bytes": "decode it, or write it as base64 text",
    "bytearray": "decode it, or write it as base64 text",
    "set": "return a list",
    "frozenset": "return a list",
    "generator": "return a list of what it yields",
    "datetime": "return its isoformat()",
    "date": "return its isoformat()",
    "Decimal": "return a text or a float",
    "complex": "return its parts",
    "function": "call it",
}


def check(value, path, depth_max, around):
    """Raises where a value is none that JSON carries without changing it."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        try:
            str.encode(value, "utf-8")
        except UnicodeEncodeError:
            raise NotJson(path, "holds half of a surrogate pair, which JSON cannot carry") from None
    elif isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise NotJson(path, "is an integer of more than 64 bits, which readers round: return a text")
    elif isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise NotJson(path, "is %s, which JSON cannot carry: return None or a text" % value)
    elif isinstance(value, (dict, list, tuple)):
        check_inside(value, path, depth_max, around)
    else:
        name = type_name(type(value))
        advice = ADVICE.get(type(value).__name__, "return a dict, list, text, number, bool or None")
        raise NotJson(path, "is of type %s, which is not JSON: %s" % (name, advice))


def check_inside(value, path, depth_max, around):
    if id(value) in around:
        raise NotJson(path, "contains itself")
    if len(path) >= depth_max:
        raise NotJson(path[:4], "is nested more than %d levels deep" % depth_max)
    around.add(id(value))
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                kind = type_name(type(key))
                raise NotJson(path, "has a key of type %s: keys must be texts" % kind)
            check(key, path + [key], depth_max, around)
            check(item, path + [key], depth_max, around)
    else:
        for index, item in enumerate(value):
            check(item, path + [index], depth_max, around)
    around.discard(id(value))


def type_name(kind):
    module = getattr(kind, "__module__", None)
    name = getattr(kind, "__qualname__", "unknown")
    return name if module in ("builtins", "__main__", None) else "%s.%s" % (module, name)


def clean(text):
    """Returns the text with what UTF-8 cannot carry written out, and at a bounded length."""
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    chars_max = BOUNDS["message_chars"]
    return text if len(text) <= chars_max else text[:chars_max] + "..."


def message_of(err):
    try:
        return clean(str(err))
    except BaseException as second:
        return "<its message cannot be read: %s>" % type_name(type(second))


class Explainer:
    """Says what an exception was and where in the tool's own code it came from."""

    def __init__(self, path, base):
        self.path = path
        bases = [base] + sorted((place for place in sys.path if place), key=len, reverse=True)
        self.bases = [place.rstrip("/") + "/" for place in bases]

    def explain(self, err):
        lines = []
        seen = set()
        relation = None
        while err is not None and id(err) not in seen and len(seen) < BOUNDS["causes"]:
            seen.add(id(err))
            if relation is not None:
                lines.append("%s %s: %s" % (relation, type_name(type(err)), message_of(err)))
            lines.extend(self.frames(err))
            if err.__cause__ is not None:
                relation, err = "caused by", err.__cause__
            elif err.__context__ is not None and not err.__suppress_context__:
                relation, err = "while handling", err.__context__
            else:
                err = None
        return lines

    def frames(self, err):
        """Returns the frames from the tool's first one on, the last ones if they are many."""
        frames = [frame for frame in walk(err.__traceback__)]
        own = [index for index, (name, _, _) in enumerate(frames) if name == self.path]
        if own:
            frames = frames[own[0] :]
        else:
            frames = [frame for frame in frames if not is_of_the_import_system(frame[0])]
        left_out = len(frames) - BOUNDS["frames"]
        lines = []
        if left_out > 0:
            lines.append("  ... %d frames ..." % left_out)
        for name, line, function in frames[-BOUNDS["frames"] :]:
            lines.append("  %s:%d in %s" % (self.shown(name), line, clean(function)))
            source = linecache.getline(name, line).strip()
            if source:
                lines.append("    " + clean(source)[:200])
        return lines

    def shown(self, name):
        for base in self.bases:
            if name.startswith(base):
                return clean(name[len(base) :])
        # A path outside of the tool's directories says nothing to a model.
        return clean(name.rsplit("/", 1)[-1])


def is_of_the_import_system(name):
    return name == "<string>" or name.startswith("<frozen importlib") or name == importlib.__file__


def walk(frame):
    for entry, line in traceback.walk_tb(frame):
        code = entry.f_code
        yield code.co_filename, line or 0, getattr(code, "co_qualname", code.co_name)


def failure(kind, err, explainer):
    message = message_of(err)
    if isinstance(err, SystemExit):
        message = "the tool tried to end the process with status %s" % clean(repr(err.code))
    try:
        frames = explainer.explain(err)
    except BaseException:
        frames = []
    return {"kind": kind, "type": clean(type_name(type(err))), "message": message, "traceback": frames}


class Worker:
    """Answers requests one after the other."""

    def __init__(self):
        self.channel = Channel()
        self.surroundings = Surroundings()
        self.tool = None
        self.is_stateful = False
        # Children that answered and may not have ended yet.
        self.children = []

    def serve(self):
        while True:
            request = self.channel.receive()
            if request is None:
                os._exit(0)
            load = request.get("load")
            is_spent = False
            if load is not None:
                body = self.load(load)
            elif self.is_stateful:
                body = self.call(request["call"])
            else:
                body = self.call_in_child(request["call"])
                if body is None:
                    # No child can be made. The process serves this call, and no other one.
                    is_spent = True
                    body = self.call(request["call"])
            if os.getpid() != self.channel.pid:
                # A child that the tool forked came back here in place of its parent.
                os._exit(0)
            self.surroundings.restore()
            numbers = (request["number"], self.surroundings.resident_bytes(), json.dumps(is_spent))
            self.channel.send('{"number":%d,"resident_bytes":%d,"is_spent":%s,%s}' % (numbers + (body,)))

    def call_in_child(self, request):
        """Makes a call in a child, and returns its answer; nothing if there can be no child."""
        self.children = [child for child in self.children if os.waitpid(child, os.WNOHANG)[0] == 0]
        # The child of a process with threads may wait for a lock for ever that another thread held.
        if len(os.listdir("/proc/self/task")) > 1:
            return None
        reader, writer = os.pipe()
        writer = out_of_the_way(writer)
        try:
            child = os.fork()
        except OSError:
            os.close(reader)
            os.close(writer)
            return None
        if child == 0:
            try:
                os.close(reader)
                self.answer_as_child(request, writer)
            finally:
                # As Python ends itself if it cannot write what is left.
                os._exit(120)
        os.close(writer)
        try:
            return self.answer_of_child(child, reader)
        finally:
            os.close(reader)

    def answer_as_child(self, request, writer):
        pid = os.getpid()
        # A child of this one must not keep the parent waiting.
        os.register_at_fork(after_in_child=lambda: os.close(writer))
        body = self.call(request)
        if os.getpid() != pid:
            os._exit(0)
        self.surroundings.restore()
        write_all(writer, body.encode("utf-8") + b"\n")
        os._exit(0)

    def answer_of_child(self, child, reader):
        """Returns the line that a child sends. If it ends without one, this process ends in the same way."""
        poll = select.poll()
        poll.register(reader, select.POLLIN)
        pieces = []
        status = None
        while True:
            if poll.poll(CHILD_POLL_MS if status is None else 0):
                piece = os.read(reader, READ_BYTES)
                if piece.endswith(b"\n"):
                    pieces.append(piece[:-1])
                    if status is None:
                        self.children.append(child)
                    return b"".join(pieces).decode("utf-8")
                if piece:
                    pieces.append(piece)
                    continue
                if status is None:
                    status = os.waitpid(child, 0)[1]
                end_like(status)
            elif status is not None:
                end_like(status)
            else:
                ended, found = os.waitpid(child, os.WNOHANG)
                status = found if ended else None

    def load(self, request):
        BOUNDS.update(request["bounds"])
        self.is_stateful = request["is_stateful"]
        base = request["package_root"] or os.path.dirname(request["path"])
        self.explainer = Explainer(request["path"], base)
        try:
            self.tool = Tool(request)
        except BaseException as err:
            return '"error":' + json.dumps(failure("load", err, self.explainer))
        # What was loaded stays, and the collector would only copy its pages into each child.
        gc.collect()
        gc.freeze()
        return '"result":null'

    def call(self, request):
        arguments = request["arguments"]
        if request["context"] is not None:
            arguments["context"] = Context(request["context"])
        try:
            result = self.tool.call(arguments)
        except BaseException as err:
            return '"error":' + json.dumps(failure("exception", err, self.explainer))
        try:
            check(result, [], BOUNDS["depth"], set())
            text = json.dumps(result, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        except BaseException as err:
            return '"error":' + json.dumps(failure("result", err, self.explainer))
        bytes_count = len(text.encode("utf-8"))
        if bytes_count > BOUNDS["result_bytes"]:
            message = "result is %d bytes of JSON, more than %d: return less, or write a file and return its path"
            message = message % (bytes_count, BOUNDS["result_bytes"])
            return '"error":' + json.dumps({"kind": "result", "type": "", "message": message, "traceback": []})
        return '"result":' + text


def end_like(status):
    """Ends this process as another one ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


def refuse():
    """Answers in place of a worker that this interpreter is too old for."""
    message = "Python 3.8 or later is needed, found " + sys.version.split()[0]
    error = {"kind": "load", "type": "", "message": message, "traceback": []}
    while b"\n" not in os.read(CHANNEL, READ_BYTES):
        pass
    answer = {"number": 0, "resident_bytes": 0, "error": error}
    os.write(CHANNEL, json.dumps(answer).encode("ascii") + b"\n")


if sys.version_info < (3, 8):
    refuse()
else:
    Worker().serve()
