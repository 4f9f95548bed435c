"""The texts of a program, as far as they can be read off its tree: module
_coderunner_literals. Values of names are followed, functions are not run.
"""

import ast

FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef))


def parse(text):
    """The tree of a text, None if it has none."""
    try:
        return compile(
            text.removeprefix("\ufeff"),
            "",
            "exec",
            ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT,
            dont_inherit=True,
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # running it will say so


def parse_indented(text):
    return parse(text) or parse("if True:\n" + text)


def text_of(node):
    return node.value if type(node) is ast.Constant and type(node.value) is str else ""


def bindings(tree):
    """The expressions that names get their values from, wherever: assignments,
    loops, arguments of the program's own functions."""
    bound, params = {}, {}

    def bind(target, value):
        for n in ast.walk(target):
            name = getattr(n, "id", getattr(n, "attr", None))
            if name is not None and value is not None:
                bound.setdefault(name, []).append(value)

    for node in ast.walk(tree):
        kind = type(node)
        if kind is ast.Assign:
            for target in node.targets:
                bind(target, node.value)
        elif kind in (ast.AnnAssign, ast.AugAssign, ast.NamedExpr):
            bind(node.target, node.value)
        elif kind in (ast.For, ast.AsyncFor, ast.comprehension):
            bind(node.target, node.iter)
        elif kind in FUNCTIONS:
            a = node.args
            params[node.name] = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    for node in ast.walk(tree):
        if type(node) is ast.Call:
            for param in params.get(getattr(node.func, "id", getattr(node.func, "attr", "")), ()):
                for value in (*node.args, *(k.value for k in node.keywords)):
                    bound.setdefault(param.arg, []).append(value)
    return bound


def joined(node, bound):
    """The text of an f-string or a sum, as far as the program's text has it."""
    if type(node) is ast.BinOp:
        return joined(node.left, bound) + joined(node.right, bound)
    if type(node) is ast.JoinedStr:
        return "".join(joined(value, bound) for value in node.values)
    if type(node) is ast.FormattedValue:
        node = node.value
    return text_of(node) or " ".join(texts_of(node, bound)) or "-"  # like an option, it is skipped


def texts_of(node, bound, joined=None):
    """The texts that an expression may have in it as they are, in order. Those
    that are parts of others only if joined puts them together."""
    work, seen = [node], set()
    while work:
        n = work.pop()
        kind = type(n)
        if joined and (kind is ast.JoinedStr or kind is ast.BinOp and type(n.op) is ast.Add and (text_of(n.left) or text_of(n.right))):
            yield joined(n, bound)
        elif kind is ast.Constant:
            if type(n.value) is str:
                yield n.value
        elif kind in (ast.Name, ast.Attribute):
            name = n.id if kind is ast.Name else n.attr
            if name not in seen:
                seen.add(name)
                work += reversed(bound.get(name, ()))
        elif kind is ast.Call:
            if getattr(n.func, "attr", "") == "split" and not n.args:
                yield from text_of(n.func.value).split()
            work += reversed(n.args)
        elif kind is ast.BinOp:
            if type(n.op) is ast.Add and not text_of(n.left) and not text_of(n.right):
                work += (n.right, n.left)
        elif kind not in (ast.JoinedStr, ast.Compare, ast.Lambda):
            work += reversed(list(ast.iter_child_nodes(n)))
