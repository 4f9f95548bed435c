"""Imports modules ahead of a snapshot: module _coderunner_preload, made at boot
and tells _coderunner_renew what a program has to know of it."""

import gc
import importlib
import json
import os
import signal
import sys

import _coderunner_renew

# What most programs import.
_COMMON = """abc argparse asyncio base64 bisect calendar collections.abc concurrent.futures contextlib copy csv
dataclasses datetime decimal difflib enum fractions functools glob hashlib heapq html inspect io itertools json logging
math multiprocessing.pool multiprocessing.popen_spawn_posix multiprocessing.queues multiprocessing.resource_tracker
multiprocessing.spawn multiprocessing.synchronize operator os pathlib pickle pkgutil pprint queue random re secrets
shutil statistics string struct subprocess tempfile textwrap threading time timeit tokenize types typing unicodedata
unittest urllib.parse uuid warnings weakref zipfile zlib"""


def preload(request):
    """Imports modules ahead of a snapshot: those named ("a:b" is "from a import
    b"), and [] stands for what most programs import. Says what went wrong, or "", and which environment
    variables were asked for, "*" for all."""
    before = frozenset(sys.modules), _process(), dict(os.environ)
    forget_generators = _watch_generators()
    asked, data = set(), os.environ._data
    os.environ._data = _watched(data, asked)
    problem = ""
    try:
        for name in json.loads(request) or _COMMON.split():
            try:
                module, _, attribute = name.partition(":")
                importlib.import_module(module)
                __import__(module, fromlist=[attribute] if attribute else ["__name__"])
                getattr(sys.modules[module], attribute, None)  # a lazy package imports something then
            except BaseException as e:
                problem = f"{name}: {type(e).__qualname__}: {e}"
                break
    finally:
        data.clear()
        data.update(os.environ._data)
        os.environ._data = data
        forget_generators()
    for was, now in zip(before[1], _process()):
        if not problem and was != now:
            problem = f"{was} became {now}"
    _coderunner_renew.environ.update({k: v for k, v in os.environ.items() if before[2].get(k) != v})
    _coderunner_renew.preloaded |= {n for n in sys.modules if n not in before[0] and "." not in n}
    gc.collect()
    gc.freeze()  # nobody else's garbage: collections leave it alone, and its pages clean
    return json.dumps([problem, sorted(asked)])


def _process():
    """What the host keeps for this process, and would not keep in a snapshot."""
    umask = os.umask(0o22)
    os.umask(umask)
    timers = [signal.getitimer(n)[0] > 0 for n in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)]
    return "folder " + os.getcwd(), f"umask {umask:o}", f"timers {timers}"


def _watched(data, asked):
    """The data of os.environ, noting in asked which names are looked up."""

    class Watched(dict):
        def __getitem__(self, key):
            asked.add(os.fsdecode(key))
            return dict.__getitem__(self, key)

        def __iter__(self):
            asked.add("*")
            return dict.__iter__(self)

    return Watched(data)


def _watch_generators():
    """Notes the random.Random that are made, unless they are given a seed, until
    the function that is returned is called."""
    import random  # not at boot: programs may have a module of that name

    made, seed = {}, random.Random.seed

    def watched(self, a=None, version=2):
        seed(self, a, version)
        made.pop(id(self), None)
        if a is None:
            made[id(self)] = self

    def stop():
        random.Random.seed = seed
        _coderunner_renew.generators += tuple(made.values())

    random.Random.seed = watched
    return stop
