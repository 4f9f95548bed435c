"""Databases of bytes in a file. See https://docs.python.org/3.14/library/dbm.html.

They are SQLite's, or dbm.dumb's; dbm.gnu and dbm.ndbm are not here.
"""

from io import open as _open
from os import fsdecode as _fsdecode
from os.path import exists as _exists

__all__ = ["open", "whichdb", "error"]


class _Error(Exception):
    pass


error = (_Error, OSError)


def open(file, flag="r", mode=0o666):
    kind = whichdb(file) if "n" not in flag else None
    if kind is None and flag not in ("c", "n"):
        raise _Error(f"db file doesn't exist; use 'c' or 'n' flag to create a new db: {file!r}")
    if kind == "":
        raise _Error(f"db type could not be determined: {file!r}")
    if kind == "dbm.dumb":
        from . import dumb

        return dumb.open(file, flag, mode)
    from . import sqlite3

    return sqlite3.open(file, flag, mode)


def whichdb(filename):
    """The module that can open a file: None if there is no such file, "" if none is known."""
    try:
        with _open(filename, "rb") as f:
            start = f.read(16)
    except OSError:
        return "dbm.dumb" if all(_exists(_fsdecode(filename) + end) for end in (".dat", ".dir")) else None
    return "dbm.sqlite3" if start in (b"", b"SQLite format 3\0") else ""
