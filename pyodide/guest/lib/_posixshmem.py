"""Shared memory by name: files in a directory whose mappings are shared."""

import os

_DIRECTORY = "/dev/shm"


def shm_open(path, flags, mode=0o777):
    os.makedirs(_DIRECTORY, exist_ok=True)
    return os.open(f"{_DIRECTORY}/{path.lstrip('/')}", flags | os.O_CLOEXEC | os.O_NOFOLLOW, mode)


def shm_unlink(path):
    os.unlink(f"{_DIRECTORY}/{path.lstrip('/')}")
