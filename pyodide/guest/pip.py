"""pip as programs call it, by a command or as a module: module _coderunner_pip.

What a program's text installs was installed before it began (analyze.py finds it
with the same functions), so most calls have nothing left to do.
"""

import importlib.machinery
import os
import sys

import _coderunner_adapt

_PIPS = frozenset(("pip", "pip3", "conda", "mamba"))
_BEFORE = frozenset(("sudo", "uv", "-m", "-q", "-y"))
_VALUED = frozenset(
    "-r --requirement -c --constraint -e --editable -t --target -i --index-url --extra-index-url -f --find-links "
    "--prefix --root --src --platform --python-version --abi --implementation --timeout --retries --proxy --cert "
    "--trusted-host --cache-dir --log --upgrade-strategy --progress-bar --only-binary --no-binary --channel -n --name "
    "-p --python".split()
)


# ---- commands


def split(text):
    """The words of a command line."""
    import shlex

    try:
        return shlex.split(text, comments=True)
    except ValueError:
        return text.split()


def requirements(words):
    """The requirements of a command that is pip's install; [] for others of pip
    that change nothing here, None for all other commands."""
    at = next((i for i, w in enumerate(words) if _is_pip(w)), None)
    if at is None or at > 0 and words[at - 1] != "-m" and not _BEFORE.issuperset(words[:at]):
        return None
    words = list(words[at + 1 :])
    while words and words[0].startswith("-"):
        words.pop(0)
    if words[:1] == ["uninstall"]:
        return []
    if words[:1] != ["install"]:
        return None
    found, skip = [], False
    for word in words[1:]:
        if skip or word.startswith("-"):
            skip = not skip and word in _VALUED
        elif word[:1] in "&|;>" or word[:2] == "2>":
            break
        elif word[0].isalnum() and "/" not in word and word.partition("=")[0] != "python":
            name, one, version = word.partition("=")
            exact = one and version and name.replace("-", "").replace("_", "").isalnum() and version[0].isdigit()
            found.append(f"{name}=={version}" if exact else word)  # conda's way to write it
    return found


def _is_pip(word):
    name = word.rpartition("/")[2]
    return name in _PIPS or name[:4] == "pip3" and name[4:5] == "."


def commands(text):
    """The words of each command of a line for a shell."""
    words = [[]]
    for word in split(text.replace("&&", " && ").replace(";", " ; ")):
        if word in ("&&", ";"):
            words.append([])
        else:
            words[-1].append(word)
    return [w for w in words if w] or [[]]


def _finished(args):
    """(exit code, output, error) of a command line that is pip's, else None."""
    try:
        one = isinstance(args, (str, bytes, os.PathLike))
        lines = commands(os.fsdecode(args)) if one else [[os.fsdecode(a) for a in args]]
    except TypeError:
        return None
    found = [requirements(words) for words in lines]
    if not found or None in found:
        return None
    wanted = [r for some in found for r in some]
    if not wanted:
        return 0, "", ""
    import _coderunner
    import _coderunner_renew

    try:
        _coderunner.call("micropip.install", {"requirements": wanted, "deps": True})
    except RuntimeError as e:
        return 1, "", f"ERROR: {e}\n"
    _coderunner_renew.look_again()
    return 0, "".join(f"Requirement already satisfied: {r}\n" for r in wanted), ""


def _run(args):
    """The exit code of a command line, None if it is not pip's."""
    done = _finished(args)
    if done is None:
        return None
    sys.stderr.write(done[2])
    return done[0]


# ---- where they are called


def _subprocess(module):
    import io

    _coderunner_adapt._subprocess(module)
    class Popen(module.Popen):
        _done = None

        def __init__(self, args, bufsize=-1, executable=None, stdin=None, stdout=None, stderr=None, *rest, **kwargs):
            self._done = _finished(args)
            if self._done is None:
                super().__init__(args, bufsize, executable, stdin, stdout, stderr, *rest, **kwargs)
                return
            code, out, err = self._done
            if stderr == module.STDOUT:
                out, err = out + err, ""
            self.args, self.pid, self.returncode = args, os.getpid() + 1, code
            as_text = any(kwargs.get(k) for k in ("text", "universal_newlines", "encoding", "errors"))
            stream = io.StringIO if as_text else lambda text: io.BytesIO(text.encode())
            self.stdin = stream("") if stdin == module.PIPE else None
            self.stdout = stream(out) if stdout == module.PIPE else None
            self.stderr = stream(err) if stderr == module.PIPE else None
            if stderr is None:
                sys.stderr.write(err)

        def communicate(self, input=None, timeout=None):
            if self._done is None:
                return super().communicate(input, timeout)
            return tuple(s.read() if s else None for s in (self.stdout, self.stderr))

    Popen.__module__, Popen.__qualname__ = module.__name__, "Popen"
    module.Popen = Popen


_coderunner_adapt._CHANGES["subprocess"] = _subprocess


class _Finder:
    """Finds pip, unless a package of that name is installed."""

    def find_spec(self, name, path=None, target=None):
        if name in ("pip", "pip._internal", "pip._internal.cli", "pip._internal.cli.main", "pip._internal.main"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.main = _main


def _main(args=None):
    args = list(sys.argv[1:] if args is None else args)
    code = _run(["pip", *args])
    if code is not None:
        return code
    command = next((a for a in args if not a.startswith("-") or a in ("-V", "--version")), "")
    show = _SHOWN.get(command)
    if show is None:
        sys.stderr.write(f"ERROR: pip {command} is not here: there are install, uninstall, list, freeze, show and --version\n")
        return 1
    return show([a for a in args if a != command and not a.startswith("-")])


def _installed():
    import importlib.metadata

    return sorted({(d.name, d.version) for d in importlib.metadata.distributions()}, key=lambda d: d[0].lower())


def _list(_):
    rows = [("Package", "Version"), *_installed()]
    wide = [max(len(r[i]) for r in rows) for i in (0, 1)]
    rows.insert(1, ("-" * wide[0], "-" * wide[1]))
    print("\n".join(f"{name:{wide[0]}} {version}" for name, version in rows))
    return 0


def _freeze(_):
    for name, version in _installed():
        print(f"{name}=={version}")
    return 0


def _show(names):
    import importlib.metadata

    code, shown = 1, False
    for name in names:
        try:
            d = importlib.metadata.metadata(name)
        except importlib.metadata.PackageNotFoundError:
            sys.stderr.write(f"WARNING: Package(s) not found: {name}\n")
            continue
        print("---\n" * shown + "\n".join(f"{k}: {d.get(k) or ''}" for k in ("Name", "Version", "Summary", "Home-page", "Author", "License")))
        code, shown = 0, True
    return code


def _version(_):
    print(f"pip (of the sandbox) from {_LIBRARIES} (python {sys.version_info[0]}.{sys.version_info[1]})")
    return 0


_LIBRARIES = "/lib/python3.14/site-packages"
_SHOWN = {"list": _list, "freeze": _freeze, "show": _show, "-V": _version, "--version": _version}


def stands_in():
    """Whether an import of pip finds this one."""
    import importlib.util

    spec = importlib.util.find_spec("pip")
    return spec is not None and isinstance(spec.loader, _Finder)


sys.meta_path.append(_Finder())
