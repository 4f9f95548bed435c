"""What a program imports, installs and brings itself: module _coderunner_analyze.

analyze looks at the syntax. It runs nothing of the program and reads no files
but those that it is handed.
"""

import ast
import sys

import _coderunner_notebook
import _coderunner_pip
import _coderunner_tests
from _coderunner_imports import MAKING, RUN, import_nodes, imports_of, made_by, members_of
from _coderunner_literals import bindings, joined, parse, texts_of
from _suggestions import _generate_suggestions as _suggest

_INSTALLS = 100


def analyze(code, files=(), name="", words=False):
    """Returns what the host has to know before a program runs, and the program's
    tree if the text is plain Python.

    files are [path, text] of what the program finds in its directory, beside
    its own file, which has the name; only text of Python files is looked at.
    The answer has

    imports:  [[dotted name, optional], ...] of what is neither the standard
              library's nor the program's own
    slips:    those that are nearly the library's
    members:  ["a.b:c", ...] of the imports "from a.b import c" that are sure to
              be reached; c may be a module
    own:      first parts of the names of modules that a file could be, or that
              the program makes itself
    installs: [[requirement, with what it needs], ...] of calls of
              micropip.install and of pip, as written: the host has to parse them
    micropip: whether the program imports it
    names:    attributes and imported names, if it imports anything, or for words
    texts:    its texts that could be names of projects, likewise
    """
    main, lines, plain = _program(code)
    if main is None:
        return {"imports": [], "members": [], "own": [], "installs": [], "micropip": False}, None
    modules = _Modules([*files, [name, None]])
    own, installs, found, members = set(modules.own), dict.fromkeys(lines[:_INSTALLS], True), {}, {}
    parts = _reach(main, code, modules)
    for tree, text, optional in parts:
        if any(word in text for word in MAKING):
            made, sources = made_by(tree)
            own |= made
            for source in sources:
                for name, _ in imports_of(source, ""):
                    found.setdefault(name, True)
        if "install" in text and "pip" in text:
            for requirement, deps in _installs(tree):
                if len(installs) < _INSTALLS:
                    installs[requirement] = installs.get(requirement, True) and deps
        for name, maybe in imports_of(tree, text):
            found[name] = found.get(name, True) and (maybe or optional)
        if "pytest" in text:
            found.update((name, found.get(name, True)) for name in _coderunner_tests.plugins(tree, text))
        for source in map(parse, _coderunner_tests.examples(text)):
            for name, _ in imports_of(source, "") if source else ():
                found.setdefault(name, True)
        if not optional:
            members.update(dict.fromkeys(members_of(tree)))
    if _coderunner_tests.framework(main.body) == "pytest":
        found.setdefault("pytest", True)
    others = _others(found, own)
    names, texts = _words(tree for tree, _, _ in parts) if others or words else ((), ())
    found = {
        "imports": list(others.items()),
        "slips": [name for name in others if _slip(name)],
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
    code = _coderunner_notebook.marked(code)
    tree = parse(code)
    if tree is None:
        try:
            cleaned = _coderunner_notebook.clean(code)
        except SyntaxError:
            cleaned = None
        if cleaned is not None:
            return parse(cleaned[0]), cleaned[1], False
    return tree, [], True


_OURS = {"_coderunner", "micropip", "pip", "js", "pyodide_js", "pyodide", "_pyodide", "_pyodide_core"}
# A package that gives a standard module its data.
_DATA = {"turtle": "basthon.turtle", "zoneinfo": "tzdata"}  # what modules of the library lack here


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


def _slip(name):
    """Whether a name is a module of the library with letters too many or too few, as
    "maths" is: if no such package can be installed, the import itself tells more."""
    meant = _suggest(_LIBRARY, name) if "." not in name else None
    return meant is not None and (name.startswith(meant) or meant.startswith(name))


_LIBRARY = [name for name in sorted(sys.stdlib_module_names) if name[:1] != "_"]


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
            elif kind is ast.Constant and type(node.value) is str:
                text, url, _ = node.value[:60].partition("://")
                if url:  # sqlite+aiosqlite:///x.db
                    text = text.partition("+")[2]
                if len(text) < 40 and text[:1].isalpha() and text.replace("-", "_").isidentifier():
                    texts.add(text)
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
                if text is None or (tree := parse(text)) is None:
                    continue
                trees.append((tree, text, False))
                work.append((tree, path if path in modules.packages else path[:-1]))
    for text in left.values():
        if (tree := parse(text) or _program(text)[0]) is not None:  # a notebook that it runs is no plain Python
            trees.append((tree, text, True))
    return trees


def _imported_names(tree, package):
    """All names that may be modules, in parts, of the imports of a file that
    are sure to be reached: for "from a.b import c" a, a.b and a.b.c. The
    file's package is the start of its relative imports."""
    for node, optional in import_nodes(tree):
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


# ---- micropip and pip


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
        if (name in RUN or name in _PIP) and node.args:
            bound = bindings(tree) if bound is None else bound
            commands = [["pip"] if name in _PIP else []]
            for text in texts_of(node.args[0], bound, joined):
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
        bound = bindings(tree) if bound is None else bound
        deps = given.get("deps")
        for text in texts_of(given["requirements"], bound):
            yield text, deps is None or getattr(deps, "value", None) is True
