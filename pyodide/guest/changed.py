"""The modules of a session whose files were changed between its calls: module
_coderunner_changed. A later call that imports or uses one of them runs the new
code, together with the session's other modules that import it. What was taken
out of a module (from helper import f) stays, as in a REPL.
"""

import ast
import importlib
import os
import sys
import zlib

from _coderunner_imports import import_nodes

_seen = {}  # name: (module, file, time and size, checksum), as the last call left it
_noted = {}  # sys.modules when note() was called last
_Module = type(sys)
_reload = importlib.reload


def note(home):
    """Remembers the modules whose files are the session's."""
    global _noted
    if _noted == sys.modules:  # in C: to look at each takes a tenth of a millisecond
        return
    noted, _noted = _noted, dict(sys.modules)
    for name, module in list(_noted.items()):
        if noted.get(name) is not module and (name not in _seen or _seen[name][0] is not module):
            file = issubclass(type(module), _Module) and type(module) is not _Changed and module.__dict__.get("__file__")
            if type(file) is str and file.startswith(home) and name[:2] != "__":
                try:
                    _seen[name] = module, file, _stamp(file), zlib.crc32(_read(file))
                except OSError:
                    del _noted[name]  # removed by now


def forget(main):
    """Forgets the modules whose files are others now."""
    old = {name for name in _seen if _is_changed(name)}
    if not old:
        return
    own = {name: _imports(name) for name in _seen}
    while more := [n for n in own if n not in old and (own[n] & old or n.rpartition(".")[0] in old)]:
        old.update(more)
    stale = {}
    for name in old:
        module = _seen.pop(name)[0]
        if sys.modules.get(name) is module:
            del sys.modules[name]
            stale[module] = _Changed(name)
    parents = [vars(sys.modules[p]) for name in old if (p := name.rpartition(".")[0]) in sys.modules]
    importlib.reload = reload
    stale[_reload] = reload
    for space in (main, *parents):
        for name, value in list(space.items()):
            if type(value) in (_Module, type(reload)) and value in stale:
                space[name] = stale[value]


def explain(e):
    """Adds to an exception that a module lacks what its file may have since."""
    module = getattr(e, "obj", None) if type(e) is AttributeError else sys.modules.get(e.name)
    name = next((n for n, seen in _seen.items() if seen[0] is module), None)
    if name is not None and _is_changed(name):
        e.add_note(f"The file of {name} was changed after its import: importlib.reload({name}) reads it again, as the next call does.")


def _read(file):
    with open(file, "rb") as f:
        return f.read()


def _stamp(file):
    status = os.stat(file)
    return status.st_mtime_ns, status.st_size


def _is_changed(name):
    module, file, stamp, checksum = _seen[name]
    try:
        return _stamp(file) != stamp and zlib.crc32(_read(file)) != checksum
    except OSError:
        return False  # removed: what was loaded is all there is


def _imports(name):
    """The names that a module's file imports, which may be modules'."""
    found = set()
    try:
        tree = ast.parse(_read(_seen[name][1]))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    for node, _ in import_nodes(tree):
        if type(node) is ast.Import:
            found.update(alias.name for alias in node.names)
            continue
        package = getattr(_seen[name][0], "__package__", None) or ""
        base = ".".join([*package.split(".")[: package.count(".") + 2 - node.level], *(node.module or "").split(".")]) if node.level else node.module
        base = base.strip(".")
        found.update((base, *(f"{base}.{alias.name}" for alias in node.names)))
    return found


class _Changed(_Module):
    """Stands for a module in the session's variables until it is used."""

    def __getattribute__(self, name):
        return getattr(_again(self), name)

    def __setattr__(self, name, value):
        setattr(_again(self), name, value)

    def __delattr__(self, name):
        delattr(_again(self), name)


_Changed.__name__ = _Changed.__qualname__ = "module"


def _again(stale):
    module = importlib.import_module(_Module.__getattribute__(stale, "__name__"))
    main = sys.modules["__main__"].__dict__
    for name in [n for n, v in list(main.items()) if v is stale]:
        main[name] = module
    return module


def reload(module):
    """importlib.reload, also of what _Changed stands for."""
    return _again(module) if type(module) is _Changed else _reload(module)
