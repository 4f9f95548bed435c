"""Makes an interpreter ready for a snapshot: what every program would write to
is written to before, so that its pages stay shared among all that are made of
the snapshot. Nothing here is left behind but that.

CPython writes to objects that it only reads: it counts references in them, and
notes in a function's code what it has learnt. Objects are made immortal, whose
references are not counted; and programs are rehearsed, until the code that
each run goes through has nothing to learn any more.
"""

import atexit
import gc
import json
import linecache
import signal
import sys
import types

import _coderunner
import _coderunner_renew

# What programs do most, without output.
_PROGRAMS = (
    "1+1",
    "import os, sys\nfrom math import pi\nx = 'a'\nx * 2",
    "def f(x):\n    return [x, {'a': 1.5}]\nf(None)",
    "print(end='')",
    "{'a': object()}",
    "raise ValueError('x')",
    "x = (",
    "import sys\nsys.exit(3)",
)
# Most programs have no other environment, which is left behind for them.
_ENV = {"LD_LIBRARY_PATH": "/usr/lib:/lib/python3.14/site-packages"}
_ROUNDS = 32  # an instruction adapts within a few of them, or is left alone for long


def rehearse(_):
    """Runs programs that leave nothing behind but their environment."""
    loaded = frozenset(sys.modules)
    at_exit = atexit._run_exitfuncs
    atexit._run_exitfuncs = gc.isenabled  # like it, but for what it does
    main = sys.modules["__main__"].__dict__
    kept = dict(main), list(sys.path), list(sys.argv), signal.getsignal(signal.SIGXCPU)
    for _ in range(_ROUNDS):
        for code in _PROGRAMS:
            _coderunner_renew.renewed = False
            _coderunner_renew.settle()
            _coderunner.analyze(json.dumps({"code": code, "files": [], "name": "main.py"}))
            _coderunner.run(
                json.dumps(
                    {
                        "code": code,
                        "filename": "main.py",
                        "args": [],
                        "env": _ENV,
                        "beside": ["main.py"],
                        "result_limit": 50000,
                    }
                )
            )
            main.clear()
            main.update(kept[0])
            sys.path[:], sys.argv[:] = kept[1], kept[2]
    _coderunner_renew.renewed = False
    sys.argv = kept[2]
    signal.signal(signal.SIGXCPU, kept[3])
    linecache.cache.pop("main.py", None)
    atexit._run_exitfuncs = at_exit
    _coderunner_renew.preloaded |= {n for n in sys.modules if n not in loaded and "." not in n}
    return ""


_CHUNK = 10_000
_IMMORTAL = 1 << 30  # the least count of an immortal object, as in Include/refcount.h


def immortalize(_):
    """Makes all objects immortal."""
    gc.disable()
    gc.collect()
    gc.unfreeze()  # those of an earlier snapshot have referents, too
    objects = [o for o in gc.get_objects() if sys.getrefcount(o) < _IMMORTAL]
    gc.freeze()
    for i in range(0, len(objects), _CHUNK):
        chunk = objects[i : i + _CHUNK]
        while chunk:
            _coderunner.call("immortal", id(chunk))
            chunk = _uncollected(chunk)
    del objects
    gc.collect()  # what was made here
    gc.freeze()
    gc.enable()
    return ""


def _uncollected(objects):
    """What the collector does not know of that objects refer to."""
    found = [o for o in gc.get_referents(*objects) if not gc.is_tracked(o)]
    for o in objects:
        if type(o) is types.CodeType:
            found += (o.co_consts, o.co_names, o.co_filename, o.co_name, o.co_qualname)
            found += (o.co_linetable, o.co_exceptiontable)
    return [o for o in found if sys.getrefcount(o) < _IMMORTAL]


def leave(_):
    """Takes this module away."""
    del sys.modules[__name__]
    _coderunner_renew.settle()
    made = _coderunner_renew.all_generators()
    for generator in made:
        generator.seed()
    states = [(id(g), *g.getstate()[1][-2:]) for g in made]
    _coderunner_renew.seeded = _coderunner.call("generators", states)
    return ""
