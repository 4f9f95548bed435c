"""Changes to multiprocessing: processes are spawned, never forked."""

import os
import sys

from _coderunner_process import NO_FORK


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
    __name__, as after a fork, and does not run the rest of it again."""
    fixup = module._fixup_main_from_path

    def _fixup_main_from_path(path):
        import ast
        import types

        try:
            with open(path, "rb") as f:
                text = f.read()
            tree = ast.parse(text)
        except (OSError, SyntaxError, ValueError):
            return fixup(path)
        if sys.modules["__main__"].__name__ == "__mp_main__" or any(getattr(n, "id", "") == "__name__" for n in ast.walk(tree)):
            return fixup(path)
        main = types.ModuleType("__mp_main__")
        main.__file__ = path
        module.old_main_modules.append(sys.modules["__main__"])
        sys.modules["__main__"] = sys.modules["__mp_main__"] = main
        for node in tree.body:
            if isinstance(node, _DEFINITIONS):
                try:
                    exec(compile(ast.Module([node], []), path, "exec"), main.__dict__)
                except Exception:
                    pass  # it needs what was left out
        main.__name__ = "__mp_main__"

    from ast import AnnAssign, Assign, AsyncFunctionDef, ClassDef, FunctionDef, Import, ImportFrom

    _DEFINITIONS = (Import, ImportFrom, FunctionDef, AsyncFunctionDef, ClassDef, Assign, AnnAssign)
    module._fixup_main_from_path = _fixup_main_from_path


def share_files(module):
    """Memory for Value and Array is to be shared, which files in /dev/shm are."""
    module.Arena._dir_candidates = ["/dev/shm"]
