"""What this build lacks of os, fcntl, time and threading: module _coderunner_posix, made
at boot. Its functions are Linux's as far as one process without users can have
them. Questions about the machine have answers that say nothing of the host but
its number of processors."""

import _thread
import errno
import fcntl
import itertools
import os
import posix
import sys
import threading
import time

from _coderunner import call
from _coderunner_renew import set_zone

_AT_FDCWD = -100
_AT_SYMLINK_FOLLOW = 0x400


def add(module, *functions):
    """Puts functions into a standard module, as if they had always been there."""
    for f in functions:
        f.__module__ = module.__name__
        f.__name__ = f.__qualname__ = f.__name__.removeprefix("_")
        setattr(module, f.__name__, f)
        if module is os:
            setattr(posix, f.__name__, f)
            if f.__name__ not in os.__all__:
                os.__all__.append(f.__name__)


def encoded(path):
    """A path's bytes, one character each."""
    path = os.fsencode(path)
    if b"\0" in path:
        raise ValueError("embedded null byte")
    return path.decode("latin-1")


def check(number, *names):
    if number:
        raise OSError(number, os.strerror(number), *names)


# ---- os: files


def link(src, dst, *, src_dir_fd=None, dst_dir_fd=None, follow_symlinks=False):
    check(call("link", {
        "old_dir": _AT_FDCWD if src_dir_fd is None else src_dir_fd, "old": encoded(src),
        "new_dir": _AT_FDCWD if dst_dir_fd is None else dst_dir_fd, "new": encoded(dst),
        "flags": _AT_SYMLINK_FOLLOW if follow_symlinks else 0,
    }), src, None, dst)  # fmt: skip


def mknod(path, mode=0o600, device=0, *, dir_fd=None):
    check(call("mknod", {"dir": _AT_FDCWD if dir_fd is None else dir_fd, "path": encoded(path), "mode": mode}), path)


def mkfifo(path, mode=0o666, *, dir_fd=None):
    mknod(path, mode & 0o7777 | 0o010000, dir_fd=dir_fd)


def lchown(path, uid, gid):
    os.chown(path, uid, gid, follow_symlinks=False)


def posix_fallocate(fd, offset, length, /):
    if offset < 0 or length <= 0:
        check(errno.EINVAL)
    if os.fstat(fd).st_size < offset + length:
        os.ftruncate(fd, offset + length)


def set_inheritable(fd, inheritable, /):
    """By fcntl: the C library's ioctl(FIONCLEX) does nothing."""
    flags = fcntl.fcntl(fd, fcntl.F_GETFD)
    fcntl.fcntl(fd, fcntl.F_SETFD, flags & ~fcntl.FD_CLOEXEC if inheritable else flags | fcntl.FD_CLOEXEC)


def pipe2(flags, /):
    if flags & ~(os.O_NONBLOCK | os.O_CLOEXEC):
        check(errno.EINVAL)
    ends = os.pipe()
    for fd in ends:
        set_inheritable(fd, not flags & os.O_CLOEXEC)
        os.set_blocking(fd, not flags & os.O_NONBLOCK)
    return ends


def memfd_create(name, flags=1):
    os.fsencode(name)
    return os.open("/tmp", os.O_RDWR | os.O_TMPFILE | os.O_CLOEXEC, 0o700)


def preadv(fd, buffers, offset, flags=0, /):
    done = 0
    for buffer in buffers:
        with memoryview(buffer).cast("B") as view:
            data = os.pread(fd, len(view), offset + done)
            view[: len(data)] = data
            done += len(data)
            if len(data) < len(view):
                break
    return done


def pwritev(fd, buffers, offset, flags=0, /):
    return os.pwrite(fd, b"".join(buffers), offset)


def _pump(count, read, write):
    """Copies up to count bytes, a piece at a time, and returns how many."""
    done = 0
    while done < count:
        data = read(min(count - done, 1 << 20), done)
        n = write(data, done) if data else 0
        done += n
        if not data or n < len(data):
            break
    return done


def sendfile(out_fd, in_fd, offset, count):
    return copy_file_range(in_fd, out_fd, count, offset)


def copy_file_range(src, dst, count, offset_src=None, offset_dst=None):
    if count < 0:
        raise ValueError("negative value for 'count' not allowed")

    def read(n, done):
        return os.read(src, n) if offset_src is None else os.pread(src, n, offset_src + done)

    def write(data, done):
        return os.write(dst, data) if offset_dst is None else os.pwrite(dst, data, offset_dst + done)

    return _pump(count, read, write)


def listxattr(path=None, *, follow_symlinks=True):
    os.fstat(path) if isinstance(path, int) else os.stat(path or ".", follow_symlinks=follow_symlinks)
    return []


def getxattr(path, attribute, *, follow_symlinks=True):
    listxattr(path, follow_symlinks=follow_symlinks)
    check(errno.ENODATA, path)


def setxattr(path, attribute, value, flags=0, *, follow_symlinks=True):
    listxattr(path, follow_symlinks=follow_symlinks)
    check(errno.ENOTSUP, path)


def removexattr(path, attribute, *, follow_symlinks=True):
    getxattr(path, attribute, follow_symlinks=follow_symlinks)


# ---- fcntl: the C library's flock does nothing


def flock(fd, operation, /):
    number = fd if isinstance(fd, int) else fd.fileno()
    os.fstat(number)  # one that is closed may be the call's own
    how = operation & ~fcntl.LOCK_NB
    if how not in (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN):
        check(errno.EINVAL)
    lock = {"fd": number, "exclusive": how == fcntl.LOCK_EX, "nonblock": how != operation, "unlock": how == fcntl.LOCK_UN}
    while (e := call("flock", lock)) == errno.EINTR:
        pass
    check(e)


# ---- os: the one user and the one processor


def geteuid():
    return 0


def getegid():
    return 0


def getgroups():
    return [0]


def getgrouplist(user, group, /):
    return [group]


def getresuid():
    return 0, 0, 0


def getresgid():
    return 0, 0, 0


def getlogin():
    return "root"


def uname():
    return posix.uname_result(("Linux", "localhost", "6.1.0", "#1 SMP", "wasm32"))  # as internal/machine/kernel has it


def getloadavg():
    return 0.0, 0.0, 0.0


def getrandom(size, flags=0):
    return os.urandom(size)


def nice(increment, /):
    return 0


def _own(pid):
    if pid not in (0, os.getpid()):
        check(errno.ESRCH)


# Their number is the host's answer each time: a snapshot may be used elsewhere.


def cpu_count():
    return _wanted() or call("processors")


def process_cpu_count():
    return _wanted() or len(sched_getaffinity(0))


def _wanted():
    """The number that the user of a command line asked for, as CPython has it."""
    text = sys._xoptions.get("cpu_count") or os.environ.get("PYTHON_CPU_COUNT", "")
    return int(text) if str(text).isdecimal() else 0


_chosen = None  # of sched_setaffinity


def sched_getaffinity(pid, /):
    _own(pid)
    return set(range(call("processors")) if _chosen is None else _chosen)


def sched_setaffinity(pid, mask, /):
    global _chosen
    _own(pid)
    mask = set(mask)
    if mask and min(mask) < 0:
        raise ValueError("negative CPU number")
    if mask and max(mask) > 0x7FFFFFFF:
        raise OverflowError("CPU number too large")
    mask &= set(range(call("processors")))
    if not mask:
        check(errno.EINVAL)
    _chosen = mask


_sysconf = os.sysconf


def sysconf(name, /):
    if name in _PROCESSORS:
        return call("processors")
    return _sysconf(name)


_PROCESSORS = [f(n) for n in ("SC_NPROCESSORS_CONF", "SC_NPROCESSORS_ONLN") for f in (str, os.sysconf_names.get)]


def sched_getscheduler(pid, /):
    _own(pid)
    return os.SCHED_OTHER


# ---- time

_sleep = time.sleep


def sleep(seconds, /):
    """As PEP 475 says: a signal does not end it. The C library's would."""
    begin = time.monotonic()
    _sleep(seconds)
    while (left := begin + seconds - time.monotonic()) > 0:
        _sleep(left)


def tzset():
    call("tzset", os.environ.get("TZ"))
    set_zone()


def thread_time():
    return time.process_time()


def thread_time_ns():
    return time.process_time_ns()


add(
    os, link, mknod, mkfifo, lchown, posix_fallocate, set_inheritable, pipe2, memfd_create, preadv, pwritev, sendfile,
    copy_file_range, listxattr, getxattr, setxattr, removexattr, geteuid, getegid, getgroups, getgrouplist, getresuid,
    getresgid, getlogin, uname, getloadavg, getrandom, nice, cpu_count, process_cpu_count, sched_getaffinity,
    sched_setaffinity, sched_getscheduler, sysconf,
)  # fmt: skip
add(fcntl, flock)
add(time, sleep, tzset, thread_time, thread_time_ns)
os.MFD_CLOEXEC, os.MFD_ALLOW_SEALING, os.XATTR_CREATE, os.XATTR_REPLACE, os.XATTR_SIZE_MAX = 1, 2, 1, 2, 65536
os.GRND_NONBLOCK, os.GRND_RANDOM = 1, 2
os.supports_dir_fd |= {link, mknod, mkfifo}
os.supports_follow_symlinks |= {link, listxattr, getxattr, setxattr, removexattr}
os.supports_fd |= {listxattr, getxattr, setxattr, removexattr}


# ---- threading and sys


class _Numbers(threading.local):
    """A thread's number: CPython's own, an address, is used again."""

    number = None


_numbers, _count = _Numbers(), itertools.count(1)


def get_native_id():
    if threading.get_ident() == threading.main_thread().ident:
        return os.getpid()
    if _numbers.number is None:
        _numbers.number = os.getpid() << 16 | next(_count)
    return _numbers.number


def _set_native_id(self):
    self._native_id = get_native_id()


add(threading, get_native_id)
_thread.get_native_id = get_native_id
threading.__all__.append("get_native_id")
threading._HAVE_THREAD_NATIVE_ID = True  # threads call what follows
threading.Thread._set_native_id = _set_native_id
threading.Thread.native_id = property(lambda self: os.getpid() if self is threading.main_thread() else self._native_id)

# Programs that ask want to know whether threads can be started.
_info = sys._emscripten_info
sys._emscripten_info = type(_info)((*_info[:2], True, *_info[3:]))
