"""How a program went, for the host: module _coderunner_report."""

import json
import linecache
import os
import sys
import traceback

import _coderunner_display as _display

_TYPE_NAME = 64  # characters of an exception's name that are reported
_encode = json.JSONEncoder(allow_nan=False).encode
_decode = json.JSONDecoder().decode
_stderr = sys.stderr
home = os.getcwd().rstrip("/") + "/"
earlier = set()  # the names of a session's programs


# ---- values


def describe(value, limit, report):
    """Puts the last expression's value into the report."""
    if value is None:
        return
    text, records = _display.describe(value)
    if text is None:
        return  # it was shown
    if not isinstance(text, str):
        text = str(text)
    report["repr"] = shorten(text, limit)
    try:
        encoded = records or _encode(value)
        if len(encoded) <= limit and (records or _decode(encoded) == value):
            report["json"] = encoded
    except (TypeError, ValueError, RecursionError, MemoryError, OverflowError):
        pass  # not JSON


def shorten(text, limit):
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}… {len(text) - 2 * half} characters cut …{text[-half:]}"


_VARIABLES = 200  # that are listed
_type_name = type.__dict__["__name__"].__get__


def list_variables(main, report):
    """Puts the names and types of the session's variables into the report."""
    names = sorted(n for n in main if type(n) is str and not n.startswith("_"))
    report["variables"] = [[shorten(n, 80), shorten(_type_name(type(main[n])), 80)] for n in names[:_VARIABLES]]
    report["variables_omitted"] = max(0, len(names) - _VARIABLES)


# ---- exceptions


def exit_code(e):
    """The status that sys.exit() asked for."""
    if e.code is None:
        return 0
    if isinstance(e.code, int):
        return e.code & 0xFF
    print(e.code, file=_stderr)
    return 1


def explain(e, p, report):
    """Puts an exception that ended the program, or interrupted it, into the report."""
    name, limit, interrupted = p["filename"], p["result_limit"], p.get("interrupted")
    report["exit_code"] = 1
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
            report["message"] = shorten(str(e.msg), limit)
        else:
            report["message"] = shorten(_message(e), limit)
            if te.stack and (te.stack[-1].filename == name or te.stack[-1].filename not in earlier):
                report["line"] = te.stack[-1].lineno or 0
        report["traceback"] = shorten("".join(te.format()) + (_other_threads(name) if interrupted else ""), limit)
    except BaseException as again:
        report.setdefault("message", "")
        report["traceback"] = f"{report['type']} (and then {type(again).__qualname__} while its traceback was made)\n"


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
            te._str = shorten(te._str, limit)
        te.stack = traceback.StackSummary.from_list([f for f in te.stack if _is_user_file(f.filename, name)])
        for inner in getattr(te, "exceptions", None) or ():
            _keep_user_frames(inner, name, limit)
        if te.__cause__ is not None:
            te = te.__cause__
        else:
            te = te.__context__


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
            found.setdefault(lines or "  in no line of the program\n", []).append(shorten(str(thread.name), 80))
    text = []
    for lines, names in list(found.items())[:_STACKS]:
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        text.append(f"\n{'Thread' if len(names) == 1 else 'Threads'} {', '.join(names[:_NAMES])}{more} (most recent call last):\n{lines}")
    return "".join(text)


def _is_user_file(filename, name):
    return filename == name or filename in earlier or filename.startswith(home)


def user_frames(frames, name):
    return [(f, n) for f, n in frames if _is_user_file(f.f_code.co_filename, name)]
