"""Changes to multiprocessing: processes are spawned, never forked."""

import linecache
import os
import sys

from _coderunner_process import NO_FORK
from _coderunner_report import earlier


def start_by_spawn(module):
    """spawn is the only way to start a process."""
    spawn = module._concrete_contexts["spawn"]
    module._concrete_contexts = {"spawn": spawn}
    module._default_context = module.DefaultContext(spawn)
    find = module.BaseContext.get_context

    def get_context(self, method=None):
        if method in ("fork", "forkserver"):
            raise ValueError(f"cannot find context for {method!r}: {NO_FORK}")
        return find(self, method)

    module.BaseContext.get_context = get_context
    choose = module.DefaultContext.set_start_method

    def set_start_method(self, method, force=False):
        if method is not None:
            self.get_context(method)  # says why there is no other, also when one was chosen
        choose(self, method, force)

    module.DefaultContext.set_start_method = set_start_method


def track_nothing(module):
    """There is nothing to clean up after a program here, and so no process that
    would."""
    tracker = module.ResourceTracker
    tracker.ensure_running = lambda self: None
    tracker._send = lambda self, cmd, name, rtype: None
    tracker.getfd = lambda self: _null_file()
    tracker._fd = property(tracker.getfd, lambda self, fd: None)  # loky reads it
    for name in ("ensure_running", "register", "unregister", "getfd"):
        setattr(module, name, getattr(module._resource_tracker, name))


def _null_file():
    global _null
    if _null is None:
        _null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
    return _null


_null = None


def find_definitions(module):
    """A child finds the functions and classes of a program that does not look at its
    __name__, as after a fork, and does not run the rest of it again. In a session,
    those of earlier calls, too, with the values that they use."""
    gather, prepare, fixup = module.get_preparation_data, module.prepare, module._fixup_main_from_path
    session = {}  # in a child, what its parent had of earlier calls

    def get_preparation_data(name):
        data = gather(name)
        calls = session or _earlier_calls()
        return {**data, "calls": calls} if calls else data

    def prepare_with_calls(data):
        session.update(data.pop("calls", ()))
        prepare(data)

    def _fixup_main_from_path(path):
        tree, plain = _parsed(path)
        if tree is None or sys.modules["__main__"].__name__ == "__mp_main__":
            return fixup(path)
        guarded = plain and any(getattr(n, "id", "") == "__name__" for n in ast.walk(tree))
        if guarded and not session:
            return fixup(path)
        main = types.ModuleType("__mp_main__")
        main.__file__ = path
        module.old_main_modules.append(sys.modules["__main__"])
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main
        for name, text in session.get("texts", ()):
            _define(main, _program.parse(text, name), name, _NAMES)
        for name, value in session.get("values", {}).items():
            try:
                setattr(main, name, pickle.loads(value))
            except Exception:
                pass  # it has what only the parent has
        if guarded:
            exec(compile(tree, path, "exec"), main.__dict__)
        else:
            _define(main, tree, path, (*_NAMES, ast.Assign, ast.AnnAssign))
        main.__name__ = "__mp_main__"

    import ast
    import pickle
    import types

    import _coderunner_program as _program

    _NAMES = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

    def _parsed(path):
        """The tree of a program, and whether it has nothing but Python: the magics of
        a notebook are for its first run."""
        try:
            with open(path, encoding="utf-8") as f:
                text = f.read()
            try:
                return ast.parse(text), True
            except SyntaxError:
                return _program.parse(text, path), False
        except (OSError, SyntaxError, ValueError):
            return None, False

    def _define(main, tree, path, kinds):
        """Runs the statements of the kinds, without those that need what is left out."""
        for node in tree.body:
            if isinstance(node, kinds):
                try:
                    exec(compile(ast.Module([node], []), path, "exec"), main.__dict__)
                except Exception:
                    pass

    def _earlier_calls():
        """The texts of a session's earlier calls, and the values of their variables,
        pickled, that a function of theirs or of this call's may use."""
        if not earlier:
            return {}
        texts, used, values = [], set(), {}
        main = sys.modules["__main__"]
        for name, (_, _, lines, *_) in list(linecache.cache.items()):
            if name not in earlier and name != sys.argv[0]:
                continue
            text = "".join(lines)
            try:
                tree = _program.parse(text, name)
            except (SyntaxError, ValueError):
                continue
            if name in earlier:
                texts.append((name, text))
            for node in tree.body:
                if isinstance(node, _NAMES[2:]):
                    used.update(n.id for n in ast.walk(node) if isinstance(n, ast.Name))
        for name in used & vars(main).keys():
            value = getattr(main, name)
            if not isinstance(value, (type, types.ModuleType, types.FunctionType)):
                try:
                    values[name] = pickle.dumps(value)
                except Exception:
                    pass  # it cannot be copied
        return {"texts": texts, "values": values} if texts else {}

    module.get_preparation_data, module.prepare = get_preparation_data, prepare_with_calls
    module._fixup_main_from_path = _fixup_main_from_path


def share_files(module):
    """Memory for Value and Array is to be shared, which files in /dev/shm are."""
    module.Arena._dir_candidates = ["/dev/shm"]
