"""What this build lacks of signal, the timers first of all: module
_coderunner_signals, made at boot. The host has the clock."""

import errno
import os
import signal
import sys
import time

from _coderunner import call
from _coderunner_posix import add

_TIMERS = {signal.ITIMER_REAL: signal.SIGALRM, signal.ITIMER_VIRTUAL: signal.SIGVTALRM, signal.ITIMER_PROF: signal.SIGPROF}
_handle, handler_of = signal.signal, signal.getsignal
_armed = set()  # signals of timers that were ever set


def _end(number, frame):
    """The default action of a timer's signal: C ignores one without a handler."""
    print(signal.strsignal(number), file=sys.stderr)
    os._exit(128 + number)


def getsignal(signalnum):
    handler = handler_of(signalnum)
    return signal.SIG_DFL if handler is _end else handler


def _signal(signalnum, handler):
    if signalnum in (signal.SIGKILL, signal.SIGSTOP):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    before = getsignal(signalnum)
    _handle(signalnum, _end if handler == signal.SIG_DFL and signalnum in _armed else handler)
    action = _action(handler)
    if action != _action(before):
        call("signal", {"signal": int(signalnum), "action": action})
    return before


def _action(handler):
    """What the host has to know of a handler: signals of other processes come
    through it."""
    return "handle" if callable(handler) else "ignore" if handler == signal.SIG_IGN else "default"


def setitimer(which, seconds, interval=0.0, /):
    number = _TIMERS.get(which)
    if number is None or seconds < 0 or interval < 0:
        raise signal.ItimerError(errno.EINVAL, os.strerror(errno.EINVAL))
    if number not in _armed:
        _armed.add(number)
        if handler_of(number) == signal.SIG_DFL:
            _handle(number, _end)
    return tuple(call("setitimer", {"which": int(which), "value": float(seconds), "interval": float(interval)}))


def getitimer(which, /):
    if which not in _TIMERS:
        raise signal.ItimerError(errno.EINVAL, os.strerror(errno.EINVAL))
    return tuple(call("getitimer", int(which)))


def alarm(seconds, /):
    left, _ = setitimer(signal.ITIMER_REAL, int(seconds))
    return int(-(-left // 1))


def pause():
    call("pause", 0)


def pthread_kill(thread_id, signalnum, /):
    signal.raise_signal(signalnum)
    call("interrupt", None)  # the main thread, which handles signals, may wait for something


def sigtimedwait(sigset, timeout, /):
    if timeout < 0:
        raise ValueError("timeout must be non-negative")
    return _wait(sigset, time.monotonic() + timeout)


def sigwaitinfo(sigset, /):
    return _wait(sigset, float("inf"))


def sigwait(sigset, /):
    return signal.Signals(_wait(sigset, float("inf")).si_signo)


def _wait(sigset, end):
    """Waits for one of the signals, whose handlers are not called meanwhile."""
    came = []
    before = {n: handler_of(n) for n in sigset}
    for n in before:
        _handle(n, lambda number, frame: came.append(number))
    try:
        while not came and (left := end - time.monotonic()) > 0:
            call("pause", min(left, 3600))
    finally:
        for n, handler in before.items():
            _handle(n, handler)
    return signal.struct_siginfo((came[0], 0, 0, os.getpid(), 0, 0, 0)) if came else None


def abort():
    """os.abort: C's would end the interpreter as a fault of its own does."""
    _signal(signal.SIGABRT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGABRT)


add(os, abort)
add(
    signal, _signal, getsignal, setitimer, getitimer, alarm, pause, pthread_kill, sigtimedwait, sigwaitinfo, sigwait
)  # fmt: skip
