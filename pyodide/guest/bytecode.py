"""Makes bytecode of the modules that the host names, which are never checked
against their source. Runs in an interpreter of the host's own; nothing of the
modules is run."""

import base64
import importlib.util
import marshal
import warnings

import _coderunner

_UNCHECKED_HASH = (1).to_bytes(4, "little")  # PEP 552: named by hash, never checked


def bytecode(source, filename):
    """The contents of a .pyc file, or None if the source does not compile."""
    try:
        code = compile(source, filename, "exec", dont_inherit=True, optimize=0)
        body = marshal.dumps(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None  # as with compileall: whoever imports it will be told
    return importlib.util.MAGIC_NUMBER + _UNCHECKED_HASH + importlib.util.source_hash(source) + body


def main(job):
    warnings.simplefilter("ignore")
    for name in job["modules"]:
        _coderunner.call("begin")
        with open(f"{job['folder']}/{name}", "rb") as f:
            made = bytecode(f.read(), f"{job['shown']}/{name}")
        if made is not None:
            _coderunner.call("compiled", base64.b64encode(made).decode())


main(_coderunner.call("job"))
