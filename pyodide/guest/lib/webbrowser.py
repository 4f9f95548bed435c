"""Opens nothing: there is no browser. See
https://docs.python.org/3.14/library/webbrowser.html."""

import sys

__all__ = ["Error", "open", "open_new", "open_new_tab", "get", "register"]


class Error(Exception):
    """No browser can be found."""


_browsers = {}  # that the program has registered: a class and an instance


def register(name, klass, instance=None, *, preferred=False):
    _browsers[name.lower()] = klass, instance


def get(using=None):
    for name, (klass, instance) in _browsers.items():
        if using in (None, name):
            return instance or klass()
    raise Error("could not locate runnable browser: there is none here")


def open(url, new=0, autoraise=True):
    if _browsers:
        return get().open(url, new, autoraise)
    print(f"webbrowser: there is no browser here to show {url}", file=sys.stderr)
    return False


def open_new(url):
    return open(url, 1)


def open_new_tab(url):
    return open(url, 2)
