"""dbm.sqlite3: one table of keys and values, as CPython's."""

import os
import sqlite3
from collections.abc import MutableMapping
from urllib.parse import quote

from . import _Error


class error(OSError, _Error):
    pass


_URI = {"r": "ro", "w": "rw", "c": "rwc", "n": "rwc"}


class _Database(MutableMapping):
    def __init__(self, path, flag, mode):
        if flag not in _URI:
            raise ValueError(f"Flag must be one of 'r', 'w', 'c', or 'n', not {flag!r}")
        path = os.path.abspath(os.fsdecode(path))
        if flag == "n":
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass
        if flag in "cn" and not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, mode))
        self._cx = None
        try:
            self._cx = sqlite3.connect(f"file:{quote(path)}?mode={_URI[flag]}", autocommit=True, uri=True)
            if flag != "r":
                self._run("CREATE TABLE IF NOT EXISTS Dict (key BLOB UNIQUE NOT NULL, value BLOB NOT NULL)")
        except sqlite3.Error as e:
            self.close()
            raise error(str(e)) from None

    def _run(self, *statement):
        if self._cx is None:
            raise error("DBM object has already been closed")
        try:
            return self._cx.execute(*statement)
        except sqlite3.Error as e:
            raise error(str(e)) from None

    def __len__(self):
        return self._run("SELECT COUNT(*) FROM Dict").fetchone()[0]

    def __getitem__(self, key):
        row = self._run("SELECT value FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).fetchone()
        if row is None:
            raise KeyError(key)
        return row[0]

    def __setitem__(self, key, value):
        self._run("REPLACE INTO Dict (key, value) VALUES (CAST(? AS BLOB), CAST(? AS BLOB))", (key, value))

    def __delitem__(self, key):
        if not self._run("DELETE FROM Dict WHERE key = CAST(? AS BLOB)", (key,)).rowcount:
            raise KeyError(key)

    def __iter__(self):
        for row in self._run("SELECT key FROM Dict"):
            yield row[0]

    def keys(self):
        return list(super().keys())

    def close(self):
        if self._cx is not None:
            self._cx.close()
            self._cx = None

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def open(filename, /, flag="r", mode=0o666):
    return _Database(filename, flag, mode)
