"""The users: there is one. See https://docs.python.org/3.14/library/pwd.html."""

import collections

struct_passwd = collections.namedtuple("struct_passwd", "pw_name pw_passwd pw_uid pw_gid pw_gecos pw_dir pw_shell", module="pwd")
_root = struct_passwd("root", "x", 0, 0, "root", "/home/user", "/bin/bash")


def getpwall():
    return [_root]


def getpwnam(name, /):
    if not isinstance(name, str):
        raise TypeError(f"getpwnam() argument must be str, not {type(name).__name__}")
    if "\0" in name:
        raise ValueError("embedded null byte")
    if name != _root.pw_name:
        raise KeyError(f"getpwnam(): name not found: {name!r}")
    return _root


def getpwuid(uid, /):
    if not isinstance(uid, int):
        raise TypeError(f"uid should be integer, not {type(uid).__name__}")
    if uid != _root.pw_uid:
        raise KeyError(f"getpwuid(): uid not found: {uid}")
    return _root
