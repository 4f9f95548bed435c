"""Installs the packages of a library's extras when a function of it imports
them: module _coderunner_extras. The host has them ready.
"""

import importlib.machinery
import os
import sys

_LIBRARIES = "/lib/python3.14/site-packages/"


class Finder:
    """Comes last: it finds what is not installed yet."""

    def __init__(self, names, call, look_again):
        self._names, self._call, self._look_again = set(names), call, look_again

    def find_spec(self, name, path=None, target=None):
        if name not in self._names or _probing():
            return None
        self._names.discard(name)
        self._call("extras.import", name)
        self._look_again()
        return importlib.machinery.PathFinder.find_spec(name)


def _probing():
    """Whether a library is being imported by the program, and only looks what
    else is there. What a function of it imports is wanted."""
    frame, first = sys._getframe(), None
    while frame := frame.f_back:
        if frame.f_code.co_filename.startswith(_LIBRARIES):
            first = frame
    return first is None or first.f_code.co_name == "<module>"


class _Tools:
    """Comes last, too: a module of the program's own, or of a package, is meant first. But a
    directory with saved programs, tools/me, is a part of the module."""

    def __init__(self, saved):
        self._saved = saved

    def find_spec(self, name, path=None, target=None):
        if (name == "tools" or name.startswith("tools.")) and (not self._saved or name in ("tools", "tools.me") and _saved()):
            import _coderunner_tools

            return _coderunner_tools.find(name)


def _saved():
    """Whether the program's directory has saved programs, and no package tools."""
    return os.path.isdir("tools/me") and os.listdir("tools") == ["me"]


sys.meta_path.insert(0, _Tools(True))
sys.meta_path.append(_Tools(False))
