"""The command line of a child: module _coderunner_command, made at boot. The
interpreter has started already, so CPython does not read it."""

import collections
import importlib
import os
import signal
import sys
import traceback

import _coderunner
import _coderunner_pip
import _coderunner_process
from _coderunner_adapt import hide
from _coderunner_renew import at_exit, clear, flush, renew, set_environ, unshadow
from _coderunner_program import text_of
from _coderunner_report import exit_code

_USAGE = "usage: python [option] ... [-c cmd | -m mod | file | -] [arg] ..."
_VALUED = "cmWX"


def _options(args):
    """The options of a command line: what to run (a kind and its value), the
    arguments that the program gets, and the options' letters and values."""
    found, args = [], list(args)
    while args and args[0][:1] == "-" and args[0] != "-":
        word = args.pop(0)
        if word[:2] == "--":
            found.append((word, ""))
            if word == "--check-hash-based-pycs":
                args.pop(0)
            continue
        for i, letter in enumerate(word[1:], 2):
            if letter not in _VALUED:
                found.append((letter, ""))
                continue
            if not word[i:] and not args:
                found.append(("", letter))
                return None, None, [], found
            value = word[i:] or args.pop(0)
            if letter in "cm":
                return letter, value, ["-" + letter, *args], found
            found.append((letter, value))
            break
    if not args:
        return "-", None, [""], found
    return "-" if args[0] == "-" else "file", args[0], args, found


def execute(request):
    """Runs a command line and reports its exit status. Both are JSON texts."""
    p = _coderunner._decode(request)
    report = {"exit_code": 0}
    main = sys.modules["__main__"].__dict__
    try:
        _run(p, main)
    except SystemExit as e:
        report["exit_code"] = _leave(e)
    except KeyboardInterrupt as e:
        _show(e)
        report["signal"] = int(signal.SIGINT)
    except BaseException as e:
        _show(e)
        report["exit_code"] = 1
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        at_exit()
        clear(main)
    except BaseException as e:
        _show(e)
    try:
        if not getattr(sys.stdout, "closed", True):
            sys.stdout.flush()
    except Exception:
        report["exit_code"] = report["exit_code"] or 120
    flush(sys.stderr)
    return _coderunner._encode(report)


def _leave(e):
    try:
        return exit_code(e)
    except Exception:
        return 1


def _show(e):
    """What CPython does about an uncaught exception. runpy's frames and ours are not
    shown."""
    tb = e.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename == "<frozen runpy>":
        tb = tb.tb_next
    at = tb
    while at is not None and at.tb_next is not None:
        if at.tb_next.tb_frame.f_code.co_filename.startswith("<_coderunner_"):
            at.tb_next = at.tb_next.tb_next
        else:
            at = at.tb_next
    try:
        flush(sys.stdout)
        sys.excepthook(type(e), e.with_traceback(tb), tb)
    except BaseException:
        traceback.print_exception(e)


def _run(p, main):
    """Runs the program of a command line as __main__."""
    decode = lambda text: os.fsdecode(text.encode("latin-1"))
    args = [decode(a) for a in p["args"]]
    _coderunner_process._pid = p["pid"]
    set_environ(dict(decode(e).partition("=")[::2] for e in p["env"]))
    p["env"] = os.environ
    renew(p)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    sys.orig_argv[:] = args
    kind, value, sys.argv[:], options = _options(args[1:])
    letters = {o for o, _ in options}
    if letters & {"V", "--version"}:
        return print("Python", sys.version if "VV" in "".join(args) else sys.version.split()[0])
    if letters & {"h", "?", "--help"}:
        return print(_USAGE)
    if "" in letters or kind is None:
        print(f"Argument expected for the -{options[-1][1]} option\n{_USAGE}", file=sys.stderr)
        raise SystemExit(2)
    if "i" in letters:
        print("python: there is no terminal here for -i: give the program with -c, -m, a file or standard input", file=sys.stderr)
        raise SystemExit(2)
    level = _apply(options, letters)
    main.update(__name__="__main__", __doc__=None, __package__=None, __spec__=None)
    safe = bool(letters & {"I", "P"} or "E" not in letters and os.environ.get("PYTHONSAFEPATH"))
    if kind == "c":
        _start("" if not safe else None)
        exec(compile(text_of(value), "<string>", "exec", dont_inherit=True, optimize=level), main)
    elif kind == "m":
        import runpy

        _start(os.getcwd() if not safe else None)
        if value == "pip" and _coderunner_pip.stands_in():
            raise SystemExit(_coderunner_pip._main())
        if value in ("venv", "virtualenv"):
            print(f"python: -m {value}: no environment is needed here: packages are installed by importing them, or by pip", file=sys.stderr)
            raise SystemExit(1)
        try:
            runpy._run_module_as_main(value)
        except SystemExit as e:
            if e.code == f"{sys.executable}: No module named {value}":
                e.code += " (if a package has it, name it in the argument packages; --package on the command line)"
            raise
    elif kind == "-":
        _start("" if not safe else None)
        code = compile(text_of(sys.stdin.read()), "<stdin>", "exec", dont_inherit=True, optimize=level)
        exec(code, main)
    else:
        _run_file(value, main, safe, level)


def _start(directory):
    """Puts a directory in front of sys.path. Modules that it has are not those that
    this interpreter has loaded already."""
    if directory is None:
        return
    sys.path.insert(0, directory)
    try:
        unshadow([e.name for e in os.scandir(directory or ".") if e.name.endswith(".py") or e.is_dir()])
    except OSError:
        pass


def _run_file(name, main, safe, level):
    if os.path.isdir(name) or name.endswith((".zip", ".pyz", ".whl")):
        import runpy

        sys.path.insert(0, name)
        return runpy._run_module_as_main("__main__", alter_argv=False)
    try:
        with open(name, "rb") as f:
            source = f.read()
    except OSError as e:
        print(f"{sys.executable}: can't open file {os.path.abspath(name)!r}: [Errno {e.errno}] {e.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    _start(os.path.dirname(os.path.realpath(name)) if not safe else None)
    main["__file__"] = name
    exec(compile(source, name, "exec", dont_inherit=True, optimize=level), main)


def _apply(options, letters):
    """What options change in an interpreter that has started already. Returns the
    level of optimization."""
    environ = {} if letters & {"E", "I"} else os.environ
    if "I" in letters:  # nothing can be set in sys.flags, nor another one made
        fields = {name: getattr(sys.flags, name) for name in sys.flags.__match_args__}
        fields.update(isolated=1, ignore_environment=1, no_user_site=1, safe_path=True)
        sys.flags = collections.namedtuple("flags", fields)(**fields)
    sys.path[0:0] = [d for d in environ.get("PYTHONPATH", "").split(":") if d]
    if "u" in letters or environ.get("PYTHONUNBUFFERED"):
        for stream in sys.stdout, sys.stderr:
            stream.reconfigure(write_through=True)
    for _, value in (o for o in options if o[0] == "X"):
        name, _, given = value.partition("=")
        sys._xoptions[name] = given or True
    dev = "dev" in sys._xoptions or environ.get("PYTHONDEVMODE")
    warn = [w for w in environ.get("PYTHONWARNINGS", "").split(",") if w] + [v for o, v in options if o == "W"]
    if dev:
        warn.insert(0, "default")
    sys.warnoptions[:] = warn
    if warn:
        import warnings

        warnings._processoptions(warn)
    if dev or "faulthandler" in sys._xoptions or environ.get("PYTHONFAULTHANDLER"):
        import faulthandler

        faulthandler.enable()
    level = environ.get("PYTHONOPTIMIZE", "")
    level = max(int(level) if level.isdecimal() else bool(level), sum(o == "O" for o, _ in options))
    if level:  # sys.flags.optimize cannot be set
        importlib._bootstrap_external.SourceLoader.source_to_code.__kwdefaults__["_optimize"] = min(level, 2)
    return min(level, 2)


hide(execute, _run, _run_file)
