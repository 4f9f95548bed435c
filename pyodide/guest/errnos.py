"""Linux's numbers of errno: module _coderunner_errnos, the first made at boot.

NUMBERS, which the host puts before this text, has Linux's for each of libc's. An
exception that C code makes of errno has them by rewrite.LinuxErrno, and what the
host answers by abi.Errno; here are the places where Python has a number itself."""

import errno
import gc
import operator
import os
import posix

_OF_C = {linux: number for number, linux in NUMBERS.items()}  # noqa: F821
_strerror = posix.strerror


def linux(number):
    return NUMBERS.get(number, number)  # noqa: F821


def of_c(number):
    return _OF_C.get(number, number)


def strerror(code, /):
    """Translate an error code to a message string."""
    code = operator.index(code)
    text = _strerror(of_c(code))
    return f"Unknown error {code}" if text == "Unknown error" else text  # as glibc's


def _renumber():
    for name, number in list(vars(errno).items()):
        if type(number) is int:
            setattr(errno, name, linux(number))
    for table in [errno.errorcode, *_subclasses()]:
        entries = [(linux(number), entry) for number, entry in table.items()]
        table.clear()
        table.update(entries)
    posix.strerror = os.strerror = strerror


def _subclasses():
    """CPython's table of the classes that OSError(number) makes."""
    missing = next(number for number, name in errno.errorcode.items() if name == "ENOENT")
    found = [d for d in gc.get_objects() if type(d) is dict and d.get(missing) is FileNotFoundError]
    if len(found) != 1:
        raise SystemError(f"{len(found)} tables of OSError's subclasses")
    return found


_renumber()
