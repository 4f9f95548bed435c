"""Builds a wheel of an sdist with its own build backend (PEP 517), in this
process: the program of an interpreter that is used for nothing else and in
which nothing but the sdist is worth anything.

Its arguments are the sdist and the directory for the wheel. Exit code 2 means
that the sdist cannot be built; the last line of stderr is the reason.
"""

import importlib
import os
import shutil
import sys
import tomllib
import traceback

import _coderunner
import _coderunner_renew

_DEFAULT = {"requires": ["setuptools", "wheel"], "build-backend": "setuptools.build_meta:__legacy__"}
# Backends for code in other languages.
_COMPILING = {"maturin", "mesonpy", "scikit_build_core", "skbuild", "setuptools_rust", "sipbuild", "py_build_cmake"}
_COMPILER = ("compile", "does not support processes", "gcc", "cc1", "emcc", "C++", "cmake", "rustc", "pkg-config")


class Refused(Exception):
    pass


def require(names):
    """Has requirements of the build installed, as wheels."""
    if not names:
        return
    # pkg_resources, which old setup.py files import, left in 82.
    old = [n for n in names if n.replace(" ", "").lower().startswith("setuptools")]
    if old and not any("<" in n or "==" in n or "~" in n for n in old):
        names = [*names, "setuptools<82"]
    try:
        _coderunner.call("build.require", names)
    except RuntimeError as e:
        raise Refused(f"what its build needs cannot be installed: {e}") from None
    _coderunner_renew.look_again()


def unpack(sdist):
    shutil.unpack_archive(sdist, "source", **({"filter": "data"} if ".t" in sdist else {}))
    inside = [os.path.join("source", n) for n in os.listdir("source")]
    if len(inside) != 1 or not os.path.isdir(inside[0]):
        raise Refused("it does not have one directory")
    os.chdir(inside[0])


def backend():
    system = _DEFAULT
    if os.path.exists("pyproject.toml"):
        with open("pyproject.toml", "rb") as f:
            system = {**_DEFAULT, **tomllib.load(f).get("build-system", {})}
    elif not os.path.exists("setup.py"):
        raise Refused("it has neither pyproject.toml nor setup.py")
    name, _, attribute = system["build-backend"].partition(":")
    if name.partition(".")[0] in _COMPILING:
        raise Refused(f"its build ({name}) wants a compiler, which is not here")
    require(system["requires"])
    sys.path[:0] = [os.path.abspath(p) for p in system.get("backend-path", ())]
    found = importlib.import_module(name)
    for part in filter(None, attribute.split(".")):
        found = getattr(found, part)
    return found


def reason(e):
    """Why a build failed, in one line."""
    if isinstance(e, Refused):
        return str(e)
    said = []
    while e is not None and len(said) < 20:
        said.append(f"{type(e).__name__}: {e}")
        e = e.__cause__ or e.__context__
    if any(word in text for text in said for word in _COMPILER):
        return "its build wants a compiler, which is not here"
    return "its build fails: " + " ".join(said[0].split())[:300]


def main(sdist, out):
    os.environ["SOURCE_DATE_EPOCH"] = "315532800"  # the earliest time that a zip file can have
    sys.argv = ["setup.py"]
    os.mkdir(out)  # flit-core expects it
    unpack(sdist)
    build = backend()
    require(getattr(build, "get_requires_for_build_wheel", list)())
    build.build_wheel(out)


try:
    main(*map(os.path.abspath, sys.argv[1:]))
except BaseException as e:
    if isinstance(e, (KeyboardInterrupt, MemoryError)):
        raise
    traceback.print_exc()
    print(reason(e), file=sys.__stderr__)
    os._exit(2)
