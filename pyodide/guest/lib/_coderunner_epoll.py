"""epoll by poll, for libraries that know nothing else. Readiness is told again each
time: there are no edges (EPOLLET).

https://docs.python.org/3.14/library/select.html#edge-and-level-trigger-polling-epoll-objects
"""

import math
import os
import select

EPOLLIN, EPOLLPRI, EPOLLOUT, EPOLLERR, EPOLLHUP, EPOLLRDHUP = 0x1, 0x2, 0x4, 0x8, 0x10, 0x2000
EPOLLRDNORM, EPOLLRDBAND, EPOLLWRNORM, EPOLLWRBAND, EPOLLMSG = 0x40, 0x80, 0x100, 0x200, 0x400
EPOLLEXCLUSIVE, EPOLLONESHOT, EPOLLET, EPOLL_CLOEXEC = 1 << 28, 1 << 30, 1 << 31, os.O_CLOEXEC

_TOLD = 0x7FF | EPOLLRDHUP  # as poll has them


def _number(fd):
    return fd if isinstance(fd, int) else fd.fileno()


class epoll:
    def __init__(self, sizehint=-1, flags=0):
        self._poll, self._masks = select.poll(), {}
        self._fd = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)

    @property
    def closed(self):
        return self._fd < 0

    def fileno(self):
        if self._fd < 0:
            raise ValueError("I/O operation on closed epoll object")
        return self._fd

    def close(self):
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self):
        self.fileno()
        return self

    def __exit__(self, *_):
        self.close()

    def register(self, fd, eventmask=EPOLLIN | EPOLLPRI | EPOLLOUT):
        self.fileno()
        fd = _number(fd)
        if fd in self._masks:
            raise FileExistsError(17, "File exists")
        self._set(fd, eventmask)

    def modify(self, fd, eventmask):
        fd = _number(fd)
        if fd not in self._masks:
            raise FileNotFoundError(2, "No such file or directory")
        self._set(fd, eventmask)

    def unregister(self, fd):
        fd = _number(fd)
        if self._masks.pop(fd, None) is None:
            raise FileNotFoundError(2, "No such file or directory")
        self._forget(fd)

    def _forget(self, fd):
        try:
            self._poll.unregister(fd)
        except KeyError:
            pass  # it was told of once

    def _set(self, fd, mask):
        self._masks[fd] = mask
        self._poll.register(fd, mask & _TOLD)

    def poll(self, timeout=None, maxevents=-1):
        self.fileno()
        wait = None if timeout is None or timeout < 0 else math.ceil(timeout * 1000)
        ready = []
        for fd, events in self._poll.poll(wait):
            if events & select.POLLNVAL:  # it was closed, which ends its registration
                self._masks.pop(fd, None)
                self._forget(fd)
                continue
            if self._masks.get(fd, 0) & EPOLLONESHOT:
                self._forget(fd)  # until it is modified
            ready.append((fd, events))
            if len(ready) == maxevents:
                break
        return ready
