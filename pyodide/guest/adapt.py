"""Small changes to the standard library and stand-ins for what upstream's
JavaScript host would give, made at boot in a private namespace."""

import importlib.abc
import importlib.machinery
import os
import sys


_NO_NETWORK = (
    "network access is not allowed: Python programs have no network here; "
    "JavaScript has fetch, where the permission --allow-net was given"
)

_NO_PROCESSES = (
    "there are no other programs and no processes here: write it in Python (import what the command would run; "
    "os, pathlib and shutil for files)"
)


def _selector_events(module):
    """asyncio's wake-up channel as a pipe: there are no socket pairs here."""
    loop = module.BaseSelectorEventLoop

    def make(self):
        r, w = os.pipe()
        os.set_blocking(r, False)
        os.set_blocking(w, False)
        self._ssock, self._csock = _PipeEnd(r), _PipeEnd(w)
        self._internal_fds += 1
        self._add_reader(r, self._read_from_self)

    loop._make_self_pipe = make


class _PipeEnd:
    """The few methods of a socket that asyncio calls on its wake-up channel."""

    def __init__(self, fd):
        self._fd = fd

    def fileno(self):
        return self._fd

    def recv(self, n):
        return os.read(self._fd, n)

    def send(self, data):
        return os.write(self._fd, data)

    def close(self):
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _socket(module):
    """Says why there is no network, where the C library only knows EACCES. A
    socket can be made: some programs do no more with it."""

    def refuse(*args, **kwargs):
        raise PermissionError(module.errno.EACCES, _NO_NETWORK)

    class NameRefused(PermissionError, module.gaierror):
        """What callers of the name functions are prepared for, and why."""

    NameRefused.__name__ = NameRefused.__qualname__ = "PermissionError"
    NameRefused.__module__ = "builtins"

    def refuse_name(*args, **kwargs):
        raise NameRefused(module.errno.EACCES, _NO_NETWORK)

    for name in ("getaddrinfo", "gethostbyname", "gethostbyname_ex", "gethostbyaddr", "getnameinfo"):
        setattr(module, name, refuse_name)
    module.gethostname = lambda: "localhost"
    module.getfqdn = lambda name="": name.strip() if name.strip() not in ("", "0.0.0.0", "::") else "localhost"
    module.socketpair = refuse
    for name in ("accept", "bind", "connect", "listen", "sendmsg", "sendto"):
        setattr(module.socket, name, refuse)
    module.socket.connect_ex = lambda self, address: module.errno.EACCES


def _metadata(module):
    """Distributions are not in the library's archive: to look there takes 100 ms
    and leaves it open, which a snapshot cannot have."""
    path = module.FastPath
    children = path.zip_children
    path.zip_children = lambda self: () if self.root in _ARCHIVES else children(self)


_ARCHIVES = [p for p in sys.path if p.startswith("/lib/") and p.endswith(".zip")]


def _pyodide_http(module):
    """Upstream's HTTP client is the browser's."""

    def refuse(*args, **kwargs):
        raise OSError(_NO_NETWORK)

    async def refuse_async(*args, **kwargs):
        refuse()

    module.pyfetch = refuse_async
    module.open_url = refuse


def _subprocess(module):
    """Says what to do instead, where upstream only says that there are none."""

    def refuse(self, *args, **kwargs):
        raise OSError(module.errno.ENOTSUP, _NO_PROCESSES)

    module.Popen.__init__ = refuse


def _tqdm(module):
    """Its monitor would be a thread; without it, it warns of that."""
    module.tqdm.monitor_interval = 0


def _rich(module):
    """Its progress bars are drawn by a thread; without it, at the end."""
    start = module.Live.start

    def starts(self, refresh=False):
        self.auto_refresh = False
        start(self, refresh)

    module.Live.start = starts


def _locale(module):
    """The C library takes every name for a locale, and has only one."""
    set_locale = module.setlocale

    def setlocale(category, locale=None):
        for name in locale.split(";") if isinstance(locale, str) else locale[:1] if locale else ():
            if name not in ("", "C", "POSIX", "C.UTF-8", "C.utf8"):
                raise module.Error("unsupported locale setting")
        return set_locale(category, locale)

    module.setlocale = setlocale


_CHANGES = {
    "asyncio.selector_events": _selector_events,
    "importlib.metadata": _metadata,
    "locale": _locale,
    "pyodide.http": _pyodide_http,
    "rich.live": _rich,
    "socket": _socket,
    "subprocess": _subprocess,
    "tqdm.std": _tqdm,
}

_NO_JAVASCRIPT = "there is no JavaScript here. Run JavaScript with the language 'javascript'."
_NO_POOL = "there are no processes here: call the function in a loop, or with map."
_ABSENT = {
    "js": _NO_JAVASCRIPT,
    "pyodide_js": _NO_JAVASCRIPT,
    "_multiprocessing": _NO_POOL,
    "_posixshmem": "there are no processes here to share memory with: use a bytearray.",
}


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are changed after loading, and those that are
    absent for a reason."""

    def find_spec(self, name, path=None, target=None):
        if name in _ABSENT and path is None:
            raise ModuleNotFoundError(f"No module named {name!r}: {_ABSENT[name]}", name=name)
        change = _CHANGES.get(name)
        if change is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Changing(spec.loader, change)
        return spec


class _Changing(importlib.abc.Loader):
    def __init__(self, loader, change):
        self._loader, self._change = loader, change

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._change(module)


sys.meta_path.insert(0, _Finder())
