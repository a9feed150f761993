"""Reads what a Python tool says of itself out of its source, and executes none of it.

Descriptor 3 carries lines of JSON: a request holds one file's bytes, as text with one character for each byte; the answer
says what stands in METADATA, on which lines, and what the function looks like that METADATA names. The source is only
parsed, so nothing in it can act; it may still bring the parser down, which is why this runs in a process of its own.
It works with Python 3.8 and later.
"""

import ast
import json
import os
import sys
import warnings

CHANNEL = 3
READ_BYTES = 1 << 16
# Of what is only shown, such as an annotation.
TEXT_CHARS_MAX = 200
# How much of everything there may be; haft says it with every file.
BOUNDS = {}
INTEGER_MIN = -(1 << 63)
INTEGER_MAX = (1 << 64) - 1


class NotLiteral(Exception):
    """A part of METADATA that is no JSON value."""

    def __init__(self, node, pointer, message):
        super().__init__(message)
        self.line = getattr(node, "lineno", None)
        self.pointer = pointer
        self.message = message


def cut(text):
    return text if len(text) <= TEXT_CHARS_MAX else text[:TEXT_CHARS_MAX] + "..."


def as_json_text(text):
    """Returns the text with what UTF-8 cannot carry written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def constant(node, pointer):
    value = node.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        if as_json_text(value) != value:
            raise NotLiteral(node, pointer, "is text with half of a surrogate pair, which JSON cannot carry")
        return value
    if isinstance(value, int):
        if not INTEGER_MIN <= value <= INTEGER_MAX:
            raise NotLiteral(node, pointer, "is an integer of more than 64 bits")
        return value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise NotLiteral(node, pointer, "is a number that JSON cannot carry")
        return value
    name = "an ellipsis" if value is Ellipsis else "of type " + type(value).__name__
    raise NotLiteral(node, pointer, "is " + name + ", which JSON cannot carry")


DESCRIPTIONS = {
    "Name": "a name, which only running the file would give a value",
    "Call": "a call, which only running the file would answer",
    "Attribute": "an attribute, which only running the file would give a value",
    "Subscript": "a lookup, which only running the file would answer",
    "JoinedStr": "a formatted text, which only running the file would make",
    "BinOp": "a computation, which only running the file would do",
    "BoolOp": "a computation, which only running the file would do",
    "Compare": "a comparison, which only running the file would do",
    "IfExp": "a choice, which only running the file would make",
    "DictComp": "a comprehension, which only running the file would work out",
    "ListComp": "a comprehension, which only running the file would work out",
    "SetComp": "a comprehension, which only running the file would work out",
    "GeneratorExp": "a comprehension, which only running the file would work out",
    "Starred": "an unpacking, which only running the file would do",
    "Lambda": "a function",
    "Set": "a set, which JSON cannot carry: write a list",
}


def literal(node, pointer, lines, depth):
    """Returns the JSON value that the node spells, and notes the line of every key and item."""
    if depth > BOUNDS["depth"]:
        raise NotLiteral(node, pointer, "is nested more than %d levels deep" % BOUNDS["depth"])
    lines[pointer] = node.lineno
    if isinstance(node, ast.Constant):
        return constant(node, pointer)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [
            literal(item, "%s/%d" % (pointer, index), lines, depth + 1)
            for index, item in enumerate(node.elts)
        ]
    if isinstance(node, ast.Dict):
        return fields(node, pointer, lines, depth)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        operand = node.operand
        if isinstance(operand, ast.Constant) and type(operand.value) in (int, float):
            value = constant(operand, pointer)
            return -value if isinstance(node.op, ast.USub) else value
    kind = type(node).__name__
    raise NotLiteral(node, pointer, "is " + DESCRIPTIONS.get(kind, "code (%s)" % kind))


def fields(node, pointer, lines, depth):
    value = {}
    for key, item in zip(node.keys, node.values):
        if key is None:
            raise NotLiteral(item, pointer, "unpacks another dictionary, which only running the file would do")
        if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
            raise NotLiteral(key, pointer, "has a key that is no text literal")
        name = constant(key, pointer)
        place = pointer + "/" + name.replace("~", "~0").replace("/", "~1")
        if name in value:
            raise NotLiteral(key, place, "is there twice")
        value[name] = literal(item, place, lines, depth + 1)
        lines[place] = key.lineno
    return value


def top_level(statement):
    """Yields the nodes of a statement that run when the file is loaded, as far as names are concerned."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(ast.iter_child_nodes(node))


def is_name(node, name):
    return isinstance(node, ast.Name) and node.id == name


def plain_value(statement):
    """Returns what a statement of its own assigns to METADATA, or nothing."""
    if isinstance(statement, ast.Assign) and any(is_name(target, "METADATA") for target in statement.targets):
        return statement.value
    if isinstance(statement, ast.AnnAssign) and is_name(statement.target, "METADATA"):
        return statement.value
    return None


def changes_metadata(node):
    if is_name(node, "METADATA"):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, (ast.Subscript, ast.Attribute)) and is_name(node.value, "METADATA"):
        return not isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return is_name(node.func.value, "METADATA")
    if isinstance(node, ast.alias):
        return (node.asname or node.name) == "METADATA"
    return False


def problem(code, line, message, pointer=""):
    return {"code": code, "line": line, "message": message, "pointer": pointer}


def find_metadata(tree, answer):
    values = []
    for statement in tree.body:
        value = plain_value(statement)
        if value is not None:
            values.append((statement, value))
            continue
        if any(changes_metadata(node) for node in top_level(statement)):
            message = "METADATA is set or changed by code here, which only running the file would do"
            answer["problem"] = problem("metadata_code", statement.lineno, message)
            return
    if not values:
        answer["problem"] = problem("metadata_missing", None, "there is no METADATA in this file")
        return
    if len(values) > 1:
        message = "METADATA is written here a second time, after line %d" % values[0][0].lineno
        answer["problem"] = problem("metadata_code", values[1][0].lineno, message)
        return
    statement, value = values[0]
    answer["metadata_line"] = statement.lineno
    lines = {}
    try:
        metadata = literal(value, "", lines, 0)
    except NotLiteral as err:
        answer["problem"] = problem("metadata_code", err.line, err.message, err.pointer)
        return
    answer["lines"] = lines
    if isinstance(metadata, dict):
        answer["metadata"] = metadata
    else:
        answer["problem"] = problem("metadata_form", value.lineno, "METADATA is no dictionary")


def text_of(node):
    if node is None or not hasattr(ast, "unparse"):
        return None
    return as_json_text(cut(ast.unparse(node)))


def parameters(arguments):
    """Returns the parameters of a function in their order."""
    found = []
    positional = [(arg, "positional_only") for arg in arguments.posonlyargs]
    positional += [(arg, "ordinary") for arg in arguments.args]
    first_default = len(positional) - len(arguments.defaults)
    for index, (arg, kind) in enumerate(positional):
        found.append((arg, kind, index >= first_default))
    if arguments.vararg is not None:
        found.append((arguments.vararg, "rest", True))
    for arg, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        found.append((arg, "keyword_only", default is not None))
    if arguments.kwarg is not None:
        found.append((arguments.kwarg, "keywords", True))
    return [
        {
            "name": arg.arg,
            "kind": kind,
            "has_default": has_default,
            "annotation": text_of(arg.annotation),
            "line": arg.lineno,
        }
        for arg, kind, has_default in found
    ]


def otherwise_bound(tree, name):
    """Says how a name comes to be that no function of the top level has, and on which line."""
    for statement in tree.body:
        for node in top_level(statement):
            line = getattr(node, "lineno", statement.lineno)
            if isinstance(node, ast.ClassDef) and node.name == name:
                return {"how": "class", "line": line}
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                return {"how": "nested", "line": line}
            if isinstance(node, ast.alias) and (node.asname or node.name.split(".")[0]) == name:
                return {"how": "import", "line": statement.lineno}
            if is_name(node, name) and isinstance(node.ctx, ast.Store):
                return {"how": "assignment", "line": line}
    return None


def describe_function(tree, name, answer):
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    answer["functions"] = sorted({node.name for node in functions})[: BOUNDS["functions"]]
    named = [node for node in functions if node.name == name]
    if not named:
        answer["bound"] = otherwise_bound(tree, name)
        return
    # As in a running file the last one counts.
    node = named[-1]
    documentation = ast.get_docstring(node) or ""
    answer["function"] = {
        "line": node.lineno,
        "is_decorated": bool(node.decorator_list),
        "parameters": parameters(node.args),
        "summary": as_json_text(cut(documentation.strip().split("\n")[0].strip())),
    }


def relative_import(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > 0:
            return node.lineno
    return None


def read(source):
    answer = {}
    try:
        tree = ast.parse(source)
    except SyntaxError as err:
        answer["problem"] = problem("syntax", err.lineno, as_json_text(cut(str(err.msg))))
        return answer
    except (ValueError, RecursionError, MemoryError) as err:
        message = as_json_text(cut(str(err))) or "it is nested too deeply"
        answer["problem"] = problem("syntax", None, message)
        return answer
    find_metadata(tree, answer)
    answer["relative_import"] = relative_import(tree)
    name = answer.get("metadata", {}).get("function")
    describe_function(tree, name if isinstance(name, str) else "", answer)
    return answer


def lines_of(channel):
    rest = b""
    while True:
        piece = os.read(channel, READ_BYTES)
        if not piece:
            return
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole


def main():
    warnings.simplefilter("ignore")
    if sys.version_info < (3, 8):
        answer = {"problem": problem("interpreter", None, "Python 3.8 or later is needed, this is " + sys.version.split()[0])}
    else:
        answer = None
    for line in lines_of(CHANNEL):
        request = json.loads(line.decode("utf-8"))
        BOUNDS.update(request["bounds"])
        found = answer if answer is not None else read(request["source"].encode("latin-1"))
        data = json.dumps(found, allow_nan=False).encode("ascii") + b"\n"
        while data:
            data = data[os.write(CHANNEL, data) :]


main()
