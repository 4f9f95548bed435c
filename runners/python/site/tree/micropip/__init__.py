"""Installs packages: micropip's interface, performed by the host.

The host resolves with the real micropip, in an interpreter of its own, before
the program begins, as far as its text says what it will install, and shows the
packages in site-packages, read-only, when they are asked for.
"""

from collections import namedtuple as _namedtuple
from importlib.machinery import PathFinder as _PathFinder
from sys import meta_path as _meta_path

import _coderunner
import _coderunner_renew

__version__ = "0.7.2"
__all__ = ["install", "list"]

PackageMetadata = _namedtuple("PackageMetadata", ["name", "version", "source"])


class PackageDict(dict):
    """The installed packages by name; shown as a table."""

    def __repr__(self):
        rows = [("Name", "Version", "Source"), *self.values()]
        widths = [max(len(str(row[i])) for row in rows) for i in range(3)]
        lines = [" | ".join(str(c).ljust(w) for c, w in zip(row, widths)).rstrip() for row in rows]
        lines.insert(1, " | ".join("-" * w for w in widths))
        return "\n".join(lines)

    __str__ = __repr__


class _Done:
    """What install gives: it is done already, and may be awaited."""

    def __init__(self, packages):
        self._packages = packages

    def __await__(self):
        return None
        yield

    def __repr__(self):
        return f"<installed: {', '.join(f'{p.name} {p.version}' for p in self._packages.values()) or 'nothing'}>"


def _packages(answer):
    return PackageDict({p["name"]: PackageMetadata(p["name"], p["version"], p["source"]) for p in answer})


def install(
    requirements,
    keep_going=False,
    deps=True,
    credentials=None,
    pre=False,
    index_urls=None,
    *,
    constraints=None,
    extra_index_urls=None,
    reinstall=False,
    verbose=None,
):
    """Installs packages, given as one requirement (PEP 508) or a list of them.

    With or without await: it has happened when install returns. All that
    cannot be installed is in the message of the ValueError. keep_going, credentials
    and verbose have no effect.
    """
    if pre or reinstall:
        raise NotImplementedError("micropip.install: pre=True and reinstall=True are not supported here")
    if index_urls or extra_index_urls:
        raise NotImplementedError("micropip.install: packages come from the index that the host is configured with")
    requirements = [requirements] if isinstance(requirements, str) else [str(r) for r in requirements]
    if constraints:
        raise NotImplementedError("micropip.install: write constraints into the requirements")
    try:
        answer = _coderunner.call("micropip.install", {"requirements": requirements, "deps": bool(deps)})
    except RuntimeError as e:
        raise ValueError(str(e)) from None
    _coderunner_renew.look_again()  # importlib.invalidate_caches() takes 100 ms here
    return _Done(_packages(answer))


class _Finder:
    """Finds what the program imports without having installed it."""

    def __init__(self):
        self._wanted = {}  # by the first part of the name
        for name in _coderunner.call("micropip.wanted"):
            self._wanted.setdefault(name.partition(".")[0], []).append(name)

    def find_spec(self, name, path=None, target=None):
        wanted = self._wanted.pop(name, None)
        if wanted is None:
            return None
        for module in wanted:
            _coderunner.call("micropip.import", module)
        _coderunner_renew.look_again()
        return _PathFinder.find_spec(name, path)


_meta_path.append(_Finder())


def list():
    """The packages that are installed."""
    return _packages(_coderunner.call("micropip.list"))


def __getattr__(name):
    if name in {"freeze", "uninstall", "set_index_urls", "add_mock_package", "list_mock_packages", "remove_mock_package"}:
        raise NotImplementedError(f"micropip.{name} is not supported here")
    raise AttributeError(f"module 'micropip' has no attribute {name!r}")
