"""typeguard's checks without their cost: it parses a function's whole module, and
compiles its class, for each function. Here the module is parsed once, and a class has
only the function in question."""

import ast
from copy import deepcopy


def parse_once(module):
    instrument, last = module.instrument, ("", None)

    def reduced(body, names, line, kinds):
        for node in body:
            if isinstance(node, (ast.If, ast.Try)):
                yield deepcopy(node)  # typeguard removes functions from it
            elif not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or [node.name] != names[:1]:
                if isinstance(node, kinds):
                    yield node
            elif isinstance(node, ast.ClassDef):
                inner = reduced(node.body, names[1:], line, (ast.Import, ast.ImportFrom))
                yield ast.ClassDef(**{**vars(node), "body": list(inner) or [ast.Pass()]})
            elif min(n.lineno for n in [node, *node.decorator_list]) == line:
                yield node

    def instrument_one(f):
        def parse(source):
            nonlocal last
            if last[0] != source:
                last = source, ast.parse(source)
            names, line = f.__qualname__.split("."), f.__code__.co_firstlineno
            if "<locals>" in names:
                return ast.parse(source)
            kinds = ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
            return ast.Module(list(reduced(last[1].body, names, line, kinds)), [])

        module.ast = type("ast", (), {**vars(ast), "parse": parse})
        return instrument(f)

    module.instrument = instrument_one
