"""Tools of other servers, as functions: module tools, where the host has some.

    import tools
    from tools.github import create_issue

    tools.search("create issue")                  # what there is, the best first
    print(tools.describe("github.create_issue"))  # parameters, an example, the result
    issue = create_issue(title="x")               # a plain value: dict, list, str
    issue = await create_issue(title="x")         # the same, while other tasks run
    a, b = await asyncio.gather(create_issue.aio(title="a"), create_issue.aio(title="b"))

A call returns its result, and other threads run meanwhile; one that stands right behind await is
awaited, and .aio(...) is a call that something else awaits. An argument whose name is not one in Python stands in a dict: create_issue({"from": 1}).
Images and other bytes are a Blob, links a Link; a call that fails raises ToolError. What is known
of each server's tools is in /tools/SERVER.pyi."""

import ast
import asyncio
import dataclasses
import glob
import importlib
import json
import os
import sys
from binascii import a2b_base64
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from itertools import count
from opcode import opmap
from types import ModuleType

from _coderunner import HostError, call, park
from _coderunner_go import in_thread, slot

_keys = count(1)
_SHOWN = {"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"}


class ToolError(Exception):
    """A call that did not succeed: code is one of denied, bad_arguments, not_found, failed,
    unavailable, timeout, budget, unknown; text says why."""

    def __init__(self, code, text):
        super().__init__(code, text)
        self.code, self.text = code, text

    def __str__(self):
        return f"{self.code}: {self.text}"


class Blob:
    """Bytes that a tool has returned, with their media type: an image, a sound, a file."""

    __slots__ = "data", "mime", "name", "uri"

    def __init__(self, data=b"", mime="", name="", uri=""):
        self.data, self.mime, self.name, self.uri = data, mime, name, uri

    def __bytes__(self):
        return self.data

    def __repr__(self):
        return f"<Blob {self.mime or 'of unknown type'}, {len(self.data)} bytes>"

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {self.mime: self.data} if self.mime in _SHOWN else None


class Link:
    """A resource that a result names: read() returns what it has."""

    __slots__ = "uri", "mime", "name", "_server"

    def __init__(self, uri, mime="", name="", server=""):
        self.uri, self.mime, self.name, self._server = uri, mime, name, server

    def read(self):
        return _ask({"op": "read", "name": self._server, "uri": self.uri})

    def __repr__(self):
        return f"<Link {self.uri}>"


for _class in ToolError, Blob, Link:
    _class.__module__ = "tools"


def search(words):
    """Returns the tools that fit a few words, the best first: [{"name": ..., "description": ...}]."""
    found = _found(str(words))
    try:
        found += _ask({"op": "search", "name": str(words)}) or ()
    except ToolError:  # no server can be asked
        if not found:
            raise
    return [{"name": f"{t['server']}.{t['name']}", "description": t.get("description", "").partition("\n")[0][:300]} for t in found]


def describe(name=""):
    """Returns what is known of a tool, "github.create_issue", or of a server, "github"."""
    name = getattr(name, "_name", name)
    for t in _saved():
        if name == f"me.{t['name']}":
            return f"me.{t['signature']}\n\n{t['description']}"
    return _ask({"op": "describe", "name": str(name)})


# ---- saved programs: functions of files in the directory tools/me, NAME in NAME.py


def _saved():
    """The functions, which are not run."""
    for file in sorted(glob.glob("tools/me/*.py")):
        name = os.path.basename(file)[:-3]
        try:
            with open(file, encoding="utf-8") as f:
                tree = ast.parse(f.read())
        except (OSError, SyntaxError, ValueError):
            continue
        for node in tree.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == name:
                text = ast.get_docstring(node) or ast.get_docstring(tree) or ""
                result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                yield {"server": "me", "name": name, "description": text, "signature": f"{name}({ast.unparse(node.args)}){result}"}


def _found(words):
    words = words.lower().split()
    return [t for t in _saved() if all(w in f"me {t['name']} {t['description']}".lower() for w in words)]


class _Me(ModuleType):
    _run = {}  # the functions, with the texts of their files, which may change in a session

    def __getattr__(self, name):
        file = f"tools/me/{name}.py"
        try:
            with open(file, encoding="utf-8") as f:
                text = f.read()
        except OSError:
            raise AttributeError(f"there is no saved program {file}") from None
        if self._run.get(name, ("",))[0] != text:
            module = ModuleType(f"tools.me.{name}")
            module.__file__ = file
            exec(compile(text, file, "exec"), module.__dict__)
            self._run[name] = text, getattr(module, name, module)
        return self._run[name][1]

    def __dir__(self):
        return [t["name"] for t in _saved()]


# ---- queries


def _ask(query):
    """Asks the host. A query that "parks" may be answered hours later."""
    try:
        try:
            answer = call("tools", query)
        except TypeError:  # of values that JSON lacks
            answer = call("tools", json.loads(json.dumps(query, default=_plain)))
    except HostError as e:
        raise ToolError("bad_arguments" if "too long" in str(e) else "unavailable", str(e)) from None
    if error := answer.get("error"):
        if error["code"] == "parks" and query.get("parks"):
            query["parks"] = park()  # if it could not be, the host waits while the program does
            return _ask(query)
        raise ToolError(error["code"], error["message"])
    if "parts" not in answer:
        return answer.get("value")
    parts = [*map(_part, answer["parts"])]
    return parts[0] if len(parts) == 1 else parts or None


def _part(part):
    if blob := part.get("blob"):
        return Blob(**{**blob, "data": a2b_base64(blob.get("data", ""))})
    return Link(**part["link"]) if "link" in part else part["v"]


def _plain(value):
    if hasattr(value, "tolist"):  # of NumPy, pandas, array
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return [*value]
    if isinstance(value, Mapping):
        return dict(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    raise TypeError(f"a tool takes no argument of type {type(value).__qualname__}: it takes what JSON has")


def _line():
    """The line of the program that calls."""
    frame = sys._getframe(2)
    while frame and frame.f_code.co_filename.startswith(("/lib/", "<")):
        frame = frame.f_back
    return frame.f_lineno if frame else 0


def _is_awaited(frame):
    """Whether what a frame calls is awaited at once: by the instruction after the call's caches."""
    code, at = frame.f_code.co_code, frame.f_lasti + 2
    while code[at] == _CACHE:
        at += 2
    return code[at] == _AWAIT


_CACHE, _AWAIT = opmap["CACHE"], opmap["GET_AWAITABLE"]


async def _awaited(query):
    async with slot():
        query["key"] = f"{os.getpid()} {next(_keys)}"
        try:
            return await in_thread(_ask, query, daemon=True)
        except asyncio.CancelledError:
            call("tools", {"op": "cancel", "key": query["key"]})
            raise


# ---- modules


def _tool(server, name):
    """The function of a server's tool: a function and no object that can be called, since that
    would have C code on the stack, and the program could not be parked."""

    def tool(*args, **options):
        if asyncio._get_running_loop() and _is_awaited(sys._getframe(1)):
            return tool.aio(*args, **options)
        return _ask({**_query(full, args, options, _line()), "parks": True})

    def aio(*args, **options):
        """The same call, to be awaited."""
        return _awaited(_query(full, args, options, _line()))

    full = tool._name = f"{server}.{name}"
    tool.__name__ = tool.__qualname__ = name
    tool.__module__, tool.__doc__, tool.aio = f"tools.{server}", _Documentation(full), aio
    return tool


def _query(name, args, options, line):
    if len(args) == 1 and isinstance(args[0], Mapping) and not options:
        options = dict(args[0])
    elif args:
        raise TypeError(f"{name}() takes arguments by their names: print(tools.describe({name!r}))")
    return {"op": "call", "name": name, "args": options, "line": line}


class _Documentation(str):
    """A tool's, by its name: the host is asked once somebody reads it."""

    def __str__(self):
        return _documented(str.__str__(self))

    def __repr__(self):
        return repr(str(self))

    def expandtabs(self, tabsize=8):  # as inspect.getdoc begins
        return str(self).expandtabs(tabsize)


def _documented(name):
    try:
        return describe(name)
    except ToolError as e:
        return str(e)


class _Server(ModuleType):
    def __getattr__(self, name):
        if name == "__all__":
            return dir(self)
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        tool = self.__dict__[name] = _tool(self.__name__.partition(".")[2], name)
        return tool

    def __dir__(self):
        return sorted(t["name"] for t in _ask({"op": "list", "name": self.__name__.partition(".")[2]}) or ())

    @property
    def __doc__(self):
        return _documented(self.__name__.partition(".")[2])


class _Tools(ModuleType):
    def __init__(self, name):
        super().__init__(name, __doc__)
        self.search, self.describe, self.ToolError, self.Blob, self.Link = search, describe, ToolError, Blob, Link

    def __getattr__(self, name):
        if name in _servers() or name == "me" and os.path.isdir("tools/me"):
            return importlib.import_module(f"tools.{name}")
        raise AttributeError(f"there is no server {name!r}; there are: {', '.join(_servers()) or 'none'}")

    def __dir__(self):
        return ["Blob", "Link", "ToolError", "describe", "search", *_servers()]


def _servers():
    return call("tools", {"op": "servers"}).get("value") or ()


def find(name):
    """The spec of tools, or of a server's module below it; None if there is none."""
    top, _, server = name.partition(".")
    try:
        servers = _servers()
    except HostError:  # this program has no tools
        return None
    if server and (type(sys.modules.get(top)) is not _Tools or server not in servers and server != "me"):
        return None
    return ModuleSpec(name, _Loader, is_package=not server)


class _Loader:
    @staticmethod
    def create_module(spec):
        kind = _Me if spec.name == "tools.me" else _Server if "." in spec.name else _Tools
        return kind(spec.name)

    @staticmethod
    def exec_module(module):
        pass
