"""Resource usage and limits, as the host sees them. See
https://docs.python.org/3.14/library/resource.html.

The host's own limits of time and memory hold whatever setrlimit is told; what
it is told is remembered.
"""

import collections
import errno
import os

import _coderunner

error = OSError

RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD = 0, -1, 1
RLIM_INFINITY = -1
(
    RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS, RLIMIT_NPROC, RLIMIT_NOFILE,
    RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_LOCKS, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO,
    RLIMIT_RTTIME,
) = range(16)  # fmt: skip
RLIMIT_OFILE = RLIMIT_NOFILE

struct_rusage = collections.namedtuple(
    "struct_rusage",
    "ru_utime ru_stime ru_maxrss ru_ixrss ru_idrss ru_isrss ru_minflt ru_majflt ru_nswap ru_inblock ru_oublock "
    "ru_msgsnd ru_msgrcv ru_nsignals ru_nvcsw ru_nivcsw",
    module="resource",
)
_limits = {}  # that setrlimit has changed


def getrusage(who, /):
    if who not in (RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_THREAD):
        raise ValueError("invalid who parameter")
    usage = _coderunner.call("usage") if who != RUSAGE_CHILDREN else {"cpu": 0.0, "memory": 0}
    return struct_rusage(usage["cpu"], 0.0, usage["memory"] >> 10, *[0] * 13)


def getpagesize():
    return 65536


def _given(resource):
    if resource == RLIMIT_NOFILE:
        return 8192, 8192  # as Config.MaxFiles
    if resource in (RLIMIT_AS, RLIMIT_DATA, RLIMIT_RSS):
        limit = _coderunner.call("usage")["limit"]
        return limit, limit
    if resource in (RLIMIT_CORE, RLIMIT_NPROC):
        return 0, 0
    return RLIM_INFINITY, RLIM_INFINITY


def getrlimit(resource, /):
    if not 0 <= resource < 16:
        raise ValueError("invalid resource specified")
    return _limits.get(resource) or _given(resource)


def setrlimit(resource, limits, /):
    _, most = getrlimit(resource)
    soft, hard = (RLIM_INFINITY if n == RLIM_INFINITY else int(n) for n in limits)
    if hard != RLIM_INFINITY and not soft <= hard or soft == RLIM_INFINITY != hard:
        raise ValueError("current limit exceeds maximum limit")
    if most != RLIM_INFINITY and (hard == RLIM_INFINITY or hard > most):
        raise ValueError("not allowed to raise maximum limit")
    _limits[resource] = soft, hard


def prlimit(pid, resource, limits=None, /):
    if pid not in (0, os.getpid()):
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    before = getrlimit(resource)
    if limits is not None:
        setrlimit(resource, limits)
    return before
