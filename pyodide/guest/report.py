"""How a program went, for the host: module _coderunner_report."""

import json
import linecache
import os
import re
import sys
import traceback
from types import ModuleType
from _suggestions import _generate_suggestions as _suggest

import _coderunner_display as _display

_TYPE_NAME = 64  # characters of an exception's name that are reported
encode_any = json.JSONEncoder(allow_nan=False).encode
# The functions of C below json's, which take half as long for what is small: scan reads a text that
# is all JSON.
scan = json.scanner.make_scanner(json.JSONDecoder())
_chunks = json.encoder.c_make_encoder(None, json.JSONEncoder().default, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, False)
_stderr = sys.stderr
home = os.getcwd().rstrip("/") + "/"
earlier = set()  # the names of a session's programs


# ---- values


_FLAT = frozenset((int, str, float, bool))


def encode(value):
    """The JSON of a value that has no cycles, which would be followed until memory or the stack ends."""
    return "".join(_chunks(value, 0))


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
        encoded = records or (encode if type(value) in _FLAT else encode_any)(value)
        if len(encoded) <= limit and (records or scan(encoded, 0)[0] == value):
            report["json"] = encoded
    except (TypeError, ValueError, RecursionError, MemoryError, OverflowError):
        pass  # not JSON


def shorten(text, limit):
    half = limit // 2
    mark = f"… {len(text) - 2 * half} characters cut …"
    return text if len(text) <= 2 * half + len(mark) else text[:half] + mark + text[-half:]


def _shorten_lines(text, limit):
    """shorten, at the ends of lines."""
    if len(text) <= limit:
        return text
    head = text.rfind("\n", 0, limit // 2) + 1
    tail = text.find("\n", len(text) - limit // 2) + 1 or len(text) - limit // 2
    return f"{text[:head]}  … {tail - head} characters cut …\n{text[tail:]}"


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


class _Stack(traceback.StackSummary):
    """Formats a frame once for all calls from the same place: a traceback of a
    recursion has thousands of which it shows three."""

    def format_frame_summary(self, frame, **how):
        place = frame.filename, frame.lineno, frame.end_lineno, frame.colno, frame.end_colno, frame.name
        texts = self.__dict__.setdefault("texts", {})
        if place not in texts:
            texts[place] = super().format_frame_summary(frame, **how)
        return texts[place]

    def format(self, **how):
        return _fold(super().format(**how))


_PERIOD, _SHOWN = 16, 3  # the calls of a recursion's round at most, and the rounds shown of it


def _fold(calls):
    """Says of rounds of two calls and more how often they are repeated, as the
    traceback module does of one."""
    folded, at = [], 0
    while at < len(calls):
        for n in range(2, _PERIOD + 1):
            round, end = calls[at : at + n], at + n
            while calls[end : end + n] == round:
                end += n
            if end > at + n * (_SHOWN + 1):
                folded += round * _SHOWN
                folded.append(f"  [Previous {n} calls repeated {(end - at) // n - _SHOWN} more times]\n")
                at = end
                break
        else:
            folded.append(calls[at])
            at += 1
    return folded


def explain(e, p, report):
    """Puts an exception that ended the program, or interrupted it, into the report."""
    name, limit, interrupted = p["filename"], p["result_limit"], p.get("interrupted")
    report["exit_code"] = 130 if isinstance(e, KeyboardInterrupt) and not interrupted else 1  # as by SIGINT
    report["type"] = type(e).__qualname__[:_TYPE_NAME]
    report["no_memory"] = isinstance(e, MemoryError)
    try:
        if sys.excepthook is not sys.__excepthook__ and not interrupted:
            _hook(e, report)
        if type(e) is AttributeError:
            _tell_namesake(e)
        te = traceback.TracebackException.from_exception(e, compact=True)
        _keep_user_frames(te, limit)
        if not te.stack and "last" in p and isinstance(e, KeyboardInterrupt):  # it came before the last expression
            te.stack.append(traceback.FrameSummary(name, p["last"], "<module>"))
        tasks = [(task, _own(frames)) for task, frames in (e.waiting if interrupted else ())]
        if tasks:  # the first is the one that the program waits for
            te.stack = _Stack(te.stack + tasks.pop(0)[1])
        if isinstance(e, SyntaxError) and e.filename == name:
            report["line"] = e.lineno if type(e.lineno) is int else 0
            report["message"] = shorten(str(e.msg), limit)
        else:
            report["message"] = shorten(_message(e), limit)
            report["line"] = next((f.lineno or 0 for f in reversed(te.stack) if f.filename == name), 0)
        if type(e) is ModuleNotFoundError and report["line"]:
            report["suggestion"] = _meant(e.name)
        report["traceback"] = _shorten_lines("".join(te.format()) + (_elsewhere(tasks) if interrupted else ""), limit)
    except BaseException as again:
        report.setdefault("message", "")
        report["traceback"] = f"{report['type']} (and then {type(again).__qualname__} while its traceback was made)\n"


def _hook(e, report):
    """Has the program's own hook show the exception. What fails then is shown as
    CPython does."""
    try:
        sys.excepthook(type(e), e, e.__traceback__)
        report["shown"] = True
    except SystemExit as leaves:
        report["exit_code"], report["shown"] = exit_code(leaves), True
    except Exception as again:
        again.__context__, again.__traceback__ = None, again.__traceback__.tb_next
        print("Error in sys.excepthook:", file=_stderr)
        traceback.print_exception(again, file=_stderr)


def _tell_namesake(e):
    """Says, as CPython does where it began with a script, that a module without the
    attribute is a file of the program with the name of one of the library."""
    name = getattr(e.obj, "__name__", None) if type(e.obj) is ModuleType else None
    file = getattr(e.obj, "__file__", None)
    if name in sys.stdlib_module_names and file in (f"{home}{name}.py", f"{home}{name}/__init__.py"):
        e.args = (
            f"module {name!r} has no attribute {e.name!r} (consider renaming {file!r} since it has the same name as "
            f"the standard library module named {name!r} and the import system gives it precedence)",
        )


def _meant(name):
    """The module of the library or file of the program that a name may stand for."""
    if type(name) is not str or name in sys.stdlib_module_names or len(name) > _TYPE_NAME:
        return ""
    files = [f.removesuffix(".py") for f in os.listdir(home) if f.endswith(".py")]
    return _suggest([n for n in (*files, *sorted(sys.stdlib_module_names)) if n[:1] != "_"], name) or ""


def _message(e):
    try:
        if type(e).__str__ is SyntaxError.__str__ and e.msg:
            return str(e.msg)  # the traceback has the file and the line
        return str(e)
    except Exception:
        return "<exception str() failed>"


def _keep_user_frames(te, limit):
    seen = []
    while te is not None and te not in seen:
        seen.append(te)
        if isinstance(te._str, str):
            te._str = shorten(te._str, limit)
        te.stack = _Stack([f for f in te.stack if _is_user_frame(f)])
        for inner in getattr(te, "exceptions", None) or ():
            _keep_user_frames(inner, limit)
        _skip_repeated(te)
        te = te.__cause__ or te.__context__


_NUMBER = re.compile(r"\[Errno \d+\] ")


def _skip_repeated(te):
    """Leaves out what led to an exception as far as its message says that, too, and
    it was in no line of the program: libraries wrap exceptions again and again."""
    while (inner := te.__cause__ or te.__context__) and inner._str and _NUMBER.sub("", str(inner._str)) in _NUMBER.sub("", str(te._str)):
        if any(map(_is_user_frame, inner.stack)) or getattr(inner, "exceptions", None):
            break
        te.__cause__, te.__context__, te.__suppress_context__ = inner.__cause__, inner.__context__, inner.__suppress_context__


def waiting_tasks():
    """The tasks of the loop that waits here, if one does: their names and the
    frames in which they are suspended, innermost last."""
    asyncio = sys.modules.get("asyncio")
    loop = asyncio and asyncio._get_running_loop()
    if loop is None or asyncio.current_task(loop) is not None:
        return []
    found = []
    for task in asyncio.all_tasks(loop):
        frames, coro = [], task.get_coro()
        while coro is not None:
            if frame := getattr(coro, "cr_frame", None) or getattr(coro, "ag_frame", None):
                frames.append((frame, frame.f_lineno))
            coro = getattr(coro, "cr_await", None) or getattr(coro, "ag_await", None)
        found.append((task.get_name(), frames))
    return sorted(found, key=lambda t: (len(t[0]), t[0]))


_PLACE = 4000  # characters


def place(frame, tasks, name):
    """Where the time limit strikes, for a program that catches the interrupt."""
    stack = _own(reversed(list(traceback.walk_stack(frame))))
    if tasks:
        stack = _Stack(stack + _own(tasks[0][1]))
    line = next((f.lineno or 0 for f in reversed(stack) if f.filename == name), 0)
    text = f"Traceback (most recent call last):\n{shorten(''.join(stack.format()), _PLACE)}KeyboardInterrupt\n" if stack else ""
    return {"line": line, "traceback": text}


_STACKS = 10  # of other threads and tasks that are shown
_NAMES = 3  # of those with the same


def _elsewhere(tasks):
    """Where the other threads and tasks are, the program's own lines only."""
    found = {}
    for task, stack in tasks:
        found.setdefault(("Task", "".join(stack.format())), []).append(task)
    threading = sys.modules.get("threading")
    for ident, frame in reversed(sys._current_frames().items()) if threading else ():
        thread = threading._active.get(ident)
        if thread is not None and thread is not threading.current_thread():
            stack = _own(reversed(list(traceback.walk_stack(frame))))
            found.setdefault(("Thread", "".join(stack.format())), []).append(thread.name)
    text = []
    for (kind, lines), names in list(found.items())[:_STACKS]:
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        shown = ", ".join(shorten(str(n), 80) for n in names[:_NAMES])
        text.append(f"\n{kind}{'s' * (len(names) > 1)} {shown}{more} (most recent call last):\n{lines or '  in no line of the program\n'}")
    return "".join(text)


def _own(frames):
    return _Stack([f for f in traceback.StackSummary.extract(frames) if _is_user_frame(f)])


_exists = os.path.exists
_LIBRARY = "/lib/", "/usr/", "<frozen ", "<_coderunner", "<class '", "<decorator-gen", "<makefun-gen"  # the last three are decorators'
_GENERATED = " generated "  # in names of attrs, cattrs and SQLAlchemy


def _is_user_frame(f):
    """Whether a frame is the program's: also of what it executes, but not a method
    that a library made, such as a dataclass's __init__, nor Cython's."""
    if f.filename[:1] == "<":
        return f.name[:2] != "__" and not f.filename.startswith(_LIBRARY) and _GENERATED not in f.filename
    if f.filename.startswith(_LIBRARY):
        return False
    return len(linecache.cache.get(f.filename, ())) > 1 or _exists(f.filename)  # one: a module's, not read yet
