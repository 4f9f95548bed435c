"""Greenlets as threads of which one runs at a time, in place of the C code that
switches stacks. A program may have as many unfinished ones as threads."""

import _thread
import contextvars
import sys
import threading

CLOCKS_PER_SEC = 1_000_000
GREENLET_USE_CONTEXT_VARS = GREENLET_USE_GC = GREENLET_USE_TRACING = True
_C_API = None

_current = threading.local()
_absent = object()
_tracer = None


class GreenletExit(BaseException):
    """Ends the greenlet in which it is raised."""


class error(Exception):
    """A switch that cannot be made."""


def getcurrent():
    try:
        return _current.greenlet
    except AttributeError:
        main = _current.greenlet = greenlet.__new__(greenlet)
        main._started = True
        return main


class greenlet:
    GreenletExit = GreenletExit
    error = error
    getcurrent = staticmethod(getcurrent)
    settrace = staticmethod(lambda callback: settrace(callback))
    gettrace = staticmethod(lambda: gettrace())

    gr_frame = None
    dead = False
    _started = False
    _context = None  # given: variables are carried from and to who switches
    _parent = None

    def __new__(cls, *args, **kwargs):
        self = super().__new__(cls)
        self._wake = _thread.allocate_lock()
        self._wake.acquire()
        self._root = self
        return self

    def __init__(self, run=None, parent=None):
        if run is not None:
            self.run = run
        self.parent = getcurrent() if parent is None else parent

    @property
    def parent(self):
        return self._parent

    @parent.setter
    def parent(self, value):
        if not isinstance(value, greenlet):
            raise TypeError(f"GreenletParent: Expected parent to be a greenlet, not {type(value).__name__}")
        above = value
        while above is not None:
            if above is self:
                raise ValueError("cyclic parent chain")
            above = above._parent
        self._parent, self._root = value, value._root

    @property
    def gr_context(self):
        return contextvars.copy_context() if self is getcurrent() else self._context

    @gr_context.setter
    def gr_context(self, value):
        if value is not None and not isinstance(value, contextvars.Context):
            raise TypeError("greenlet context must be a contextvars.Context or None")
        self._context = value

    def __bool__(self):
        return self._started and not self.dead

    def switch(self, *args, **kwargs):
        return self._switch(None, args, kwargs)

    def throw(self, typ=GreenletExit, val=None, tb=None):
        if isinstance(typ, BaseException):
            val = typ
        elif not isinstance(val, BaseException):
            val = typ() if val is None else typ(val)
        return self._switch(val if tb is None else val.with_traceback(tb), (), {})

    def _switch(self, exception, args, kwargs):
        me, target = getcurrent(), self
        if target._root is not me._root:
            raise error("Cannot switch to a different thread")
        while not target:
            if not target.dead:
                if exception is None:
                    break
                target.dead = target._started = True  # it never runs
            if isinstance(exception, GreenletExit):
                exception, args = None, (exception,)
            target = target._parent
        if _tracer is not None:
            _tracer("switch" if exception is None else "throw", (me, target))
        if target is me:
            return _value(exception, args, kwargs)
        carried = me._leave()
        target._given = exception, args, kwargs, carried
        if target._started:
            target._wake.release()
        else:
            target._started = True
            try:
                _thread.start_new_thread(target._main, ())
            except BaseException:
                target._started = False
                me._enter(carried)
                raise
        me._wake.acquire()
        return me._take()

    def _take(self):
        (exception, args, kwargs, carried), self._given = self._given, None
        self._enter(carried)
        return _value(exception, args, kwargs)

    def _main(self):
        _current.greenlet = self
        exception, result = None, ()
        try:
            (_, args, kwargs, carried), self._given = self._given, None
            self._enter(carried)
            run = self.run
            self.__dict__.pop("run", None)
            result = (run(*args, **kwargs),)
        except GreenletExit as e:
            result = (e,)
        except BaseException as e:
            exception = e
        self.dead = True
        target = self._parent
        while target.dead:
            target = target._parent
        if _tracer is not None:
            _tracer("switch" if exception is None else "throw", (self, target))
        target._given = exception, result, {}, self._leave()
        target._wake.release()

    def _leave(self):
        """Returns what belongs to a thread, not to a greenlet: the event loop, its
        task and the variables."""
        loop = task = None
        if tasks := sys.modules.get("_asyncio"):
            if loop := tasks._get_running_loop():
                task = tasks.current_task(loop)
                if self is not self._root:
                    tasks._swap_current_task(loop, None)
                    tasks._set_running_loop(None)
        return loop, task, self._context is not None, contextvars.copy_context()

    def _enter(self, carried):
        loop, task, share, context = carried
        if loop is not None and self is not self._root:
            tasks = sys.modules["_asyncio"]
            tasks._set_running_loop(loop)
            tasks._swap_current_task(loop, task)
        if share or self._context is not None:
            for variable, value in context.items():
                if variable.get(_absent) is not value:
                    variable.set(value)


def _value(exception, args, kwargs):
    if exception is not None:
        try:
            raise exception
        finally:
            del exception
    if not kwargs:
        return args[0] if len(args) == 1 else args
    return (args, kwargs) if args else kwargs


def settrace(callback):
    global _tracer
    before, _tracer = _tracer, callback
    return before


def gettrace():
    return _tracer


def enable_optional_cleanup(enabled):
    return None


def get_clocks_used_doing_optional_cleanup():
    return 0
