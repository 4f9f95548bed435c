"""What this build lacks of signal, the timers first of all: module
_coderunner_signals, made at boot. The host has the clock."""

import _thread
import errno
import os
import signal
import sys
import time

from _coderunner import call
from _coderunner_posix import add

_TIMERS = {signal.ITIMER_REAL: signal.SIGALRM, signal.ITIMER_VIRTUAL: signal.SIGVTALRM, signal.ITIMER_PROF: signal.SIGPROF}
_handle, handler_of = signal.signal, signal.getsignal
_raise = signal.raise_signal
_NAMED = {n: n for n in signal.Signals}
_armed = set()  # signals of timers that were ever set
_blocked = {}  # the handlers of signals that pthread_sigmask holds back, in all threads
_pending = set()  # of those, the ones that came
_waiters = []  # locks of threads that wait for one


def _end(number, frame):
    """The default action of a timer's signal: C ignores one without a handler."""
    print(signal.strsignal(number), file=sys.stderr)
    os._exit(128 + number)


def getsignal(signalnum):
    if signalnum in _blocked:
        return _blocked[signalnum]
    handler = handler_of(signalnum)
    return signal.SIG_DFL if handler is _end else handler


def _signal(signalnum, handler):
    if signalnum in (signal.SIGKILL, signal.SIGSTOP):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    before = getsignal(signalnum)
    if signalnum in _blocked:
        if not callable(handler) and handler not in (signal.SIG_DFL, signal.SIG_IGN):
            raise TypeError("signal handler must be signal.SIG_IGN, signal.SIG_DFL, or a callable object")
        _blocked[signalnum] = handler
    else:
        _set(signalnum, handler, before)
    return before


def _set(number, handler, before):
    _handle(number, _end if handler == signal.SIG_DFL and number in _armed else handler)
    action = _action(handler)
    if action != _action(before):
        call("signal", {"signal": int(number), "action": action})


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


def raise_signal(signalnum, /):
    if signalnum == signal.SIGABRT and getsignal(signalnum) == signal.SIG_DFL:
        abort()  # C's raise would end the interpreter as a fault of its own does
    _raise(signalnum)


def pthread_kill(thread_id, signalnum, /):
    raise_signal(signalnum)
    call("interrupt", None)  # the main thread, which handles signals, may wait for something


def pthread_sigmask(how, mask, /):
    """Holds signals back, in all threads: they come to a handler, or to sigwait."""
    mask, before = _numbers(mask), set(_blocked)
    wanted = {signal.SIG_BLOCK: before | mask, signal.SIG_UNBLOCK: before - mask, signal.SIG_SETMASK: mask}.get(how)
    if wanted is None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    wanted -= {signal.SIGKILL, signal.SIGSTOP}
    for n in wanted - before:
        handler = getsignal(n)
        _set(n, _hold, handler)
        _blocked[n] = handler
    for n in before - wanted:
        handler = _blocked.pop(n)
        _set(n, handler, _hold)
        if n in _pending:
            _pending.discard(n)
            os.kill(os.getpid(), n)
    return before


def _numbers(sigset):
    """The signals of a set, by their names where they have one."""
    for n in (sigset := set(sigset)):
        if not 0 < n <= 64:
            raise ValueError(f"signal number {n} out of range [1; 64]")
    return {_NAMED.get(n, n) for n in sigset}


def _hold(number, frame):
    _pending.add(_NAMED.get(number, number))
    for lock in _waiters:
        if lock.locked():
            lock.release()


def sigpending():
    return set(_pending)


def sigtimedwait(sigset, timeout, /):
    if timeout < 0:
        raise ValueError("timeout must be non-negative")
    return _wait(sigset, time.monotonic() + timeout)


def sigwaitinfo(sigset, /):
    return _wait(sigset, float("inf"))


def sigwait(sigset, /):
    number = _wait(sigset, float("inf")).si_signo
    return _NAMED.get(number, number)


def _wait(sigset, end):
    """Waits for one of the signals, whose handlers are not called meanwhile."""
    sigset = _numbers(sigset)
    before = {n: getsignal(n) for n in sigset if n not in _blocked}
    for n, handler in before.items():
        _set(n, _hold, handler)
    lock = _thread.allocate_lock()
    _waiters.append(lock)
    try:
        while not (came := sigset & _pending) and (left := min(end - time.monotonic(), 3600)) > 0:
            if _thread.get_ident() == _thread._get_main_thread_ident():
                call("pause", left)
            elif not lock.locked() or not lock.acquire(timeout=left):
                lock.acquire(blocking=False)
    finally:
        _waiters.remove(lock)
        for n, handler in before.items():
            _set(n, handler, _hold)
        _pending.difference_update(before)  # nothing holds them any longer
    if not came:
        return None
    _pending.discard(number := min(came))
    return signal.struct_siginfo((number, 0, 0, os.getpid(), 0, 0, 0))


def abort():
    """os.abort: C's would end the interpreter as a fault of its own does. A thread
    may not set handlers, the host may."""
    call("signal", {"signal": int(signal.SIGABRT), "action": "default"})
    os.kill(os.getpid(), signal.SIGABRT)


add(os, abort)
add(
    signal, _signal, getsignal, setitimer, getitimer, alarm, pause, raise_signal, pthread_kill, pthread_sigmask,
    sigpending, sigtimedwait, sigwaitinfo, sigwait
)  # fmt: skip
