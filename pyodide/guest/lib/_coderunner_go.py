"""Functions of the host's, which are written in Go: what modules of pyodide.Options.Modules
are made of. The texts are those of package gofunc."""

import asyncio
import binascii
import builtins
import dataclasses
import math
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from weakref import WeakKeyDictionary

from _coderunner import HostError, call

_AT_ONCE = 64  # awaited calls, each in a thread
_slots = WeakKeyDictionary()  # by event loop


def _to_go(value):
    if value is None or value is True or value is False:
        return value
    match value:
        case str():
            return str(value)
        case int():
            return int(value)
        case float():
            return float(value) if math.isfinite(value) else {"f": repr(float(value))}
        case bytes() | bytearray() | memoryview():
            return {"b": binascii.b2a_base64(value, newline=False).decode()}
        case Mapping():
            return {"m": [[_to_go(k), _to_go(v)] for k, v in value.items()]}
    if type(value) is SimpleNamespace:
        return _to_go(vars(value))
    if hasattr(value, "_asdict"):  # a named tuple
        return _to_go(value._asdict())
    if isinstance(value, (list, tuple)):
        return [*map(_to_go, value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {"m": [[f.name, _to_go(getattr(value, f.name))] for f in dataclasses.fields(value)]}
    if hasattr(value, "tolist"):  # of NumPy, pandas, array
        return _to_go(value.tolist())
    raise TypeError(f"Go has nothing for a value of type {type(value).__qualname__}")


def _from_go(value):
    if isinstance(value, list):
        return [*map(_from_go, value)]
    if not isinstance(value, dict):
        return value
    ((kind, value),) = value.items()
    match kind:
        case "b":
            return binascii.a2b_base64(value)
        case "f":
            return float(value)
        case "m":
            return {_key(_from_go(k)): _from_go(v) for k, v in value}
        case "s":
            return SimpleNamespace(**{k: _from_go(v) for k, v in value})
        case "t":
            return tuple(map(_from_go, value))
    raise ValueError(kind)


def _key(value):
    """A key of a map, which may be an array or a struct in Go."""
    if isinstance(value, list):
        return tuple(map(_key, value))
    return tuple((k, _key(v)) for k, v in vars(value).items()) if isinstance(value, SimpleNamespace) else value


def _exception(name, message):
    kind = getattr(builtins, name, None)
    try:
        if issubclass(kind, Exception):
            return kind(message)
    except TypeError:  # no class, or one with other arguments
        pass
    return RuntimeError(f"{name}: {message}")


def _ask(name, argument):
    try:
        answer = call(name, argument)
    except HostError as e:
        raise RuntimeError(str(e)) from None
    if failed := answer.get("e"):
        raise _exception(*failed)
    return _from_go(answer.get("v"))


def _argument(args, options):
    argument = {"args": [*map(_to_go, args)]}
    if options:
        argument["options"] = _to_go(options)
    return argument


def _named(function, module, name, text):
    function.__module__, function.__name__, function.__qualname__, function.__doc__ = module, name, name, text
    return function


def bind(module, name, text):
    """Returns a function that calls the host's."""

    def function(*args, **options):
        return _ask(f"go {module}.{name}", _argument(args, options))

    return _named(function, module, name, text)


def bind_async(module, name, text):
    """Returns a function that calls the host's in a thread, and is awaited meanwhile."""

    async def function(*args, **options):
        argument = _argument(args, options)
        async with slot():
            argument["key"] = call("go.open")
            try:
                return await in_thread(_ask, f"go {module}.{name}", argument)
            finally:
                call("go.cancel", argument["key"])

    return _named(function, module, name, text)


def slot():
    """What an awaited call holds: only so many have a thread."""
    return _slots.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_AT_ONCE))


def in_thread(work, *args, daemon=False):
    """Returns a future of what work returns in a thread, which ends with the program if it is a daemon."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def run():
        try:
            value, settle = work(*args), future.set_result
        except BaseException as e:
            value, settle = e, future.set_exception
        try:
            loop.call_soon_threadsafe(lambda: future.done() or settle(value))
        except RuntimeError:  # the loop was closed: the call has been cancelled
            pass

    threading.Thread(target=run, daemon=daemon).start()
    return future
