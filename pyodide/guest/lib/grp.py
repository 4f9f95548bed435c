"""The groups: there is one. See https://docs.python.org/3.14/library/grp.html."""

import collections

struct_group = collections.namedtuple("struct_group", "gr_name gr_passwd gr_gid gr_mem", module="grp")
_root = struct_group("root", "x", 0, [])


def getgrall():
    return [_root]


def getgrnam(name):
    if not isinstance(name, str):
        raise TypeError(f"getgrnam() argument must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null byte")
    if name != _root.gr_name:
        raise KeyError(f"getgrnam(): name not found: {name!r}")
    return _root


def getgrgid(id):
    if not isinstance(id, int):
        raise TypeError(f"gid should be integer, not {type(id).__name__}")
    if id != _root.gr_gid:
        raise KeyError(f"getgrgid(): gid not found: {id}")
    return _root
