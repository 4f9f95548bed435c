"""Compiles Python sources to bytecode files that are never checked against
their source. Runs in an interpreter of the host's own, before any program."""

import importlib.util
import marshal
import os
import zipfile

_UNCHECKED_HASH = (1).to_bytes(4, "little")  # PEP 552: by hash, without a check


def compiled(source, filename):
    """The contents of a .pyc file, or None if the source does not compile."""
    try:
        code = compile(source, filename, "exec", dont_inherit=True, optimize=0)
        return (
            importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source) + marshal.dumps(code)
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # as compileall does: importing it will say why


def archive(source, target, progress):
    """Copies a zip of modules, uncompressed, with bytecode next to each."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        entries = [e for e in old.infolist() if not e.is_dir()]
        for done, entry in enumerate(entries):
            if done % 32 == 0:
                progress(done, len(entries))
            data = old.read(entry)
            new.writestr(zipfile.ZipInfo(entry.filename), data)
            if entry.filename.endswith(".py"):
                code = compiled(data, f"{source}/{entry.filename}")
                if code is not None:
                    new.writestr(zipfile.ZipInfo(entry.filename + "c"), code)


def tree(source, target, shown, progress):
    """Writes __pycache__ folders for the modules below source into target.

    shown is where programs will see the tree."""
    import sys

    tag = sys.implementation.cache_tag
    names = []
    for folder, folders, files in os.walk(source):
        folders.sort()
        names += [os.path.join(folder, f) for f in sorted(files) if f.endswith(".py")]
    for done, name in enumerate(names):
        if done % 32 == 0:
            progress(done, len(names))
        relative = os.path.relpath(name, source)
        with open(name, "rb") as f:
            code = compiled(f.read(), f"{shown}/{relative}")
        if code is None:
            continue
        cache = os.path.join(target, os.path.dirname(relative), "__pycache__")
        os.makedirs(cache, exist_ok=True)
        with open(os.path.join(cache, f"{os.path.basename(name)[:-3]}.{tag}.pyc"), "wb") as f:
            f.write(code)
