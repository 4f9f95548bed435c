"""What changes in an interpreter from program to program: module _coderunner_renew.
Before each, seeds, environment, time zone and caches are renewed, since interpreters of one
snapshot begin alike; after it, what the program leaves is cleared.
"""

import atexit
import gc
import importlib.machinery
import os
import sys
import time

# ---- before

renewed = False  # since the snapshot
given = None  # the environment of the snapshot, until it is changed
_last_module = ""  # of the snapshot
_at_exit = 0  # functions that threading calls, of the snapshot
_ends = []  # those of _ENDS that the snapshot has
seeded = False  # the host seeds the generators
# What preload.py notes.
preloaded = frozenset()  # modules
generators = ()  # that packages made and that are not to be the same everywhere
environ = {}  # variables that packages set


def settle():
    """Does before a snapshot what renew need not do again for each program."""
    global given, _last_module, _at_exit
    modules = sys.modules
    _last_module = next(reversed(modules))
    if "threading" in modules:
        _at_exit = len(modules["threading"]._threading_atexits)
    if "tempfile" in modules:
        modules["tempfile"]._name_sequence = None
    if "uuid" in modules:
        modules["uuid"]._node = modules["uuid"]._last_timestamp = None
    if "multiprocessing.process" in modules:
        process = modules["multiprocessing.process"].current_process()
        if type(process._config) is not _Config:
            process._config = _Config(process._config)
        process._config.pop("authkey", None)
    for name, end, needed in _ENDS:
        if name in modules:
            before, function = atexit._ncallbacks(), getattr(modules[name], end)
            atexit.unregister(function)
            if atexit._ncallbacks() < before:
                _ends.append((name, needed, function))
    if given != os.environ:
        given = dict(os.environ)
    look_again()


class _Config(dict):
    """What multiprocessing knows of a process. The key of connections is made when it is first
    asked for, since hardly any program does."""

    def __missing__(self, name):
        if name != "authkey":
            raise KeyError(name)
        key = sys.modules["multiprocessing.process"].AuthenticationString(os.urandom(32))
        return self.setdefault(name, key)

    def copy(self):  # for a child, which has the same key
        return dict(self, authkey=self["authkey"])


def all_generators():
    random = sys.modules.get("random")
    return (random._inst, *generators) if random else generators


def renew(p):
    """Makes this interpreter differ from the others of the same snapshot."""
    global renewed
    if not renewed:
        renewed = True
        modules = sys.modules
        if not _last_module:
            settle()
        if not seeded:
            for generator in all_generators():
                generator.seed()
        if "numpy.random" in modules:
            modules["numpy.random"].seed()
        if "tempfile" in modules and "TMPDIR" in (p["env"] or ()):
            modules["tempfile"].tempdir = None
        if "logging" in modules:
            modules["logging"]._startTime = time.time_ns()
        if p.get("new_zone"):
            set_zone()
    else:
        look_again()


def set_zone():
    """What Modules/timemodule.c does at the start."""
    import calendar

    year = time.gmtime().tm_year
    january, july = (time.localtime(calendar.timegm((year, month, 1, 0, 0, 0))) for month in (1, 7))
    if january.tm_gmtoff > july.tm_gmtoff:  # the southern hemisphere
        january, july = july, january
    time.timezone, time.altzone = -january.tm_gmtoff, -july.tm_gmtoff
    time.daylight = int(time.timezone != time.altzone)
    time.tzname = january.tm_zone, july.tm_zone


def look_again():
    """importlib.invalidate_caches(), but for archives, whose directory takes
    100 ms to read and which do not change."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        elif isinstance(finder, importlib.machinery.FileFinder):
            finder.invalidate_caches()


def unshadow(names):
    """Forgets preloaded modules that the program has files of its own for. What
    CPython loads by itself comes before any program, here as elsewhere."""
    for name in names:
        name = name.removesuffix(".py")
        if name in preloaded and name in sys.modules:
            del sys.modules[name]


def set_environ(env):
    global given
    same, given = env == given, None  # the program may change it
    if same:
        return
    now = dict(os.environ)
    for key in now.keys() - env.keys():
        del os.environ[key]
    for key, value in env.items():
        if now.get(key) != value:
            os.environ[key] = value


# ---- after


def await_threads(threading):
    """Waits for executors and for threads that are not daemons. It is not
    threading._shutdown(), which is for good: a snapshot is taken after this."""
    if len(threading._active) == 1 and len(threading._threading_atexits) == _at_exit:
        threading._thread_shutdown()
        return  # most programs: no thread was started, or all have ended
    for function in reversed(threading._threading_atexits):
        function()
    if "concurrent.futures.thread" in sys.modules:
        sys.modules["concurrent.futures.thread"]._shutdown = False
    while True:  # one by one: _thread_shutdown() swallows an interrupt
        threads = [t for t in list(threading._active.values()) if t.is_alive() and not t.daemon]
        threads = [t for t in threads if t is not threading.current_thread()]
        if not threads:
            break
        threads[0].join()
    threading._thread_shutdown()


# What modules do at exit that most programs do not use, and whether there is anything to do: the
# last that was registered first.
_ENDS = (
    ("multiprocessing.util", "_exit_function", lambda m: m._finalizer_registry or m._logger or m.process._children),
    ("logging", "shutdown", lambda m: len(m._handlerList) > 1),  # one is the last resort, which has no buffer
)


def at_exit():
    atexit._run_exitfuncs()
    for name, needed, function in _ends:
        if needed(sys.modules[name]):
            atexit.register(function)
            atexit._run_exitfuncs()  # which shows an exception and goes on


def break_executors():
    """Has executors say, in a session's next call, that their threads are gone."""
    executor = getattr(sys.modules.get("concurrent.futures.thread"), "ThreadPoolExecutor", None)
    for e in gc.get_objects() if executor else ():
        if issubclass(type(e), executor) and any(t.is_alive() for t in e._threads):
            e._broken = "its threads ended with the call of the session that started them: make a new one"
            e.shutdown(wait=False, cancel_futures=True)


_LIBRARY = "/lib/", "<"  # with all packages, and our own modules
_CODE = type(sys), type(set_environ), type(len), type


def clear(main):
    """Ends the values of the program and of its own modules, as CPython does:
    files are written, and finalizers still find what they use."""
    threading = sys.modules.get("threading")
    if threading is not None and len(threading._active) > 1:
        threading.excepthook = lambda args: None  # CPython has stopped the daemons by now
    if next(reversed(sys.modules)) == _last_module and not any(
        gc.is_tracked(v) for n, v in list(main.items()) if n[:2] != "__" and type(v) is not type(sys)
    ):
        main.clear()
        return  # most small programs: nothing has an end
    spaces = [main]
    for name in reversed(list(sys.modules)):
        if name == _last_module:
            break
        module = sys.modules.get(name)
        if issubclass(type(module), type(sys)) and not str(module.__dict__.get("__file__") or "<").startswith(_LIBRARY):
            spaces.append(module.__dict__)
    for space in spaces:
        for name in [n for n, v in list(space.items()) if hasattr(type(v), "__del__")]:
            space.pop(name, None)
    for space in spaces:
        for name in [n for n, v in list(space.items()) if gc.is_tracked(v) and not issubclass(type(v), _CODE)]:
            space.pop(name, None)
    gc.collect()  # cycles
    for space in spaces:
        space.clear()


def flush(stream):
    try:
        stream.flush()
    except Exception:
        pass  # closed or replaced by the program
