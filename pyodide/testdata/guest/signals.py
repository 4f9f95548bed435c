"""Timers and their signals."""
import os, signal, sys, time

came = []
signal.signal(signal.SIGALRM, lambda number, frame: came.append(number))
assert signal.alarm(100) == 0 and signal.alarm(0) == 100 and signal.getitimer(signal.ITIMER_REAL) == (0, 0)

begun = time.monotonic()
signal.setitimer(signal.ITIMER_REAL, 0.02)
time.sleep(0.1)  # a handler does not cut it short
assert came == [signal.SIGALRM] and time.monotonic() - begun >= 0.1

signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
while len(came) < 4:  # while it computes
    pass
left, every = signal.setitimer(signal.ITIMER_REAL, 0)
assert 0 < left <= every == 0.01


class Late(Exception):
    pass


def late(number, frame):
    raise Late


def waits_for_input():
    r, w = os.pipe()
    os.read(r, 1)


signal.signal(signal.SIGVTALRM, late)
for wait in (lambda: time.sleep(60), signal.pause, waits_for_input, lambda: signal.sigwait([signal.SIGUSR1]), lambda: [None for _ in iter(int, 1)]):
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
        print(wait())
    except Late:
        pass

signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)  # the handler may get the first ones
assert signal.sigtimedwait([signal.SIGALRM], 60).si_signo == signal.SIGALRM
signal.setitimer(signal.ITIMER_REAL, 0)
while signal.sigtimedwait([signal.SIGALRM], 0.01):  # a last one may have been on its way
    pass
for bad in (lambda: signal.setitimer(9, 1), lambda: signal.setitimer(0, -1)):
    try:
        print(bad())
    except signal.ItimerError:
        pass

# Signals held back.
both = {signal.SIGUSR1, signal.SIGTERM}
assert signal.pthread_sigmask(signal.SIG_BLOCK, both) == set()
assert signal.pthread_sigmask(signal.SIG_BLOCK, []) == both
for n in both:
    os.kill(os.getpid(), n)
assert signal.sigpending() == both
assert signal.sigwait(both) is signal.SIGUSR1 and signal.sigwait([signal.SIGTERM]) is signal.SIGTERM
assert signal.sigpending() == set() and signal.sigtimedwait(both, 0.01) is None
assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
assert signal.signal(signal.SIGTERM, lambda n, frame: came.append("held")) == signal.SIG_DFL
signal.raise_signal(signal.SIGTERM)
assert came[-1] != "held" and signal.sigpending() == {signal.SIGTERM}
assert signal.pthread_sigmask(signal.SIG_SETMASK, []) == both
assert came[-1] == "held" and not signal.sigpending()
signal.signal(signal.SIGABRT, lambda n, frame: came.append("abort"))
signal.raise_signal(signal.SIGABRT)
assert came[-1] == "abort"

assert signal.signal(signal.SIGALRM, signal.SIG_DFL) is not signal.SIG_DFL
assert signal.getsignal(signal.SIGALRM) == signal.SIG_DFL
print("ok", flush=True)
signal.alarm(1)
time.sleep(60)
print("alive")
