"""Small changes to the standard library and stand-ins for what upstream's
JavaScript host would give, made at boot in a private namespace."""

import errno
import importlib.abc
import importlib.machinery
import opcode
import os
import select
import selectors  # noqa: F401 - before select has epoll
import sys

from _coderunner_errnos import linux, of_c

_NO_NETWORK = (
    "network access is not allowed: the permission --allow-net was not given; "
    "servers and clients of this program reach each other at 127.0.0.1"
)

def hide(*functions):
    """Keeps the functions, under which a program runs, out of every stack and
    traceback: CPython skips a frame that has not come to its RESUME, and these
    have none any more."""
    for function in functions:
        code = bytearray(function.__code__.co_code)
        code[2 * code[::2].index(opcode.opmap["RESUME"])] = opcode.opmap["NOP"]
        function.__code__ = function.__code__.replace(co_code=bytes(code))


def _socket(module):
    """Adds what this build's C code lacks."""
    import _coderunner_socket

    _coderunner_socket.complete(module)


def _base_events(module):
    """Looks up in a thread only what waits for somebody: to start one takes longer
    than most answers."""
    loop = module.BaseEventLoop
    asked = loop.getaddrinfo

    async def getaddrinfo(self, host, port, **options):
        if type(host) is not str or host in ("", "localhost") or ":" in host or host[-1:].isdigit():  # no name ends in a digit
            return module.socket.getaddrinfo(host, port, **options)
        return await asked(self, host, port, **options)

    async def getnameinfo(self, sockaddr, flags=0):
        return module.socket.getnameinfo(sockaddr, flags)

    loop.getaddrinfo, loop.getnameinfo = getaddrinfo, getnameinfo


def _metadata(module):
    """Distributions are not in the library's archive: to look there takes 100 ms
    and leaves it open, which a snapshot cannot have."""
    path = module.FastPath
    children = path.zip_children
    path.zip_children = lambda self: () if self.root in _ARCHIVES else children(self)


_ARCHIVES = [p for p in sys.path if p.startswith("/lib/") and p.endswith(".zip")]


def _pyodide_http(module):
    """Upstream's HTTP client is the browser's. Ours is imported when it is used."""

    async def pyfetch(request, /, **kwargs):
        import _coderunner_fetch

        return await _coderunner_fetch.pyfetch(request, **kwargs)

    def open_url(url):
        import _coderunner_fetch

        return _coderunner_fetch.open_url(url)

    module.pyfetch, module.open_url = pyfetch, open_url


def _subprocess(module):
    """Upstream takes this platform for one without processes."""
    module._can_fork_exec = True
    module._fork_exec = sys.modules["_posixsubprocess"].fork_exec
    for name in ("waitpid", "waitstatus_to_exitcode", "WIFSTOPPED", "WSTOPSIG", "WNOHANG"):
        setattr(module._del_safe, name, getattr(os, name))


def _faulthandler(module):
    """Its handlers in C do not get the signals of other processes."""
    import signal

    registered = {}

    def register(signum, file=None, all_threads=True, chain=False):
        file = sys.stderr if file is None else file
        before = registered.get(signum) or signal.getsignal(signum)

        def dump(number, frame):
            module.dump_traceback(file, all_threads)
            if chain and callable(before):
                before(number, frame)

        signal.signal(signum, dump)
        registered[signum] = before

    def unregister(signum):
        before = registered.pop(signum, None)
        if before is not None:
            signal.signal(signum, before)
        return before is not None

    module.register, module.unregister = register, unregister


def _pty(module):
    def _open_terminal():
        raise OSError(errno.ENOTSUP, "there are no terminals here: start a program with subprocess.Popen, and talk to it by pipes")

    module._open_terminal = _open_terminal


def _tqdm(module):
    """Its monitor, a thread that never ends, redraws what nobody watches, and a
    session would have to end it with each call."""
    module.tqdm.monitor_interval = 0


def _ctypes(module):
    get, put = module.get_errno, module.set_errno
    module.get_errno = lambda: linux(get())
    module.set_errno = lambda value, /: linux(put(of_c(value)))


def _dask(module):
    """It has no schedulers but one where there are no threads."""
    module.EMSCRIPTEN = False


def _coverage(module):
    """It measures the program, not the standard library, which is in an archive here."""
    if add := getattr(module, "_add_stdlib_paths", None):
        module._add_stdlib_paths = lambda paths: (add(paths), paths.update(_ARCHIVES))


def _platform(module):
    """It looks for the C library in the executable, which is none."""
    find = module.libc_ver

    def libc_ver(executable=None, lib="", version="", chunksize=16384):
        return find(executable, lib, version, chunksize) if executable else ("musl", "1.2.5")

    module.libc_ver = libc_ver


def _psutil(module):
    """/proc is as on Linux."""
    module.LINUX = True


def _locale(module):
    """The C library takes every name for a locale, and has only one."""
    set_locale = module.setlocale

    def setlocale(category, locale=None):
        for name in locale.split(";") if isinstance(locale, str) else locale[:1] if locale else ():
            if name not in ("", "C", "POSIX", "C.UTF-8", "C.utf8"):
                raise module.Error("unsupported locale setting")
        return set_locale(category, locale)

    module.setlocale = setlocale


def _lzma(module):
    """The presets 8 and 9 take 370 and 674 MiB. They differ from 7 in the size of the
    dictionary only, which is of use for more than 16 MiB of data."""
    compressor, level = module.LZMACompressor, 0x1F

    def LZMACompressor(format=module.FORMAT_XZ, check=-1, preset=None, filters=None):
        if isinstance(preset, int) and preset & level in (8, 9):
            preset = preset & ~level | 7
        return compressor(format, check, preset, filters)

    module.LZMACompressor = LZMACompressor


def _random(module):
    """The length of a range may be more than len can return."""
    plain_sample, plain_choices = module.Random.sample, module.Random.choices

    def length(population):
        try:
            return len(population)
        except OverflowError:
            return (population[-1] - population[0]) // population.step + 1

    def choice(self, seq):
        try:
            n = len(seq)
        except OverflowError:
            n = length(seq)
        if not n:
            raise IndexError("Cannot choose from an empty sequence")
        return seq[self._randbelow(n)]

    def sample(self, population, k, *, counts=None):
        if type(population) is not range or counts is not None or (n := length(population)) <= sys.maxsize:
            return plain_sample(self, population, k, counts=counts)
        if not 0 <= k <= n:
            raise ValueError("Sample larger than population or is negative")
        chosen = {}
        while len(chosen) < k:
            chosen.setdefault(self._randbelow(n))
        return [population[i] for i in chosen]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        if type(population) is not range or weights is not None or cum_weights is not None or (n := length(population)) <= sys.maxsize:
            return plain_choices(self, population, weights, cum_weights=cum_weights, k=k)
        return [population[int(self.random() * n)] for _ in range(k)]

    for method in (choice, sample, choices):
        method.__module__, method.__qualname__ = "random", f"Random.{method.__name__}"
        method.__doc__ = getattr(module.Random, method.__name__).__doc__
        setattr(module.Random, method.__name__, method)
        setattr(module, method.__name__, getattr(module._inst, method.__name__))


def _astroid(module):
    """It looks for the source of frozen modules, which are in an archive without."""
    manager, archives = module.AstroidManager, tuple(_ARCHIVES)
    from_file = manager.ast_from_file

    def ast_from_file(self, filepath, modname=None, *args, **options):
        if not modname or not filepath.startswith(archives):
            return from_file(self, filepath, modname, *args, **options)
        if modname not in self.astroid_cache:
            from astroid.builder import AstroidBuilder

            try:
                found = importlib.import_module(modname)
            except ImportError:
                return from_file(self, filepath, modname, *args, **options)
            tree = AstroidBuilder(self).inspect_build(found, modname)
            self.astroid_cache[modname] = self.visit_transforms(tree)
        return self.astroid_cache[modname]

    manager.ast_from_file = ast_from_file


def _epoll(name):
    """select's __getattr__: programs and libraries for Linux know epoll. The library's
    own selectors have seen poll."""
    if not name.startswith(("epoll", "EPOLL")):
        raise AttributeError(f"module 'select' has no attribute {name!r}", name=name, obj=select)
    import _coderunner_epoll

    for each in dir(_coderunner_epoll):
        if each.startswith(("epoll", "EPOLL")):
            setattr(select, each, getattr(_coderunner_epoll, each))
    return getattr(_coderunner_epoll, name)


select.__getattr__ = _epoll


def _matplotlib():
    """Its directory for settings is the home directory's where the system is not
    Linux, and that is the working directory."""
    os.environ.setdefault("MPLCONFIGDIR", "/var/cache/matplotlib")


def _by(helper, change):
    """A change that a module in lib makes."""

    def changed(module):
        getattr(__import__(helper), change)(module)

    return changed


_KQUEUE = ("current_kqueue", "monitor_kevent", "wait_kevent")


def _trio_run(module):
    """Its package takes every system but three for a BSD, and imports these names."""
    for name in _KQUEUE:
        setattr(module, name, None)


def _trio_core(module):
    for name in _KQUEUE:
        delattr(module, name)


_CHANGES = {
    "astroid.manager": _astroid,
    "_socket": _socket,
    "faulthandler": _faulthandler,
    "coverage.inorout": _coverage,
    "ctypes": _ctypes,
    "dask._compatibility": _dask,
    "asyncio.base_events": _base_events,
    "multiprocessing.context": _by("_coderunner_processes", "start_by_spawn"),
    "multiprocessing.heap": _by("_coderunner_processes", "share_files"),
    "multiprocessing.spawn": _by("_coderunner_processes", "find_definitions"),
    "multiprocessing.resource_tracker": _by("_coderunner_processes", "track_nothing"),
    "importlib.metadata": _metadata,
    "getpass": _by("_coderunner_getpass", "ask_plainly"),
    "locale": _locale,
    "lzma": _lzma,
    "numpy": _by("_coderunner_integers", "widen"),
    "numpy.random": _by("_coderunner_integers", "widen_random"),
    "numpy._core._methods": _by("_coderunner_numpy", "sum_methods"),
    "numpy._core._ufunc_config": _by("_coderunner_numpy", "tell_of_no_errors"),
    "numpy._core.fromnumeric": _by("_coderunner_numpy", "sum_functions"),
    "numpy.linalg._linalg": _by("_coderunner_numpy", "see_failures"),
    "pandas.core.dtypes.common": _by("_coderunner_integers", "widen_pandas"),
    "platform": _platform,
    "psutil._common": _psutil,
    "pty": _pty,
    "pyodide.http": _pyodide_http,
    "random": _random,
    "subprocess": _subprocess,
    "tqdm.std": _tqdm,
    "trio._core": _trio_core,
    "trio._core._run": _trio_run,
}

_EARLIER = {"matplotlib": _matplotlib}  # what is changed before a module is found

_BUILTIN = importlib.machinery.BuiltinImporter

_NO_JAVASCRIPT = "there is no JavaScript here. Run JavaScript with the language 'javascript'."
_ABSENT = {
    "pyodide_js": _NO_JAVASCRIPT,
}


def _vendored(name):
    """Whether a module with the program is a package's by its name, which is dotted and
    not the library's."""
    top, dot, _ = name.partition(".")
    return dot and top not in sys.stdlib_module_names


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules that are changed after loading, and those that are
    absent for a reason."""

    def find_spec(self, name, path=None, target=None):
        if name in _ABSENT and path is None:
            raise ModuleNotFoundError(f"No module named {name!r}: {_ABSENT[name]}", name=name)
        if name in _EARLIER:
            _EARLIER[name]()
        change = _CHANGES.get(name)
        if change is None:
            return None
        spec = (_BUILTIN if name in sys.builtin_module_names else importlib.machinery.PathFinder).find_spec(name, path)
        origin = getattr(spec, "origin", None) or ""
        theirs = origin.startswith("/lib/") or origin in ("built-in", "frozen") or origin and _vendored(name)
        if theirs and spec.loader is not None:  # else one of the program's own
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
