"""The guest's half of a run: module _coderunner, made at boot.

The host calls run(program) once with a JSON text and gets a JSON text back.
Whatever the program may have replaced by then (print, json.dumps, os.read) is
reached through names bound here, at boot.
"""

import _signal
import atexit
import binascii
import builtins
import json
import linecache
import marshal
import os
import sys
import time
import warnings
from types import CoroutineType, FunctionType

import _coderunner_changed as _changed
import _coderunner_display as _display
import _coderunner_renew as _renew
import _coderunner_magics as _magics
import _coderunner_program as _program
import _coderunner_report as _report
from _coderunner_adapt import hide
from _coderunner_analyze import analyze as _analyze
from _coderunner_extras import Finder as _Finder
from _coderunner_tests import run as _run_tests

_DEVICE = "/dev/coderunner"
_COROUTINE = 0x80  # inspect.CO_COROUTINE
_decode = json.JSONDecoder().decode
_encode, _scan = _report.encode, _report.scan
_undump, _unbase64 = marshal.loads, binascii.a2b_base64
_handle = _signal.signal  # the host knows what it is called with here
_open, _read, _write, _close, _umask = os.open, os.read, os.write, os.close, os.umask
_PARK = (1 << 31 | 0x9A41) - (1 << 32)  # a mask that is none, see park.go
_stdin, _stdout, _stderr = sys.stdin, sys.stdout, sys.stderr
for _stream in _stdout, _stderr:  # a write per line, not one for each part of it
    _stream.reconfigure(line_buffering=True, write_through=False)


class HostError(RuntimeError):
    """The host refused a call."""


def call(name, arg=None, data=b""):
    """Asks the host for something and returns its answer, a JSON value."""
    fd = _open(_DEVICE, os.O_RDWR | os.O_CLOEXEC)
    try:
        request = _report.encode_any([name, arg]).encode()
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


_display._call, _display._encode = call, _report.encode_any


def park():
    """Lets the host stop the program here, for hours, and have it go on in another process.
    Returns whether it did: it cannot where C functions wait for Python ones, or threads run."""
    for stream in (sys.stdout, sys.stderr):
        _renew.flush(stream)
    return _umask(_PARK) == 0


class _Interrupt(KeyboardInterrupt):
    """Raised by the host's soft interrupt; shown as what it stands for."""


_Interrupt.__name__ = _Interrupt.__qualname__ = "KeyboardInterrupt"
_Interrupt.__module__ = "builtins"


def _on_interrupt(p, frame):
    _renew.flush(_stdout)  # the program may go on until it is stopped the hard way
    e = _Interrupt()
    e.waiting = _report.waiting_tasks()  # the loop will have ended them when it is caught
    try:
        call("interrupted", _report.place(frame, e.waiting, p["filename"]))
        logging = e.waiting and sys.modules.get("logging")
        if logging:  # servers log that their tasks were cancelled
            p["logging"] = logging.root.manager.disable
            logging.disable()
    except Exception:
        pass  # too deep, or no memory
    raise e


def run(request):
    """Runs one program and reports how it went. Both are JSON texts."""
    p, _ = _scan(request, 0)
    report = {"exit_code": 0}
    try:
        for step in (_main, _finish):
            try:
                step(p, sys.modules["__main__"].__dict__, report)
            except SystemExit as e:
                report["exit_code"], report["exited"] = _report.exit_code(e), True
            except BaseException as e:
                if step is _main or isinstance(e, _Interrupt):
                    _explain(e, p, report)
    except _Interrupt as e:  # it came late, between two steps
        _explain(e, p, report)
    if "logging" in p:
        sys.modules["logging"].disable(p["logging"])
    return _encode(report)


def _explain(e, p, report):
    if isinstance(e, _Interrupt):
        p["interrupted"] = True
        call("stopping")  # a little more time, for the traceback
    elif p.get("session") and type(e) in (AttributeError, ImportError):
        _changed.explain(e)
    _report.explain(e, p, report)


def analyze(request):
    """Parses a program, which is not run, and says what it needs. Both are
    JSON texts, see analyze.go."""
    p = _decode(request)
    source = _program.text_of(p["code"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, tree = _analyze(source, p["files"], p["name"], p.get("words"))
        compiled = _program.dump(tree, source, p["name"]) if tree is not None else ""
    if not any(found.values()):
        try:
            _program.parse(source, p["name"])
        except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as e:
            message, line = getattr(e, "msg", e), getattr(e, "lineno", 0)
            found["problem"] = {"type": type(e).__name__, "message": _report.shorten(str(message), 1000), "line": line or 0}
    if not caught:  # the run shows warnings by compiling the program itself
        found["compiled"] = compiled
    return _encode(found)


def _main(p, main, report):
    _renew.renew(p)
    _handle(_signal.SIGXCPU, lambda signum, frame: _on_interrupt(p, frame))
    body, last, framework = _compile(p, main)
    try:
        value = _execute(p, body, last, main)
    finally:
        _magics.end_cell()
    if type(value) is CoroutineType and not p.get("session"):
        _unawaited(value, last)
    if value is not None and p.get("session"):
        builtins._ = value  # as in a REPL and in a notebook
    _report.describe(value, p["result_limit"], report)
    if framework:
        _run_tests(framework, main, body if p.get("session") else None)


def _unawaited(coroutine, last):
    """Warns of a coroutine that is the program's value and that nothing has begun."""
    if coroutine.cr_frame is None or coroutine.cr_running or coroutine.cr_suspended:
        return
    line = max(line for *_, line in last.co_lines() if line)
    name = coroutine.__name__
    warnings.warn_explicit(f"coroutine '{name}' was never awaited: write await {name}()", RuntimeWarning, last.co_filename, line)
    coroutine.close()


# ---- before


def _compile(p, main):
    """Prepares the program's surroundings and returns its code objects."""
    name = p["filename"]
    source = _program.text_of(p["code"])
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    sys.argv = [name, *p["args"]]
    sys.orig_argv[1:] = sys.argv
    if _report.earlier:
        _continue(p)
        if "sys.modules" not in source:  # else it sees to that itself
            _changed.forget(main)
    else:
        _renew.set_environ({**_ENV, **_renew.environ, **(p["env"] or {})})
        beside = os.path.dirname(_report.home + name) if "/" in name else _report.home[:-1]
        sys.path[:0] = [beside, ""] if p.get("session") else [beside]  # "": as in a REPL and in a notebook
        if "/" in name:
            _place(main, name)
            if directory := p.get("dir"):
                os.chdir(_report.home + directory)
                sys.argv[0] = os.path.relpath(_report.home + name)
        if "path" in p:
            sys.path += [_report.home + directory for directory in p["path"]]
    if "offered" in p:
        sys.meta_path.append(_Finder(p["offered"], call, _renew.look_again))
    _renew.unshadow(p["beside"] if "beside" in p else os.listdir())
    main["__file__"] = _report.home + name
    main["__builtins__"] = builtins
    if p.get("compiled"):
        return _undump(_unbase64(p["compiled"]))
    code = _program.compile_line(source, name)
    if code is not None:
        return None, code, ""
    codes = _program.compile_lines(source, name)
    if codes is not None:
        return *codes, ""
    return _program.compile_tree(_program.parse(source, name), source, name)


def _place(main, name):
    """Has a program below the working directory find the packages that it is in, and
    what is beside them, as under python -m. A package may have a module of its name."""
    parts = name.split("/")[:-1]
    tops = ["/".join(parts[:n]) for n in range(len(parts))]
    sys.path += [_report.home + top for top in sorted(reversed(tops), key=lambda top: os.path.exists(os.path.join(top, "__init__.py")))]
    top = next((n for n in range(len(parts)) if os.path.exists("/".join([*parts[: n + 1], "__init__.py"]))), 0)
    main["__package__"] = ".".join(parts[top:])


def _continue(p):
    """Forgets what a session's earlier program had of its own."""
    global _stdin
    if sys.stdin is _stdin and (p.get("stdin_read") or _is_closed(_stdin)):
        _stdin = sys.stdin = open(0, encoding="utf-8", errors=_stdin.errors, closefd=False)
    sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Finder)]


def _is_closed(stream):
    try:
        return stream.closed
    except ValueError:  # it is detached
        return True


# ---- the program


def _execute(p, body, last, main):
    if any(c is not None and c.co_flags & _COROUTINE for c in (body, last)):
        return _execute_async(p, body, last, main)
    if last is not None:
        p["last"] = next(line for *_, line in last.co_lines() if line)
    if body is not None:
        FunctionType(body, main)()  # not exec, which is C: park counts on that
    return FunctionType(last, main)() if last is not None else None


def _execute_async(p, body, last, main):
    import asyncio

    codes = [c for c in (body, last) if c is not None]
    plain = asyncio.run

    async def steps():
        value = None
        for code in codes:
            value = eval(code, main)
            if code.co_flags & _COROUTINE:
                value = await value
        return value if last is not None else None

    def run(coro, **options):
        """asyncio.run, which the program may call beside its own await: the loop of
        the program stands still meanwhile."""
        loop, frame = asyncio._get_running_loop(), sys._getframe(1)
        while frame is not None and frame.f_code not in codes and not frame.f_code.co_flags & _COROUTINE:
            frame = frame.f_back
        if loop is None or frame is None or frame.f_code not in codes:
            return plain(coro, **options)
        task = asyncio.current_task(loop)
        asyncio.tasks._leave_task(loop, task)
        asyncio._set_running_loop(None)
        try:
            return plain(coro, **options)
        finally:
            asyncio._set_running_loop(loop)
            asyncio.tasks._enter_task(loop, task)

    asyncio.run = run
    try:
        with asyncio.Runner() as runner:
            return runner.run(steps())
    finally:
        if asyncio.run is run:
            asyncio.run = plain


# ---- after


def _finish(p, main, report):
    """What CPython does at its own end, as far as a program can see it."""
    if not p.get("interrupted"):
        try:
            _display.finish()
        except Exception:
            pass  # a figure that cannot be drawn
    threading = sys.modules.get("threading")
    if p.get("session"):
        _report.earlier.add(p["filename"])
        _report.list_variables(main, report)
        _changed.note(_report.home)
        if threading is not None and len(threading._active) > 1:
            time.sleep(0)  # those that are about to end do
            _renew.break_executors()
    else:
        if threading is not None and not p.get("interrupted"):
            _renew.await_threads(threading)
        _renew.at_exit()
        _renew.clear(main)
    for stream in (sys.stdout, sys.stderr, _stdout, _stderr):
        _renew.flush(stream)


hide(run, _main, _execute, _execute_async, _finish, _renew.clear, _renew.at_exit)

_ENV = {"HOME": _report.home[:-1], "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "root"}
