"""The guest's half of a run: module _coderunner, made at boot.

The host calls run(program) once with a JSON text and gets a JSON text back.
Whatever the program may have replaced by then (print, json.dumps, os.read) is
reached through names bound here, at boot.
"""

import _signal
import ast
import atexit
import binascii
import builtins
import gc
import importlib.machinery
import json
import linecache
import marshal
import os
import sys
import time
import traceback
import warnings

import _coderunner_display as _display
from _coderunner_adapt import hide
from _coderunner_analyze import analyze as _analyze
from _coderunner_extras import Finder as _Finder
from _coderunner_notebook import clean as _clean
from _coderunner_tests import framework as _framework, run as _run_tests

_DEVICE = "/dev/coderunner"
_FUTURE = 0x1FFE0000  # the flags of __future__ statements, as in Include/cpython/compile.h
_FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_TYPE_NAME = 64  # characters of an exception's name that are reported
_encode = json.JSONEncoder(allow_nan=False).encode
_decode = json.JSONDecoder().decode
_undump, _unbase64 = marshal.loads, binascii.a2b_base64
_handle = _signal.signal  # the host knows what it is called with here
_open, _read, _write, _close = os.open, os.read, os.write, os.close
_stdin, _stdout, _stderr = sys.stdin, sys.stdout, sys.stderr
for _stream in _stdout, _stderr:  # a write per line, not one for each part of it
    _stream.reconfigure(line_buffering=True, write_through=False)


class HostError(RuntimeError):
    """The host refused a call."""


def call(name, arg=None, data=b""):
    """Asks the host for something and returns its answer, a JSON value."""
    fd = _open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        request = _encode([name, arg]).encode()
        request = memoryview(request + b"\n" + data if data else request)
        while request:
            request = request[_write(fd, request):]
        chunks = []
        while chunk := _read(fd, 1 << 20):
            chunks.append(chunk)
    finally:
        _close(fd)
    ok, value = _decode(b"".join(chunks).decode())
    if not ok:
        raise HostError(value)
    return value


_display._call, _display._encode = call, _encode


class _Interrupt(KeyboardInterrupt):
    """Raised by the host's soft interrupt; shown as what it stands for."""


_Interrupt.__name__ = _Interrupt.__qualname__ = "KeyboardInterrupt"
_Interrupt.__module__ = "builtins"


def _on_interrupt(signum, frame):
    _flush(_stdout)  # the program may go on until it is stopped the hard way
    raise _Interrupt


def run(request):
    """Runs one program and reports how it went. Both are JSON texts."""
    p = _decode(request)
    report = {"exit_code": 0}
    try:
        for step in (_main, _finish):
            try:
                step(p, sys.modules["__main__"].__dict__, report)
            except SystemExit as e:
                report["exit_code"] = _exit_code(e)
            except BaseException as e:
                if step is _main or isinstance(e, _Interrupt):
                    _explain(e, p, report)
    except _Interrupt as e:  # it came late, between two steps
        _explain(e, p, report)
    return _encode(report)


def analyze(request):
    """Parses a program, which is not run, and says what it needs. Both are
    JSON texts, see analyze.go."""
    p = _decode(request)
    source = _source(p["code"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, tree = _analyze(source, p["files"], p["name"])
        compiled = _dump(tree, source, p["name"]) if tree is not None else ""
    if not any(found.values()):
        try:
            _parse(source, p["name"])
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as e:
            message, line = getattr(e, "msg", e), getattr(e, "lineno", 0)
            found["problem"] = {"type": type(e).__name__, "message": _shorten(str(message), 1000), "line": line or 0}
    if not caught:  # the run shows warnings by compiling the program itself
        found["compiled"] = compiled
    return _encode(found)


_COMPILED = 1 << 17  # bytes of code that are worth handing on


def _dump(tree, source, name):
    """The program's code objects as a text for the run, "" if it has to see why
    it has none."""
    try:
        dumped = marshal.dumps(_compile_tree(tree, source, name))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return ""
    return binascii.b2a_base64(dumped, newline=False).decode() if len(dumped) <= _COMPILED else ""


def _main(p, main, report):
    _renew(p)
    _handle(_signal.SIGXCPU, _on_interrupt)
    body, last, framework = _compile(p, main)
    _describe(_execute(p, body, last, main), p["result_limit"], report)
    if framework and not p.get("session"):
        _run_tests(framework, main["__file__"])


_renewed = False  # since the snapshot
_last_module = ""  # of the snapshot


def _renew(p):
    """Makes this interpreter differ from the others of the same snapshot."""
    global _renewed, _last_module
    if not _renewed:
        _renewed = True
        modules = sys.modules
        _last_module = next(reversed(modules))
        if "random" in modules:
            modules["random"].seed()
        for generator in _generators:
            generator.seed()
        if "numpy.random" in modules:
            modules["numpy.random"].seed()
        if "tempfile" in modules:
            modules["tempfile"]._name_sequence = None
            if "TMPDIR" in (p["env"] or ()):
                modules["tempfile"].tempdir = None
        if "uuid" in modules:
            modules["uuid"]._node = modules["uuid"]._last_timestamp = None
        if "logging" in modules:
            modules["logging"]._startTime = time.time_ns()
        if p.get("new_zone"):
            _set_zone()
    _look_again()


def _set_zone():
    """What Modules/timemodule.c does at the start."""
    import calendar

    year = time.gmtime().tm_year
    january, july = (time.localtime(calendar.timegm((year, month, 1, 0, 0, 0))) for month in (1, 7))
    if january.tm_gmtoff > july.tm_gmtoff:  # the southern hemisphere
        january, july = july, january
    time.timezone, time.altzone = -january.tm_gmtoff, -july.tm_gmtoff
    time.daylight = int(time.timezone != time.altzone)
    time.tzname = january.tm_zone, july.tm_zone


def _look_again():
    """importlib.invalidate_caches(), but for archives, whose directory takes
    100 ms to read and which do not change."""
    for path, finder in list(sys.path_importer_cache.items()):
        if finder is None:
            del sys.path_importer_cache[path]
        elif isinstance(finder, importlib.machinery.FileFinder):
            finder.invalidate_caches()


# What preload.py notes.
_preloaded = frozenset()  # modules
_generators = ()  # that packages made and that are not to be the same everywhere
_environ = {}  # variables that packages set


def _unshadow(names):
    """Forgets preloaded modules that the program has files of its own for. What
    CPython loads by itself comes before any program, here as elsewhere."""
    for name in names:
        name = name.removesuffix(".py")
        if name in _preloaded and name in sys.modules:
            del sys.modules[name]


# ---- what the program is


_earlier = set()  # the names of a session's programs


def _continue():
    """Forgets what a session's earlier program had of its own."""
    global _stdin
    if sys.stdin is _stdin:
        _stdin = sys.stdin = open(0, encoding="utf-8", errors=_stdin.errors, closefd=False)
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]


def _compile(p, main):
    """Prepares the program's surroundings and returns its code objects."""
    name = p["filename"]
    source = _source(p["code"])
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    sys.argv = [name, *p["args"]]
    sys.orig_argv[1:] = sys.argv
    if _earlier:
        _continue()
    else:
        _set_environ({**_ENV, **_environ, **(p["env"] or {})})
        sys.path.insert(0, os.getcwd())
    if "offered" in p:
        sys.meta_path.append(_Finder(p["offered"], call, _look_again))
    _unshadow(os.listdir())
    main["__file__"] = _home + name
    main["__builtins__"] = builtins
    if p.get("compiled"):
        return _undump(_unbase64(p["compiled"]))
    code = _compile_line(source, name)
    if code is not None:
        return None, code, ""
    return _compile_tree(_parse(source, name), source, name)


def _compile_tree(tree, source, name):
    """The code objects of a program's body and of its last expression, and the
    framework of the tests that are all there is."""
    last, framework = None, _framework(tree.body)
    if name.endswith(".ipynb"):
        _show_cells(tree.body, source)
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not _silent(tree.body[-1], source):
        last = ast.Expression(tree.body.pop().value)
        if not tree.body:
            return None, compile(last, name, "eval", _FLAGS, dont_inherit=True), framework
    body = compile(tree, name, "exec", _FLAGS, dont_inherit=True)
    if last is not None:
        last = compile(last, name, "eval", _FLAGS | body.co_flags & _FUTURE, dont_inherit=True)
    return body, last, framework


def _show_cells(body, source):
    """Has the last expression of each cell of a notebook shown. The last cell's is
    the program's value."""
    marks = {n for n, line in enumerate(source.split("\n"), 1) if line == "# %%"}
    for node, following in zip(body, body[1:]):
        if type(node) is not ast.Expr or marks.isdisjoint(range(node.end_lineno + 1, following.lineno + 1)) or _silent(node, source):
            continue
        module = ast.Call(ast.Name("__import__", ast.Load()), [ast.Constant("_coderunner_display")], [])
        call = ast.Call(ast.Attribute(module, "show_value", ast.Load()), [node.value], [])
        node.value = ast.fix_missing_locations(ast.copy_location(call, node.value))


def _parse(source, name):
    """The tree of a program, which may have what only a notebook understands."""
    flags = _FLAGS | ast.PyCF_ONLY_AST
    try:
        return compile(source, name, "exec", flags, dont_inherit=True)
    except SyntaxError as e:
        problem = e
    cleaned = _clean(source, name)
    if cleaned is None:
        raise problem
    return compile(cleaned[0], name, "exec", flags, dont_inherit=True)


# Methods whose result, a number, nobody asked for.
_COUNTING = frozenset(("write", "writelines", "write_text", "write_bytes", "writerow", "writerows", "seek", "truncate"))


def _silent(last, source):
    """Whether the last expression is not for its value: a semicolon follows, as in
    a notebook, or it writes."""
    call = last.value.value if isinstance(last.value, ast.Await) else last.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _COUNTING:
        return True
    lines = source.split("\n")
    line = lines[last.end_lineno - 1] if last.end_lineno <= len(lines) else ""
    return line.encode()[last.end_col_offset :].lstrip().startswith(b";")


def _compile_line(source, name):
    """The code of a program that is one expression in one line, else None. In
    half the time, since no tree is made."""
    if "\n" in source[:-1] or ";" in source or "=" in source or source[:1] in " \t" or "write" in source:
        return None
    try:
        return compile(source, name, "eval", _FLAGS, dont_inherit=True)
    except SyntaxError:
        return None  # a statement, or else the tree will say so


def _set_environ(env):
    now = dict(os.environ)
    for key in now.keys() - env.keys():
        del os.environ[key]
    for key, value in env.items():
        if now.get(key) != value:
            os.environ[key] = value


def _source(code):
    """The text as Python reads a file: no byte order mark, \\n line ends.

    A coding cookie means nothing in text that was decoded already.
    """
    return code.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _execute(p, body, last, main):
    if any(c is not None and c.co_flags & _COROUTINE for c in (body, last)):
        return _execute_async(p, body, last, main)
    if body is not None:
        exec(body, main)
    return eval(last, main) if last is not None else None


def _execute_async(p, body, last, main):
    import asyncio

    async def steps():
        value = None
        for code in (body, last):
            if code is not None:
                value = eval(code, main)
                if code.co_flags & _COROUTINE:
                    value = await value
        return value if last is not None else None

    coro = steps()
    with asyncio.Runner() as runner:
        try:
            return runner.run(coro)
        except _Interrupt as e:
            # The loop was waiting: the program's own lines are in the
            # suspended coroutines, not in the exception.
            if not _user_frames(traceback.walk_tb(e.__traceback__), p["filename"]):
                e.suspended = _suspended(runner, p["filename"])
            raise


def _suspended(runner, name):
    """The user's lines at which the loop's tasks wait, innermost last."""
    import asyncio

    for task in sorted(asyncio.all_tasks(runner.get_loop()), key=lambda t: t.get_name()):
        frames, coro = [], task.get_coro()
        while coro is not None:
            frame = getattr(coro, "cr_frame", None)
            if frame is not None:
                frames.append((frame, frame.f_lineno))
            coro = getattr(coro, "cr_await", None)
        frames = _user_frames(frames, name)
        if frames:
            return [(f.f_code.co_name, n) for f, n in frames]
    return []


# ---- how it went


def _describe(value, limit, report):
    """Puts the last expression's value into the report."""
    if value is None:
        return
    text, records = _display.describe(value)
    if text is None:
        return  # it was shown
    if not isinstance(text, str):
        text = str(text)
    report["repr"] = _shorten(text, limit)
    try:
        encoded = records or _encode(value)
        if len(encoded) <= limit and (records or _decode(encoded) == value):
            report["json"] = encoded
    except (TypeError, ValueError, RecursionError, MemoryError, OverflowError):
        pass  # not JSON


def _shorten(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}… {len(text) - 2 * half} characters cut …{text[-half:]}"


def _finish(p, main, report):
    """What CPython does at its own end, as far as a program can see it."""
    if not p.get("interrupted"):
        try:
            _display.finish()
        except Exception:
            pass  # a figure that cannot be drawn
    threading = sys.modules.get("threading")
    if p.get("session"):
        _earlier.add(p["filename"])
        _list(main, report)
        if threading is not None and len(threading._active) > 1:
            time.sleep(0)  # those that are about to end do
            _break_executors()
    else:
        if threading is not None and not p.get("interrupted"):
            _await_threads(threading)
        atexit._run_exitfuncs()
        _clear(main)
    for stream in (sys.stdout, sys.stderr, _stdout, _stderr):
        _flush(stream)


def _await_threads(threading):
    """Waits for executors and for threads that are not daemons. It is not
    threading._shutdown(), which is for good: a snapshot is taken after this."""
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


def _clear(main):
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


_LIBRARY = "/lib/", "<"  # with all packages, and our own modules
_CODE = type(sys), type(call), type(len), type


def _break_executors():
    """Has executors say, in a session's next call, that their threads are gone."""
    executor = getattr(sys.modules.get("concurrent.futures.thread"), "ThreadPoolExecutor", None)
    for e in gc.get_objects() if executor else ():
        if issubclass(type(e), executor) and any(t.is_alive() for t in e._threads):
            e._broken = "its threads ended with the call of the session that started them: make a new one"
            e.shutdown(wait=False, cancel_futures=True)


_VARIABLES = 200  # that are listed
_type_name = type.__dict__["__name__"].__get__


def _list(main, report):
    """Puts the names and types of the session's variables into the report."""
    names = sorted(n for n in main if type(n) is str and not n.startswith("_"))
    report["variables"] = [[_shorten(n, 80), _shorten(_type_name(type(main[n])), 80)] for n in names[:_VARIABLES]]
    report["variables_omitted"] = max(0, len(names) - _VARIABLES)


def _flush(stream):
    try:
        stream.flush()
    except Exception:
        pass  # closed or replaced by the program


def _exit_code(e):
    if e.code is None:
        return 0
    if isinstance(e.code, int):
        return e.code & 0xFF
    print(e.code, file=_stderr)
    return 1


def _explain(e, p, report):
    name, limit = p["filename"], p["result_limit"]
    interrupted = isinstance(e, _Interrupt)
    report["exit_code"] = 1
    if interrupted:
        p["interrupted"] = True
        call("stopping")  # a little more time, for the traceback
    report["type"] = type(e).__qualname__[:_TYPE_NAME]
    report["no_memory"] = isinstance(e, MemoryError)
    try:
        if sys.excepthook is not sys.__excepthook__ and not interrupted:
            sys.excepthook(type(e), e, e.__traceback__)
        te = traceback.TracebackException.from_exception(e, compact=True)
        _keep_user_frames(te, name, limit)
        suspended = getattr(e, "suspended", None)
        if suspended:
            te.stack = traceback.StackSummary.from_list(
                [(name, n, fn, linecache.getline(name, n).strip()) for fn, n in suspended]
            )
        if isinstance(e, SyntaxError) and e.filename == name:
            report["line"] = e.lineno if type(e.lineno) is int else 0
            report["message"] = _shorten(str(e.msg), limit)
        else:
            report["message"] = _shorten(_message(e), limit)
            if te.stack and (te.stack[-1].filename == name or te.stack[-1].filename not in _earlier):
                report["line"] = te.stack[-1].lineno or 0
        report["traceback"] = _shorten("".join(te.format()) + (_other_threads(name) if interrupted else ""), limit)
    except BaseException as again:
        report.setdefault("message", "")
        report["traceback"] = f"{report['type']} (and then {type(again).__qualname__} while its traceback was made)\n"


_STACKS = 10  # of other threads that are shown
_NAMES = 3  # of threads with the same


def _other_threads(name):
    """Where the other threads are, the program's own lines only."""
    threading = sys.modules.get("threading")
    if threading is None or len(threading._active) < 2:
        return ""
    found = {}
    for ident, frame in reversed(sys._current_frames().items()):
        thread = threading._active.get(ident)
        if thread is not None and thread is not threading.current_thread():
            stack = [f for f in traceback.StackSummary.extract(traceback.walk_stack(frame)) if _is_user_file(f.filename, name)]
            lines = "".join(traceback.StackSummary.from_list(reversed(stack)).format())
            found.setdefault(lines or "  in no line of the program\n", []).append(_shorten(str(thread.name), 80))
    text = []
    for lines, names in list(found.items())[:_STACKS]:
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        text.append(f"\n{'Thread' if len(names) == 1 else 'Threads'} {', '.join(names[:_NAMES])}{more} (most recent call last):\n{lines}")
    return "".join(text)


def _message(e):
    try:
        return str(e)
    except Exception:
        return "<exception str() failed>"


def _keep_user_frames(te, name, limit):
    seen = []
    while te is not None and te not in seen:
        seen.append(te)
        if isinstance(te._str, str):
            te._str = _shorten(te._str, limit)
        te.stack = traceback.StackSummary.from_list([f for f in te.stack if _is_user_file(f.filename, name)])
        for inner in getattr(te, "exceptions", None) or ():
            _keep_user_frames(inner, name, limit)
        if te.__cause__ is not None:
            te = te.__cause__
        else:
            te = te.__context__


def _is_user_file(filename, name):
    return filename == name or filename in _earlier or filename.startswith(_home)


def _user_frames(frames, name):
    return [(f, n) for f, n in frames if _is_user_file(f.f_code.co_filename, name)]


hide(run, _main, _execute, _execute_async, _finish, _clear)


_home = os.getcwd().rstrip("/") + "/"
_ENV = {"HOME": _home[:-1], "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "root"}
