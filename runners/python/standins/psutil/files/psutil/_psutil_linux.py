"""Stands for psutil's extension module: what its Python code cannot read in /proc."""

import errno
import importlib.metadata
import os
import resource
import socket

open("/proc/stat").close()  # psutil remembers for ever that it was not there: no snapshot is made of it

version = int(importlib.metadata.version("psutil").replace(".", ""))  # as the extension module has it

for _name in dir(resource):
    if _name.startswith("RLIM"):
        globals()[_name] = getattr(resource, _name)

DUPLEX_HALF, DUPLEX_FULL, DUPLEX_UNKNOWN = 0, 1, 255
getpagesize = resource.getpagesize


def check_pid_range(pid):
    if pid > 0x7FFFFFFF:
        raise OverflowError("signed integer is greater than maximum")


def set_debug(value):
    pass


def users():
    return []


def disk_partitions(path):
    with open(path) as f:
        return [tuple(line.split()[:4]) for line in f]


def _loopback(name):
    if name != "lo":
        raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))


def net_if_addrs():
    return [("lo", int(socket.AF_INET), "127.0.0.1", "255.0.0.0", None, None)]


def net_if_mtu(name):
    _loopback(name)
    return 65536


def net_if_flags(name):
    _loopback(name)
    return ["up", "loopback", "running"]


def net_if_duplex_speed(name):
    _loopback(name)
    return DUPLEX_UNKNOWN, 0


def _exists(pid):
    os.kill(pid, 0)


def proc_priority_get(pid):
    _exists(pid)
    return 0


def proc_priority_set(pid, value):
    _exists(pid)


def proc_cpu_affinity_get(pid):
    _exists(pid)
    return sorted(os.sched_getaffinity(0))


def proc_cpu_affinity_set(pid, cpus):
    _exists(pid)
    os.sched_setaffinity(0, cpus)
