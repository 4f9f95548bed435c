"""What micropip and the solver see of the world: micropip's surroundings, and
the projects and wheels that the host knows."""

import functools
import sys
import types
from datetime import date

import _coderunner


def _stand_in():
    """Module micropip._compat, which is where micropip meets its host."""
    compat = types.ModuleType("micropip._compat")
    compat.REPODATA_INFO = {}
    compat.REPODATA_PACKAGES = {}
    compat.loadedPackages = types.SimpleNamespace(to_py=dict)
    compat.to_js = lambda value: value
    compat.HttpStatusError = type("HttpStatusError", (Exception,), {})

    def unused(*args, **kwargs):
        raise RuntimeError("the resolver does not fetch or load anything")

    for name in ("fetch_bytes", "fetch_string_and_headers", "loadDynlibsFromPackage", "loadPackage", "get_dynlibs"):
        setattr(compat, name, unused)
    sys.modules["micropip._compat"] = compat


_stand_in()

from micropip.metadata import Metadata  # noqa: E402
from micropip.wheelinfo import WheelInfo  # noqa: E402
from packaging import markers  # noqa: E402
from packaging.specifiers import InvalidSpecifier, SpecifierSet  # noqa: E402
from packaging.tags import Tag  # noqa: E402
from packaging.utils import canonicalize_name  # noqa: E402
from packaging.version import InvalidVersion, Version  # noqa: E402

_ANY = frozenset({Tag("py3", "none", "any")})
markers.platform.system = lambda: "Emscripten"  # in markers; a program is told Linux


class Wheel(WheelInfo):
    """A wheel whose metadata the host has read."""

    async def download(self, fetch_kwargs):
        if self._metadata is None:
            self._metadata, self.provides = metadata(self.name, self.filename)

    def requires(self, extras):
        known = {canonicalize_name(e): e for e in self.provides}
        wanted = {known[n] for n in map(canonicalize_name, extras) if n in known}
        return super().requires(wanted)


# ---- asked once each

_projects = {}
metadatas = {}


def project(name):
    if name not in _projects:
        _projects[name] = _coderunner.call("project", name)
    return _projects[name]


def metadata(name, filename):
    if filename not in metadatas:
        metadatas[filename] = _coderunner.call("metadata", {"project": name, "filename": filename})
    answer = metadatas[filename]
    if answer.get("error"):
        raise ValueError(answer["error"])
    lines = [f"Requires-Dist: {r}" for r in answer["requires"] or ()]
    lines += [f"Provides-Extra: {e}" for e in answer["extras"] or ()]
    try:
        return Metadata("\n".join(lines).encode()), answer["extras"] or ()
    except (ValueError, RecursionError) as e:
        raise ValueError(f"its metadata cannot be understood: {e or type(e).__name__}") from None


_platform = {}


def ask_platform(names):
    """Has the host look into packages of the lock file, several at a time."""
    names = [name for name in names if name not in _platform]
    if names:
        _platform.update(zip(names, _coderunner.call("platform", names)))


def platform(name):
    """What a package of the lock file needs on this platform by its own metadata."""
    return _platform.get(name) or ()


_candidate_cache = {}


def candidates(name):
    """({version: file}, the same for yanked ones, {version: why it does not
    fit}) of a project."""
    if name in _candidate_cache:
        return _candidate_cache[name]
    files, yanked, notes = {}, {}, {}
    page = project(name)
    for file in page.get("files") or ():
        try:
            version = Version(file["version"])
        except InvalidVersion:
            continue
        if not _python_fits(file["requires_python"]):
            notes.setdefault(version, f"needs Python {file['requires_python']}, this is {_python()}")
            continue
        into = yanked if file["yanked"] else files
        if version not in into or file["rank"] > into[version]["rank"]:
            into[version] = file
    for text, note in (page.get("others") or {}).items():
        try:
            version = Version(text)
        except InvalidVersion:
            continue
        if version not in files and version not in notes:
            notes[version] = note
    _candidate_cache[name] = files, yanked, notes
    return _candidate_cache[name]


_day_cache = {}


def day(name, version):
    """When a version was uploaded, None if the index does not say so."""
    if name not in _day_cache:
        days = _day_cache[name] = {}
        for text, day in (project(name).get("days") or {}).items():
            try:
                if day:
                    days.setdefault(Version(text), date.fromisoformat(day))
            except ValueError:
                continue
    return _day_cache[name].get(version)


def wheel(name, version, file):
    w = Wheel(
        name=name,
        version=version,
        filename=file["filename"],
        build=(),
        tags=_ANY,  # the host has looked at the real ones
        url="",
        parsed_url=None,
    )
    w.provides = ()
    return w


def _python():
    return ".".join(map(str, sys.version_info[:3]))


@functools.cache  # a project has thousands of files and few such texts
def _python_fits(text):
    try:
        return not text or SpecifierSet(text).contains(_python(), prereleases=True)
    except InvalidSpecifier:
        return True  # as pip does


def newest(versions):
    return max(list(SpecifierSet().filter(versions)) or versions)
