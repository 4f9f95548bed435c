"""Makes bytecode of the modules that the host names. Runs in an interpreter of the host's own; nothing of the
modules is run."""

import importlib.util
import marshal
import warnings

import _coderunner

# PEP 552: named by hash, which is never compared or always.
_UNCHECKED, _CHECKED = ((n).to_bytes(4, "little") for n in (0b01, 0b11))


def bytecode(source, filename, flags):
    """The contents of a .pyc file, none if the source does not compile."""
    try:
        code = compile(source, filename, "exec", dont_inherit=True, optimize=0)
        body = marshal.dumps(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return b""  # as with compileall: whoever imports it will be told
    return importlib.util.MAGIC_NUMBER + flags + importlib.util.source_hash(source) + body


def main(job):
    warnings.simplefilter("ignore")
    flags = _CHECKED if job["checked"] else _UNCHECKED
    made = b""
    while name := _coderunner.call("next", None, made):
        with open(f"{job['folder']}/{name}", "rb") as f:
            made = bytecode(f.read(), f"{job['shown']}/{name}", flags)


main(_coderunner.call("job"))
