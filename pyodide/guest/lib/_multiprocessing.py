"""Semaphores of multiprocessing, which processes share by name: a FIFO with a byte
for each unit that is there."""

import fcntl
import os
import select
import termios
import threading
import time

_DIRECTORY = "/dev/shm"
RECURSIVE_MUTEX, SEMAPHORE = range(2)
flags = {}


def _path(name):
    return f"{_DIRECTORY}/sem.{name.lstrip('/')}"


def sem_unlink(name):
    os.unlink(_path(name))


class SemLock:
    """A semaphore or a mutex that its owner may take again."""

    SEM_VALUE_MAX = 32767  # less than a FIFO holds

    def __init__(self, kind, value, maxvalue, name, unlink):
        if kind not in (RECURSIVE_MUTEX, SEMAPHORE):
            raise ValueError("unrecognized kind")
        if not 0 <= value <= self.SEM_VALUE_MAX:
            raise ValueError("the value of a semaphore is at most SEM_VALUE_MAX")
        os.makedirs(_DIRECTORY, exist_ok=True)
        os.mkfifo(_path(name), 0o600)
        self._open(kind, maxvalue, name)
        if value:
            os.write(self.handle, bytes(value))
        if unlink:
            sem_unlink(name)

    def _open(self, kind, maxvalue, name):
        self.kind, self.maxvalue, self.name = kind, maxvalue, name
        self._held, self._owner = 0, None
        self.handle = os.open(_path(name), os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)

    @classmethod
    def _rebuild(cls, handle, kind, maxvalue, name):
        self = cls.__new__(cls)
        self._open(kind, maxvalue, name)
        return self

    def __del__(self):
        try:
            os.close(self.handle)
        except (AttributeError, OSError, TypeError):
            pass  # it was never opened, or the interpreter ends

    def acquire(self, block=True, timeout=None):
        if self.kind == RECURSIVE_MUTEX and self._is_mine():
            self._held += 1
            return True
        end = None if timeout is None else time.monotonic() + max(timeout, 0)
        while True:
            try:
                os.read(self.handle, 1)
                break
            except BlockingIOError:
                if not block:
                    return False
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return False
            ready = select.poll()
            ready.register(self.handle, select.POLLIN)
            ready.poll(None if left is None else left * 1000)
        self._held += 1
        self._owner = threading.get_ident()
        return True

    def release(self):
        if self.kind == RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self._get_value() >= self.maxvalue:
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        os.write(self.handle, b"\0")

    def __enter__(self):
        self.acquire()
        return True

    def __exit__(self, *_):
        self.release()

    def _count(self):
        return self._held

    def _get_value(self):
        return int.from_bytes(fcntl.ioctl(self.handle, termios.FIONREAD, bytes(4)), "little")

    def _is_zero(self):
        return self._get_value() == 0

    def _is_mine(self):
        return self._held > 0 and self._owner == threading.get_ident()

    def _after_fork(self):
        self._held = 0
