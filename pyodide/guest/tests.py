"""Programs that define tests and leave it to others to run them: module _coderunner_tests."""

import ast
import importlib.util
import re
import sys
from types import CodeType, ModuleType

_DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CASES = ("TestCase", "IsolatedAsyncioTestCase")

# Plugins of pytest that a program uses without importing them, by the fixtures,
# marks and options that they define.
_FIXTURES = {
    "benchmark": "pytest_benchmark",
    "freezer": "pytest_freezer",
    "httpserver": "pytest_httpserver",
    "httpx_mock": "pytest_httpx",
    "mocker": "pytest_mock",
    "requests_mock": "requests_mock",
    "respx_mock": "respx",
}
_MARKS = {"asyncio": "pytest_asyncio", "timeout": "pytest_timeout"}
_OPTIONS = re.compile(r"(?<![\w-])(?:(--cov\b)|(--timeout=)|(--reruns\b)|(--html=)|(--asyncio-mode\b)|(-n[\s\"',=]*(?:\d|auto\b)))")
_OF_OPTIONS = ("pytest_cov", "pytest_timeout", "pytest_rerunfailures", "pytest_html", "pytest_asyncio", "xdist")


def framework(body):
    """The framework of the tests that a program defines and does not run itself, if
    its statements otherwise only prepare them: "pytest", "unittest" or ""."""
    if body and _is_call(body[-1]):
        return ""  # for its value
    pytest, cases, functions, own, bases = False, False, False, set(), set(_CASES)
    for node in body:
        if not _prepares(node, own):
            return ""
        if isinstance(node, _IMPORTS):
            names = [node.module or ""] if type(node) is ast.ImportFrom else [alias.name for alias in node.names]
            pytest |= "pytest" in names
        elif isinstance(node, _FUNCTIONS):
            functions |= _is_test(node)
        elif type(node) is ast.ClassDef:
            tests = any(isinstance(n, _FUNCTIONS) and n.name.startswith("test") for n in node.body)
            if any(_name(b) in bases for b in node.bases):
                bases.add(node.name)
                cases |= tests
            functions |= tests and node.name not in bases and node.name.startswith("Test") and any(map(_is_test, node.body))
    if not (functions or cases) or any(_runs_tests(node, own) for node in body):
        return ""
    return "pytest" if functions or pytest else "unittest"


_BLOCKS = (ast.If, ast.For, ast.With, ast.Try)
_SETTING = (*_DEFINITIONS, ast.AugAssign, ast.Delete, ast.Pass, ast.Raise, ast.TypeAlias)

# What is called to see or to run something.
_DOING = frozenset("display echo exec exit input main pprint print run run_until_complete show stdout testmod".split())
_RUNNERS = ("TextTestRunner", "main", "globals")


def _prepares(node, own):
    """Whether a statement only defines, or configures what the program imports. Adds to
    own the names that stand for what the program defines."""
    todo = [node]
    while todo:  # a chain of elif is as deep as it is long
        node = todo.pop()
        if type(node) is ast.Expr:
            if type(node.value) is not ast.Constant and not (_is_call(node) and _configures(node.value.func, own)):
                return False
        elif isinstance(node, _BLOCKS):
            if type(node) is ast.For:
                own.update(n.id for n in ast.walk(node.target) if type(n) is ast.Name)
            if not _tries_imports(node):
                inner = [*node.body, *getattr(node, "orelse", ()), *getattr(node, "finalbody", ())]
                for handler in getattr(node, "handlers", ()):
                    inner += handler.body
                todo += reversed(inner)
        elif not isinstance(node, _SETTING):
            return False
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            own.add(node.name)
        elif type(node) is ast.Assign and type(node.value) is ast.Call and _root(node.value.func) in own:
            own.update(target.id for target in node.targets if type(target) is ast.Name)
    return True


def _is_call(node):
    return type(node) is ast.Expr and type(node.value) is ast.Call


def _configures(function, own):
    """Whether calling a function neither shows nor runs something. What the program
    defines itself may do either."""
    names = _name(function), _name(getattr(function, "value", None))
    return _DOING.isdisjoint(names) and _root(function) not in own


def _name(node):
    return getattr(node, "attr", getattr(node, "id", ""))


def _root(function):
    """The name of a function, of the object whose method it is, or of that one's class."""
    node = function.value if type(function) is ast.Attribute else function
    return getattr(node.func if type(node) is ast.Call else node, "id", "")


def _runs_tests(node, own):
    """Whether a statement that defines nothing names tests, or calls what runs them."""
    if isinstance(node, (*_IMPORTS, *_FUNCTIONS, ast.ClassDef)):
        return False
    return any(
        type(n) is ast.Name and n.id.startswith("test_") and type(n.ctx) is ast.Load and n.id in own or type(n) is ast.Call and _name(n.func) in _RUNNERS
        for n in ast.walk(node)
    )


def _tries_imports(node):
    """Whether it is a try that only imports, and whose handlers tell why it cannot."""
    return type(node) is ast.Try and all(isinstance(n, _IMPORTS) for n in node.body) and not node.finalbody


def _is_test(node):
    return isinstance(node, _FUNCTIONS) and node.name.startswith("test_") and any(map(_asserts, ast.walk(node)))


def _asserts(node):
    return type(node) in (ast.Assert, ast.With, ast.AsyncWith) or type(node) is ast.Call and _name(node.func).startswith("assert_")


def plugins(tree, text):
    """The modules of the plugins that tests for pytest use, and runs of them."""
    used, defined = {_OF_OPTIONS[m.lastindex - 1] for m in _OPTIONS.finditer(text)}, set()
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            defined.add(node.name)
            used.update(_FIXTURES.get(a.arg) for a in node.args.args if a.arg not in defined)
        elif type(node) is ast.Attribute and getattr(node.value, "attr", "") == "mark":
            used.add(_MARKS.get(node.attr))
    return sorted(used - {None} - {_FIXTURES.get(name) for name in defined})


_EXAMPLE = re.compile(r"^[ \t]*>>> ((?:import|from) .+)", re.MULTILINE)


def examples(text):
    """The imports that examples for doctest make."""
    return _EXAMPLE.findall(text)[:100] if "doctest" in text else []


def run(framework, main, body):
    """Runs the tests of the program, whose variables are main, and exits as the
    framework does. Body is the code of a session's program: only its own tests run."""
    if framework == "unittest":
        import unittest

        unittest.main(defaultTest=body and _cases(body, main, unittest.TestCase))
    try:
        import pytest
    except ModuleNotFoundError:
        return
    # The program has imported its plugins; elsewhere, pytest comes first.
    options = ["-q", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    if importlib.util.find_spec("pytest_asyncio"):
        options += ["-o", "asyncio_default_fixture_loop_scope=function"]  # versions that ask for it take this as well
    path = main["__file__"]
    if body is None:
        raise SystemExit(int(pytest.main([*options, path])))
    plugin = _Continued(path.rpartition("/")[2].rpartition(".")[0], main)
    sys.modules.pop(plugin.name, None)  # of an earlier program
    try:
        raise SystemExit(int(pytest.main([*options, "-p", "no:cacheprovider", path], [plugin])))
    finally:
        sys.modules.pop(plugin.name, None)


def _cases(body, main, case):
    """The names of the test cases that the code of a program defines."""
    names = [c.co_name for c in body.co_consts if type(c) is CodeType]
    return [name for name in names if isinstance(main.get(name), type) and issubclass(main[name], case)]


class _Continued:
    """A plugin of pytest, which imports the program to rewrite what it asserts: the
    module begins with the session's variables."""

    def __init__(self, name, main):
        self.name, self.main = name, {key: value for key, value in main.items() if not key.startswith("__")}

    def pytest_sessionstart(self):
        for finder in sys.meta_path:
            if type(finder).__name__ == "AssertionRewritingHook":
                finder.create_module = self._create

    def _create(self, spec):
        module = ModuleType(spec.name)
        if spec.name == self.name:
            vars(module).update(self.main)
        return module

    def pytest_pycollect_makeitem(self, collector, name, obj):
        if hasattr(collector.obj, "__file__") and self.main.get(name) is obj:
            return []  # an earlier program's
