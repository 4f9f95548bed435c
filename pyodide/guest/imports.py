"""The imports of a program, and the modules that it makes itself: module
_coderunner_imports.
"""

import ast
from itertools import islice

from _coderunner_literals import FUNCTIONS, bindings, parse_indented, text_of, texts_of

_SOURCES = 64  # texts of modules that a program writes, which are looked into
_NAMES = 20  # that a call imports
RUN = {
    "run", "call", "check_call", "check_output", "Popen", "system", "popen", "getoutput", "getstatusoutput",
    "create_subprocess_exec", "create_subprocess_shell", "shell"
}

# ---- imports


_IMPORTERS = {"import_module", "__import__", "importorskip"}


def imports_of(tree, text):
    """(dotted name, optional) of each absolute import, and of the calls that
    import a name in the text."""
    bound = None
    if any(name in text for name in _IMPORTERS):
        for node in ast.walk(tree):
            if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in _IMPORTERS:
                bound = bindings(tree) if bound is None else bound
                for name in islice(texts_of(node.args[0], bound) if node.args else (), _NAMES):
                    if all(map(str.isidentifier, name.split("."))):
                        yield name, True
    for words in _command_lines(tree) if any(name in text for name in _COMMANDS) else ():
        run = [*_run_modules(words)]
        if not run and words[:1] == ["-m"]:  # it is computed
            run = [_TOOLS[node.value] for node in ast.walk(tree) if type(node) is ast.Constant and node.value in _TOOLS]
        yield from ((name, True) for name in run)
    for node, optional in import_nodes(tree):
        if type(node) is ast.Import:
            for alias in node.names:
                yield alias.name, optional
        elif node.level == 0 and node.module:
            yield node.module, optional


# Commands of packages that programs run without importing them, and their modules.
_TOOLS = {
    "autopep8": "autopep8", "bandit": "bandit", "black": "black", "cookiecutter": "cookiecutter", "coverage": "coverage",
    "django-admin": "django", "flake8": "flake8", "isort": "isort", "mkdocs": "mkdocs", "mypy": "mypy",
    "pycodestyle": "pycodestyle", "pydocstyle": "pydocstyle", "pyflakes": "pyflakes", "pylint": "pylint", "pytest": "pytest",
    "radon": "radon", "sphinx-build": "sphinx", "vulture": "vulture", "yapf": "yapf",
}
_RUNNERS = {"coverage", "cProfile", "profile", "pdb", "trace"}  # with a -m of their own
_COMMANDS = {"-m", *_TOOLS}


def _command_lines(tree):
    """The words of the command lines that a program runs, as far as its text has
    them."""
    for node in ast.walk(tree):
        if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in RUN:
            yield [word for arg in node.args for text in texts_of(arg, {}) for word in text.split()]


def _run_modules(words):
    """The modules that a command line runs, if they are packages': "coverage run -m
    pytest" has two."""
    if "-m" in words[:2] and ("python" in words[0] or words[0] == "-m"):
        words = words[words.index("-m") + 1 :]
        if words and words[0].isidentifier():
            yield words[0]
    elif words and words[0] in _TOOLS:
        yield _TOOLS[words[0]]
    else:
        return
    if "-m" in words[1:-1] and words[0] in _RUNNERS:
        yield words[words.index("-m", 1) + 1]


def members_of(tree):
    """"a.b:c" for each absolute "from a.b import c" that is sure to be reached."""
    for node, optional in import_nodes(tree):
        if not optional and type(node) is ast.ImportFrom and node.level == 0:
            for alias in node.names:
                yield f"{node.module}:{alias.name}"


_BLOCKS = FUNCTIONS | {
    ast.ClassDef, ast.For, ast.AsyncFor, ast.While, ast.If, ast.With, ast.AsyncWith, ast.Try, ast.TryStar, ast.Match
}


def import_nodes(tree):
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
    return kind in FUNCTIONS or kind is ast.Match or any(map(_catches_import_error, getattr(node, "handlers", ())))


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
MAKING = {".py", "modules", "meta_path", "path_hooks", *_MAKERS}
_PATHS = {"Path", "PosixPath", "PurePath", "PurePosixPath", "mkdir", "makedirs", "join", "joinpath"}


def made_by(tree):
    """The first parts of the names of modules that a program writes or makes,
    and the trees of texts that it may write."""
    nodes = list(ast.walk(tree))
    texts = [n.value for n in nodes if type(n) is ast.Constant and type(n.value) is str]
    own, computed = set(), any(type(n) is ast.Attribute and n.attr in ("meta_path", "path_hooks") for n in nodes)
    for node in nodes:
        names, unknown = _made_by_node(node)
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
        sources = [t for t in map(parse_indented, candidates) if t is not None]
    return {name for name in own if name.isidentifier()}, sources


def _made_by_node(node):
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
        return [], text_of(node.args[0] if node.args else None) == ".py"
    if name in ("setdefault", "update", "__setitem__") and _is_modules(getattr(node.func, "value", None)):
        return _constants(_keys(node.args[:1]))
    if any(_is_modules(a) or text_of(a) == "sys.modules" for a in node.args):  # patch.dict, monkeypatch.setitem
        keys = [k for k in _keys(node.args) if type(k) is ast.Constant]
        return [*_constants(keys)[0], *(k.arg for k in node.keywords if k.arg)], False
    return [], False


def _ends_name(node):
    """Whether a text makes what stands before it the name of a module's file."""
    text = text_of(node)
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
        if text := text_of(node):
            names.append(text)
        elif getattr(node, "id", "") != "__name__":
            unknown = True
    return names, unknown


def _paths(node):
    """The parts of paths that a program puts together."""
    if type(node) is ast.Call and getattr(node.func, "attr", getattr(node.func, "id", "")) in _PATHS:
        return filter(None, map(text_of, node.args))
    if type(node) is ast.BinOp and type(node.op) is ast.Div:
        return filter(None, (text_of(node.left), text_of(node.right)))
    return ()
