"""Installs the packages of a library's extras when a function of it imports
them: module _coderunner_extras. The host has them ready.
"""

import importlib.machinery
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
    """Comes last, too: a module of the program's own, or of a package, is meant first."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "tools" or name.startswith("tools."):
            import _coderunner_tools

            return _coderunner_tools.find(name)


sys.meta_path.append(_Tools)
