"""The magics of notebooks that mean something here: module _coderunner_magics.

notebook.py writes them as calls of magic(), with the rest of the line and, of a
cell, the lines below.
"""

import io
import linecache
import os
import re
import sys
import time
import timeit
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout

import _coderunner_display


def magic(name, line="", cell=None):
    main = sys.modules["__main__"].__dict__
    return _MAGICS[name](line.strip(), cell, main)


def shell(command, names):
    """Runs a command line, in which $name and {expression} stand for values of names."""
    import subprocess

    if isinstance(sys.stdout, io.StringIO):  # captured
        print("\n".join(lines(command, names)))
        return
    sys.stdout.flush()
    subprocess.run(_expand(command, names), shell=True)


def lines(command, names):
    """The lines that a command line prints."""
    import subprocess

    return subprocess.run(_expand(command, names), shell=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()


def _expand(command, names):
    def value(found):
        try:
            return str(eval(found[1] or found[2], names))
        except Exception:
            return found[0]  # the shell's own

    return re.sub(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)", value, command)


@contextmanager
def timing():
    """Prints how long its block takes."""
    cpu, wall = time.process_time(), time.perf_counter()
    yield
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(f"CPU times: total: {_format(cpu)}\nWall time: {_format(wall)}")


def timed(function):
    with timing():
        return function()


class _Captured:
    """What a cell printed."""

    def __init__(self):
        self._out, self._err = io.StringIO(), io.StringIO()
        self.stdout = self.stderr = ""

    def __str__(self):
        return self.stdout

    def __call__(self):
        sys.stdout.write(self.stdout)
        sys.stderr.write(self.stderr)

    show = __call__


@contextmanager
def _capturing(words, main):
    """Keeps what its block prints to itself, or for a variable."""
    found = _Captured()
    with (
        nullcontext() if "--no-stdout" in words else redirect_stdout(found._out),
        nullcontext() if "--no-stderr" in words else redirect_stderr(found._err),
    ):
        yield
    found.stdout, found.stderr = found._out.getvalue(), found._err.getvalue()
    main.update((word, found) for word in words if word.isidentifier())


_running = None  # what times the cell, or captures what it prints


def _begin_cell(how):
    global _running
    end_cell()
    _running = how
    _running.__enter__()


def _over_cell(how):
    """A magic that does something about the rest of the cell, or about the cell that
    it is given (as get_ipython().run_cell_magic)."""

    def magic(line, cell, main):
        if cell is None:
            return _begin_cell(how(line.split(), main))
        with how(line.split(), main):
            exec(compile(cell, "<cell>", "exec"), main)

    return magic


def end_cell():
    """Ends what was begun for the cell that ends here."""
    global _running
    if _running is not None:
        _running, ended = None, _running
        ended.__exit__(None, None, None)


def _timeit(line, cell, main):
    """Shorter than elsewhere: 7 runs of at least 20 ms."""
    options, words = {"n": 0, "r": 7}, line.split(" ")
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word[1:2] in options:
            options[word[1]] = int(word[2:] or words.pop(0))
    line = " ".join(words)
    timer = timeit.Timer(line, globals=main) if cell is None else timeit.Timer(cell, line or "pass", globals=main)
    number = options["n"] or 1
    while not options["n"] and timer.timeit(number) < 0.02 and number < 10**9:
        number *= 10
    each = [t / number for t in timer.repeat(options["r"], number)]
    mean = sum(each) / len(each)
    spread = (sum((t - mean) ** 2 for t in each) / len(each)) ** 0.5
    runs = f"{len(each)} run{'s' * (len(each) > 1)}, {number:,} loop{'s' * (number > 1)} each"
    print(f"{_format(mean)} ± {_format(spread)} per loop (mean ± std. dev. of {runs})")


def _format(seconds):
    for unit, size in ("s", 1), ("ms", 1e-3), ("μs", 1e-6):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _writefile(line, cell, main):
    path = line.removeprefix("-a ").strip().strip("'\"")
    adds = line.startswith("-a ")
    print("Appending to" if adds else "Overwriting" if os.path.exists(path) else "Writing", path)
    with open(path, "a" if adds else "w") as f:
        f.write(cell)


def _run(line, cell, main):
    import runpy
    import shlex

    options, words = set(), shlex.split(line)
    while words and words[0] in ("-i", "-n", "-t", "-m"):
        options.add(words.pop(0))
    if not words:
        raise ValueError("%run needs the name of a file")
    before, sys.argv = sys.argv, words
    name = "__main__" if "-n" not in options else os.path.splitext(os.path.basename(words[0]))[0]
    try:
        if "-m" in options:
            found = runpy.run_module(words[0], None, name, alter_sys=True)
        elif words[0].endswith((".ipynb", ".ipy")):
            return _run_notebook(words[0], main)
        else:
            if not words[0].endswith(".py") and not os.path.exists(words[0]):
                words[0] += ".py"
            found = runpy.run_path(words[0], main if "-i" in options else None, name)
    finally:
        sys.argv = before
    main.update((name, value) for name, value in found.items() if not name.startswith("__"))


def _run_notebook(path, main):
    """Runs a notebook's cells with the program's variables, as notebooks do."""
    import asyncio

    import _coderunner_notebook
    import _coderunner_program

    with open(path, encoding="utf-8") as f:
        source = f.read()
    if path.endswith(".ipynb"):
        source = _coderunner_notebook.cells(source)
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    body, last, _ = _coderunner_program.compile_tree(_coderunner_program.parse(source, path), source, path)
    value = None
    for code in (body, last):
        if code is not None:
            value = eval(code, main)
            if code.co_flags & 128:  # inspect.CO_COROUTINE
                value = asyncio.run(value)
    if last is not None:
        _coderunner_display.show_value(value)


def _env(line, cell, main):
    name, given, value = line.partition("=" if "=" in line else " ")
    if given:
        os.environ[name.strip()] = value.strip()
        print(f"env: {name.strip()}={value.strip()}")
    else:
        print(os.environ[name] if name else dict(os.environ))


def _bash(line, cell, main):
    import subprocess

    sys.stdout.flush()
    subprocess.run(["bash", "-c", cell], check=True)


def _cd(line, cell, main):
    os.chdir(os.path.expanduser(line.strip("'\"") or "~"))
    print(os.getcwd())


def _ls(line, cell, main):
    print(*sorted(n for n in os.listdir(line or ".") if n[0] != "."), sep="\n")


def _who(line, cell, main):
    names = sorted(n for n, v in main.items() if n[0] != "_" and type(v) is not type(sys))
    print(*names or ["Interactive namespace is empty."], sep="   ")


def _shown(mime):
    return lambda line, cell, main: _coderunner_display.display({mime: cell}, raw=True)


_MAGICS = {
    "time": _over_cell(lambda words, main: timing()), "capture": _over_cell(_capturing),
    "timeit": _timeit, "writefile": _writefile, "file": _writefile, "run": _run, "env": _env,
    "set_env": _env, "cd": _cd, "pwd": lambda line, cell, main: print(os.getcwd()), "ls": _ls, "who": _who, "whos": _who,
    "html": _shown("text/html"), "HTML": _shown("text/html"), "svg": _shown("image/svg+xml"),
    "bash": _bash, "sh": _bash, "markdown": _shown("text/markdown"), "latex": _shown("text/latex"),
}  # fmt: skip
