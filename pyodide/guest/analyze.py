"""What a program imports, installs and brings itself: module _coderunner_analyze.

analyze looks at the syntax. It runs nothing of the program and reads no files
but those that it is handed.
"""

import ast
import sys
from itertools import islice

import _coderunner_notebook
import _coderunner_pip
import _coderunner_tests

_SOURCES = 64  # texts of modules that a program writes, which are looked into
_INSTALLS = 100
_NAMES = 20  # that a call imports


def analyze(code, files=(), name=""):
    """Returns what the host has to know before a program runs, and the program's
    tree if the text is plain Python.

    files are [path, text] of what the program finds in its directory, beside
    its own file, which has the name; only text of Python files is looked at.
    The answer has

    imports:  [[dotted name, optional], ...] of what is neither the standard
              library's nor the program's own
    members:  ["a.b:c", ...] of the imports "from a.b import c" that are sure to
              be reached; c may be a module
    own:      first parts of the names of modules that a file could be, or that
              the program makes itself
    installs: [[requirement, with what it needs], ...] of calls of
              micropip.install and of pip, as written: the host has to parse them
    micropip: whether the program imports it
    names:    attributes and imported names, if it imports anything
    texts:    its texts that could be names of projects, likewise
    """
    main, lines, plain = _program(code)
    if main is None:
        return {"imports": [], "members": [], "own": [], "installs": [], "micropip": False}, None
    modules = _Modules([*files, [name, None]])
    own, installs, found, members = set(modules.own), dict.fromkeys(lines[:_INSTALLS], True), {}, {}
    parts = _reach(main, code, modules)
    for tree, text, optional in parts:
        if any(word in text for word in _MAKING):
            made, sources = _made(tree)
            own |= made
            for source in sources:
                for name, _ in _imports(source, ""):
                    found.setdefault(name, True)
        if "install" in text and "pip" in text:
            for requirement, deps in _installs(tree):
                if len(installs) < _INSTALLS:
                    installs[requirement] = installs.get(requirement, True) and deps
        for name, maybe in _imports(tree, text):
            found[name] = found.get(name, True) and (maybe or optional)
        if "pytest" in text:
            found.update((name, found.get(name, True)) for name in _coderunner_tests.plugins(tree))
        if not optional:
            members.update(dict.fromkeys(_members(tree)))
    if _coderunner_tests.framework(main.body) == "pytest":
        found.setdefault("pytest", True)
    others = _others(found, own)
    names, texts = _words(tree for tree, _, _ in parts) if others else ((), ())
    found = {
        "imports": [[name, optional] for name, optional in others.items()],
        "members": [member for member in members if member.partition(":")[0] in others],
        "own": sorted(own),
        "installs": [[requirement, deps] for requirement, deps in installs.items()],
        "micropip": any(name.partition(".")[0] == "micropip" for name in found),
        "names": names,
        "texts": texts,
    }
    return found, main if plain else None


def _program(code):
    """The tree of a program, None if it has none, what lines of it install that
    are not Python's, and whether there are no such lines."""
    tree = _parse(code)
    if tree is None:
        try:
            cleaned = _coderunner_notebook.clean(code)
        except SyntaxError:
            cleaned = None
        if cleaned is not None:
            return _parse(cleaned[0]), cleaned[1], False
    return tree, [], True


def _parse(text):
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


_OURS = {"_coderunner", "micropip", "pip", "js", "pyodide_js", "pyodide", "_pyodide", "_pyodide_core"}
# A package that gives a standard module its data.
_DATA = {"zoneinfo": "tzdata"}


# What is there without IPython; see ipython.py.
_SHOWN = ("IPython", "IPython.display", "IPython.core.display", "IPython.core.display_functions")


def _others(found, own):
    """What is to be installed, of all that is imported."""
    others = {}
    for name, optional in found.items():
        top = name.partition(".")[0]
        if top in _DATA:
            others.setdefault(_DATA[top], True)
        if top == "IPython" and name in _SHOWN:
            continue
        if top in sys.stdlib_module_names or top in sys.builtin_module_names or top in _OURS or top in own:
            continue
        others[name] = others.get(name, True) and optional
    return others


_WORDS = 2000  # of each kind


def _words(trees):
    """The attributes and imported names of the program, and its short texts."""
    names, texts = set(), set()
    for tree in trees:
        for node in ast.walk(tree):
            kind = type(node)
            if kind is ast.Attribute:
                names.add(node.attr[:40])
            elif kind is ast.alias:
                names.update(part[:40] for part in node.name.split("."))
            elif kind is ast.Constant and type(node.value) is str and len(node.value) < 40:
                if node.value[:1].isalpha() and node.value.replace("-", "_").isidentifier():
                    texts.add(node.value)
    return sorted(names)[:_WORDS], sorted(texts)[:_WORDS]


# ---- the program's files


class _Modules:
    """The modules that files could be, whatever directory is on sys.path."""

    def __init__(self, files):
        self.own = set()  # first parts of names, as a program may import them
        self.texts = {}  # path without its ending, in parts, to the text
        self.packages = set()  # the paths that were an __init__
        self.ending = {}  # the last part, to the paths that have it
        for path, text in files:
            stem, dot, kind = path.rpartition(".")
            if not dot or kind not in ("py", "pyc"):
                continue
            parts = stem.split("/")
            if package := parts[-1] == "__init__":
                parts.pop()
            self.own.update(parts)
            if kind == "py" and text is not None and parts:
                self.texts[tuple(parts)] = text
                self.ending.setdefault(parts[-1], []).append(tuple(parts))
                if package:
                    self.packages.add(tuple(parts))

    def find(self, name):
        """The files that a module of this name could be."""
        return [path for path in self.ending.get(name[-1], ()) if path[-len(name) :] == name]


def _reach(main, code, modules):
    """(tree, text, optional) of the program and its Python files. Those that it
    does not import, or may not reach, are optional: it may run them all the
    same."""
    trees, left = [(main, code, False)], dict(modules.texts)
    work, seen = [(main, ())], set()
    while work:
        tree, where = work.pop()
        for name in _imported_names(tree, where):
            if name in seen or name[0] not in modules.own:
                continue
            seen.add(name)
            for path in modules.find(name):
                text = left.pop(path, None)
                if text is None or (tree := _parse(text)) is None:
                    continue
                trees.append((tree, text, False))
                work.append((tree, path if path in modules.packages else path[:-1]))
    for text in left.values():
        if (tree := _parse(text)) is not None:
            trees.append((tree, text, True))
    return trees


def _imported_names(tree, package):
    """All names that may be modules, in parts, of the imports of a file that
    are sure to be reached: for "from a.b import c" a, a.b and a.b.c. The
    file's package is the start of its relative imports."""
    for node, optional in _import_nodes(tree):
        if optional:
            continue
        if type(node) is ast.Import:
            names = [tuple(alias.name.split(".")) for alias in node.names]
        else:
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            names = [base + (alias.name,) for alias in node.names]
        for name in names:
            for end in range(1, len(name) + 1):
                yield name[:end]


# ---- imports


_IMPORTERS = {"import_module", "__import__", "importorskip"}


def _imports(tree, text):
    """(dotted name, optional) of each absolute import, and of the calls that
    import a name in the text."""
    bound = None
    if any(name in text for name in _IMPORTERS):
        for node in ast.walk(tree):
            if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in _IMPORTERS:
                bound = _bindings(tree) if bound is None else bound
                for name in islice(_texts(node.args[0], bound) if node.args else (), _NAMES):
                    if all(map(str.isidentifier, name.split("."))):
                        yield name, True
    for words in _command_lines(tree) if any(name in text for name in _COMMANDS) else ():
        yield from ((name, True) for name in _run_module(words))
    for node, optional in _import_nodes(tree):
        if type(node) is ast.Import:
            for alias in node.names:
                yield alias.name, optional
        elif node.level == 0 and node.module:
            yield node.module, optional


# Commands of packages that programs run without importing them.
_TOOLS = {"black", "coverage", "flake8", "isort", "mypy", "pylint", "pytest"}
_COMMANDS = {"-m", *_TOOLS}


def _command_lines(tree):
    """The words of the command lines that a program runs, as far as its text has
    them."""
    for node in ast.walk(tree):
        if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in _RUN:
            yield [word for arg in node.args for text in _texts(arg, {}) for word in text.split()]


def _run_module(words):
    """The module that a command line runs, if it is a package's."""
    if "-m" in words[:2] and ("python" in words[0] or words[0] == "-m"):
        words = words[words.index("-m") + 1 :]
        return words[:1] if words and words[0].isidentifier() else ()
    return words[:1] if words and words[0] in _TOOLS else ()


def _members(tree):
    """"a.b:c" for each absolute "from a.b import c" that is sure to be reached."""
    for node, optional in _import_nodes(tree):
        if not optional and type(node) is ast.ImportFrom and node.level == 0:
            for alias in node.names:
                yield f"{node.module}:{alias.name}"


_FUNCTIONS = frozenset((ast.FunctionDef, ast.AsyncFunctionDef))
_BLOCKS = _FUNCTIONS | {
    ast.ClassDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match
}


def _import_nodes(tree):
    """(statement, optional) of each import. Optional ones may never be reached,
    or the program copes without: in functions, under a condition, in a try that
    catches ImportError or a with that expects an error."""
    work = [(tree.body, False)]
    while work:
        block, optional = work.pop()
        for node in block:
            kind = type(node)
            if kind is ast.Import or kind is ast.ImportFrom:
                yield node, optional
            elif kind in _BLOCKS:
                work += _blocks(node, optional or _may_be_left_out(node, kind))
                work.append((getattr(node, "finalbody", ()), optional))


def _blocks(node, optional):
    for part in (node, *getattr(node, "cases", ())):
        yield getattr(part, "body", ()), optional
    yield getattr(node, "orelse", ()), optional
    for handler in getattr(node, "handlers", ()):
        yield handler.body, True


def _may_be_left_out(node, kind):
    """Whether imports in a statement are optional."""
    if kind is ast.If:
        test = ast.dump(node.test)
        return "'__main__'" not in test and not test.startswith("Constant(value=True")
    if kind is ast.With:
        return any("Error" in ast.dump(item.context_expr) for item in node.items)
    return kind in _FUNCTIONS or kind is ast.Match or any(map(_catches_import_error, getattr(node, "handlers", ())))


def _catches_import_error(handler):
    if handler.type is None:
        return True
    names = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(
        getattr(n, "id", None) in ("ImportError", "ModuleNotFoundError", "Exception", "BaseException") for n in names
    )


# ---- modules that the program makes

_MAKERS = {"ModuleType", "new_module", "spec_from_file_location", "spec_from_loader", "ModuleSpec", "SourceFileLoader"}
# Without any of these in its text a program makes no modules.
_MAKING = {".py", "modules", "meta_path", "path_hooks", *_MAKERS}
_PATHS = {"Path", "PosixPath", "PurePath", "PurePosixPath", "mkdir", "makedirs", "join", "joinpath"}


def _made(tree):
    """The first parts of the names of modules that a program writes or makes,
    and the trees of texts that it may write."""
    nodes = list(ast.walk(tree))
    texts = [n.value for n in nodes if type(n) is ast.Constant and type(n.value) is str]
    own, computed = set(), any(type(n) is ast.Attribute and n.attr in ("meta_path", "path_hooks") for n in nodes)
    for node in nodes:
        names, unknown = _made_by(node)
        own.update(name.partition(".")[0] for name in names)
        computed |= unknown
    files = [t for t in texts if t.endswith(".py") and len(t) < 1024 and not any(map(str.isspace, t))]
    for path in files:
        *above, stem = path.removesuffix(".py").split("/")
        own.update(above if stem == "__init__" else [*above, stem])
        computed |= "{" in stem or "%" in stem
    if files or computed:
        for node in nodes:
            for path in _paths(node):
                own.update(path.split("/"))
    if computed:  # the names are among the program's texts
        own.update(texts)
    sources = []
    if own:
        candidates = [t for t in texts if "import " in t][:_SOURCES]
        sources = [t for t in map(_parse_indented, candidates) if t is not None]
    return {name for name in own if name.isidentifier()}, sources


def _made_by(node):
    """The names of modules that a node makes, and whether there are some that
    only running it could tell."""
    kind = type(node)
    if kind is ast.Subscript and type(node.ctx) is ast.Store and _is_modules(node.value):
        return _constants([node.slice])
    if kind is ast.JoinedStr:
        return [], any(map(_ends_name, node.values[1:]))
    if kind is ast.BinOp:
        return [], type(node.op) is ast.Add and _ends_name(node.right)
    if kind is not ast.Call:
        return [], False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    if name in _MAKERS:
        return _constants(node.args[:1])
    if name == "with_suffix":
        return [], _text(node.args[0] if node.args else None) == ".py"
    if name in ("setdefault", "update", "__setitem__") and _is_modules(getattr(node.func, "value", None)):
        return _constants(_keys(node.args[:1]))
    if any(_is_modules(a) or _text(a) == "sys.modules" for a in node.args):  # patch.dict, monkeypatch.setitem
        keys = [k for k in _keys(node.args) if type(k) is ast.Constant]
        return [*_constants(keys)[0], *(k.arg for k in node.keywords if k.arg)], False
    return [], False


def _ends_name(node):
    """Whether a text makes what stands before it the name of a module's file."""
    text = _text(node)
    return text == "/__init__.py" or text[:3] == ".py" and not text[3:4].isalnum()


def _is_modules(node):
    return type(node) is ast.Attribute and node.attr == "modules"


def _keys(args):
    """The arguments, with the keys of dictionaries in their place."""
    for arg in args:
        if type(arg) is ast.Dict:
            yield from (k for k in arg.keys if k is not None)
        else:
            yield arg


def _constants(nodes):
    names, unknown = [], False
    for node in nodes:
        if text := _text(node):
            names.append(text)
        elif getattr(node, "id", "") != "__name__":
            unknown = True
    return names, unknown


def _text(node):
    return node.value if type(node) is ast.Constant and type(node.value) is str else ""


def _paths(node):
    """The parts of paths that a program puts together."""
    if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in _PATHS:
        return filter(None, map(_text, node.args))
    if type(node) is ast.BinOp and type(node.op) is ast.Div:
        return filter(None, (_text(node.left), _text(node.right)))
    return ()


def _parse_indented(text):
    return _parse(text) or _parse("if True:\n" + text)


# ---- micropip and pip


_RUN = {
    "run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput", "getstatusoutput",
    "create_subprocess_exec", "create_subprocess_shell", "shell"
}
_PIP = {"main", "pipmain", "_main"}


def _installs(tree):
    """(requirement, with what it needs) of the calls of micropip.install and of
    pip whose requirements are in the text: as literals, or as values of names
    that the calls use."""
    functions, modules = set(), set()
    for node in ast.walk(tree):
        if type(node) is ast.Import:
            modules.update(a.asname or a.name for a in node.names if a.name == "micropip")
        elif type(node) is ast.ImportFrom and node.module == "micropip":
            functions.update(a.asname or a.name for a in node.names if a.name == "install")
    bound = None
    for node in ast.walk(tree):
        if type(node) is not ast.Call:
            continue
        f = node.func
        name = getattr(f, "attr", getattr(f, "id", ""))
        if (name in _RUN or name in _PIP) and node.args:
            bound = _bindings(tree) if bound is None else bound
            commands = [["pip"] if name in _PIP else []]
            for text in _texts(node.args[0], bound, _joined):
                first, *others = _coderunner_pip.commands(text) if "install " in text else [[text]]
                commands[0] += first
                commands += others
            for words in commands:
                for requirement in _coderunner_pip.requirements(words) or ():
                    yield requirement, True
        if not (
            type(f) is ast.Name and f.id in functions
            or type(f) is ast.Attribute and f.attr == "install" and getattr(f.value, "id", "") in modules
        ):
            continue
        given = {k.arg: k.value for k in node.keywords}
        given |= dict(zip(("requirements", "keep_going", "deps"), node.args))
        if "requirements" not in given:
            continue
        bound = _bindings(tree) if bound is None else bound
        deps = given.get("deps")
        for text in _texts(given["requirements"], bound):
            yield text, deps is None or getattr(deps, "value", None) is True


def _bindings(tree):
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
        elif kind in _FUNCTIONS:
            a = node.args
            params[node.name] = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
    for node in ast.walk(tree):
        if type(node) is ast.Call:
            for param in params.get(getattr(node.func, "id", getattr(node.func, "attr", "")), ()):
                for value in (*node.args, *(k.value for k in node.keywords)):
                    bound.setdefault(param.arg, []).append(value)
    return bound


def _joined(node, bound):
    """The text of an f-string or a sum, as far as the program's text has it."""
    if type(node) is ast.BinOp:
        return _joined(node.left, bound) + _joined(node.right, bound)
    if type(node) is ast.JoinedStr:
        return "".join(_joined(value, bound) for value in node.values)
    if type(node) is ast.FormattedValue:
        node = node.value
    return _text(node) or " ".join(_texts(node, bound)) or "-"  # like an option, it is skipped


def _texts(node, bound, joined=None):
    """The texts that an expression may have in it as they are, in order. Those
    that are parts of others only if joined puts them together."""
    work, seen = [node], set()
    while work:
        n = work.pop()
        kind = type(n)
        if joined and (kind is ast.JoinedStr or kind is ast.BinOp and type(n.op) is ast.Add and (_text(n.left) or _text(n.right))):
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
                yield from _text(n.func.value).split()
            work += reversed(n.args)
        elif kind is ast.BinOp:
            if type(n.op) is ast.Add and not _text(n.left) and not _text(n.right):
                work += (n.right, n.left)
        elif kind not in (ast.JoinedStr, ast.Compare, ast.Lambda):
            work += reversed(list(ast.iter_child_nodes(n)))
