"""What a program is, from its text to code objects: module _coderunner_program.

Nothing of the program runs here.
"""

import ast
import binascii
import marshal

from _coderunner_notebook import clean as _clean, marked as _marked
from _coderunner_tests import framework as _framework

_FUTURE = 0x1FFE0000  # the flags of __future__ statements, as in Include/cpython/compile.h
FLAGS = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT


def text_of(code):
    """The text as Python reads a file: no byte order mark, \\n line ends.

    A coding cookie means nothing in text that was decoded already.
    """
    return code.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parse(source, name):
    """The tree of a program, which may have what only a notebook understands."""
    flags = FLAGS | ast.PyCF_ONLY_AST
    source = _marked(source)
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
    a notebook, it writes, or it is a comment in three quotes."""
    call = last.value.value if isinstance(last.value, ast.Await) else last.value
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _COUNTING:
        return True
    lines = source.split("\n")
    if last.end_lineno > len(lines):
        return False
    if type(call) is ast.Constant and lines[last.lineno - 1].encode()[last.col_offset :][:3] in (b'"""', b"'''"):
        return True
    return lines[last.end_lineno - 1].encode()[last.end_col_offset :].lstrip().startswith(b";")


def compile_tree(tree, source, name):
    """The code objects of a program's body and of its last expression, and the
    framework of the tests that are all there is."""
    last, framework = None, _framework(tree.body)
    if name.endswith(".ipynb"):
        _show_cells(tree.body, source)
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not _silent(tree.body[-1], source):
        last = ast.Expression(tree.body.pop().value)
        if not tree.body:
            return None, compile(last, name, "eval", FLAGS, dont_inherit=True), framework
    body = compile(tree, name, "exec", FLAGS, dont_inherit=True)
    if last is not None:
        last = compile(last, name, "eval", FLAGS | body.co_flags & _FUTURE, dont_inherit=True)
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


def compile_line(source, name):
    """The code of a program that is one expression in one line, else None. In
    half the time, since no tree is made."""
    if "\n" in source[:-1] or ";" in source or "=" in source or source[:1] in " \t" or "write" in source:
        return None
    try:
        return compile(source, name, "eval", FLAGS, dont_inherit=True)
    except SyntaxError:
        return None  # a statement, or else the tree will say so


def compile_lines(source, name):
    """The code objects of a program whose last line is an expression, else None: as from
    compile_tree, in half the time, since no tree is made. That both parts can be compiled shows
    that the line is not within a statement."""
    text = source.rstrip()
    before, _, last = text.rpartition("\n")
    if not before or not (last[0].isalpha() or last[0] == "_") or ";" in last or "=" in last.partition("(")[0]:
        return None
    if any(word in source for word in _TREES) or any(method in last for method in _COUNTING) or name.endswith(".ipynb"):
        return None
    try:
        value = compile("\n" * (before.count("\n") + 1) + last, name, "eval", FLAGS, dont_inherit=True)
        body = compile(before + "\n", name, "exec", FLAGS, dont_inherit=True)
    except SyntaxError:
        return None
    return (body, value) if not body.co_flags & _FUTURE else None


# What only a tree tells of: tests, notebooks, and warnings, which would be shown twice.
_TREES = "test", "get_ipython", "\\", "assert", " is "


_COMPILED = 1 << 17  # bytes of code that are worth handing on


def dump(tree, source, name):
    """The program's code objects as a text for the run, "" if it has to see why
    it has none."""
    try:
        dumped = marshal.dumps(compile_tree(tree, source, name))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return ""
    return binascii.b2a_base64(dumped, newline=False).decode() if len(dumped) <= _COMPILED else ""
