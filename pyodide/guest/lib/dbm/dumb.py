"""dbm.dumb: a file of values and one of where they are, as CPython's."""

import ast
import os
from collections.abc import MutableMapping
from io import open as _open

error = OSError

_BLOCK = 512


def _bytes(x, what):
    if isinstance(x, str):
        return x.encode()
    if not isinstance(x, (bytes, bytearray)):
        raise TypeError(f"{what} must be bytes or strings")
    return bytes(x)


class _Database(MutableMapping):
    def __init__(self, path, flag, mode):
        if flag not in ("r", "w", "c", "n"):
            raise ValueError(f"Flag must be one of 'r', 'w', 'c', or 'n', not {flag!r}")
        self._index = None
        self._dir, self._dat, self._bak = (os.fsdecode(path) + end for end in (".dir", ".dat", ".bak"))
        self._mode, self._changed, self._fixed = mode, flag == "n", flag == "r"
        if flag == "n" or flag == "c" and not os.path.exists(self._dat):
            for name in (self._dir, self._bak):
                if os.path.exists(name):
                    os.remove(name)
            self._file(self._dat, "wb").close()
        _open(self._dat, "rb").close()
        self._index = {}
        try:
            lines = _open(self._dir, encoding="Latin-1")
        except FileNotFoundError:
            if flag in ("r", "w"):
                raise
            self._changed = True
        else:
            with lines:
                for line in lines:
                    key, where = ast.literal_eval(line.rstrip())
                    self._index[key.encode("Latin-1")] = where

    def _file(self, name, how):
        return _open(name, how, opener=lambda path, flags: os.open(path, flags, self._mode), **({} if "b" in how else {"encoding": "Latin-1"}))

    def _opened(self, change=False):
        if self._index is None:
            raise error("DBM object has already been closed")
        if change and self._fixed:
            raise error("The database is opened for reading only")
        self._changed |= change
        return self._index

    def __len__(self):
        return len(self._opened())

    def __iter__(self):
        return iter(self._opened())

    def keys(self):
        return list(self._opened())

    def items(self):
        return [(key, self[key]) for key in self._opened()]

    def __getitem__(self, key):
        at, size = self._opened()[_bytes(key, "keys")]
        with _open(self._dat, "rb") as f:
            f.seek(at)
            return f.read(size)

    def __setitem__(self, key, value):
        index, key, value = self._opened(True), _bytes(key, "keys"), _bytes(value, "values")
        at, size = index.get(key, (0, -1))
        with _open(self._dat, "rb+") as f:
            if -(-len(value) // _BLOCK) > -(-size // _BLOCK) or size < 0:
                end = f.seek(0, 2)
                at = -(-end // _BLOCK) * _BLOCK
                f.write(bytes(at - end))
            f.seek(at)
            f.write(value)
        index[key] = at, len(value)
        if size < 0:
            with self._file(self._dir, "a") as f:
                f.write(f"{key.decode('Latin-1')!r}, {index[key]!r}\n")

    def __delitem__(self, key):
        del self._opened(True)[_bytes(key, "keys")]
        self.sync()

    def sync(self):
        if not self._changed:
            return
        if os.path.exists(self._dir):
            os.replace(self._dir, self._bak)
        with self._file(self._dir, "w") as f:
            f.writelines(f"{key.decode('Latin-1')!r}, {where!r}\n" for key, where in self._index.items())
        self._changed = False

    def close(self):
        if self._index is not None:
            self.sync()
            self._index = None

    __del__ = close

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.close()


def open(file, flag="c", mode=0o666):
    return _Database(file, flag, mode)
