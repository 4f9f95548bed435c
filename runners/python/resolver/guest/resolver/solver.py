"""Leads micropip to a complete choice without contradictions."""

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from . import host
from .attempt import Attempt

_YOU = "the request"
_FILES = "the constraints"
_CONFLICT = "conflict"
_ROUNDS = 60  # of one attempt
_ATTEMPTS = 30
_AGE = 730  # days by which a version that stands in for the newest may be older
_AGE_NEEDED = 5 * 365  # the same of a package that another one needs


class Impossible(Exception):
    """A requirement that cannot be met; the reasons are in Attempt.reasons."""


class Solver:
    def __init__(self, requirements, lock, constraints=(), alone=False):
        self.lock = lock
        self.constraints = [_parse(c) for c in constraints]
        self.alone = alone  # without what the packages need
        self.roots = [(_parse(r), _YOU) for r in requirements]
        self.ceilings = {}  # name to the newest version that is considered
        self.first_reasons = None
        self.attempts = _ATTEMPTS

    def solve(self):
        """Chooses versions (self.reached, self.chosen), or raises Impossible.

        A package that asks for too much is tried in ever older versions, in
        steps that double, and then in newer ones again as far as they do."""
        asked_too_much = {}  # name to its versions that did
        while True:
            blame = self.attempt()
            if blame is None:
                self.refine(asked_too_much)
                return self.refuse_old(asked_too_much)
            if not blame or self.attempts <= 0:
                self.refuse_old(asked_too_much, failed=True)
                raise Impossible
            name, older = blame
            tried = asked_too_much.setdefault(name, [])
            tried.append(self.chosen[name].version)
            self.ceilings[name] = older[min(2 ** (len(tried) - 1), len(older)) - 1]

    def refine(self, asked_too_much):
        for name, tried in asked_too_much.items():
            good, bad = self.ceilings[name], min(tried)
            while between := sorted(v for v in host.candidates(name)[0] if good < v < bad and self.within_limits(name, v)):
                if self.attempts <= 0:
                    break
                best = self.chosen, self.reached, self.edges
                self.ceilings[name] = middle = between[len(between) // 2]
                if self.attempt() is None:
                    good = middle
                else:
                    bad = middle
                    self.chosen, self.reached, self.edges = best
            self.ceilings[name] = good

    def refuse_old(self, asked_too_much, failed=False):
        """Raises Impossible if, for want of something that fits, a version of
        another age would stand for the package that was asked for, or for one
        that it needs. If it failed, what the newest lacks is the reason, not what
        the old one does."""
        causes = self.first_reasons or {}
        if causes and all(why.startswith(_CONFLICT) for why in causes.values()):
            return
        roots = {req.name for req, _ in self.roots}
        for name in (roots | asked_too_much.keys()) & self.chosen.keys():
            notes = host.candidates(name)[2]
            version, newest, days = self.age(name)
            if None in days or (days[1] - days[0]).days <= (_AGE if name in roots else _AGE_NEEDED):
                continue
            if name not in roots:
                raise Impossible  # for the first reasons
            if failed and newest not in notes:
                continue
            why = f"version {newest} of {days[1].year}: " + (notes.get(newest) or "; ".join(f"{n}: {r}" for n, r in causes.items()))
            if not failed:
                why += f". What could be installed, {version}, is of {days[0].year}: if that will do, write {name}=={version}"
            self.first_reasons = {name: why}
            raise Impossible

    def age(self, name):
        """The chosen version of a package, the newest one that is allowed, and
        the days of both."""
        files, _, notes = host.candidates(name)
        version = self.chosen[name].version
        newest = max((v for v in {**files, **notes} if not v.is_prerelease and self.within_limits(name, v)), default=version)
        return version, newest, [host.day(name, v) for v in (version, newest)]

    def why_older(self, name):
        """Why a package that was asked for is not the newest that the request
        allows, "" if it is, or if a contradiction is the reason, as for pip."""
        if name not in self.chosen or all(req.name != name for req, _ in self.roots):
            return ""
        version, newest, _ = self.age(name)
        if newest <= version:
            return ""
        causes = [f"{n}: {why}" for n, why in (self.first_reasons or {}).items() if not why.startswith(_CONFLICT)]
        why = host.candidates(name)[2].get(newest) or "; ".join(causes if name in self.ceilings else ())
        return why and f"version {newest}: {why}"

    def attempt(self):
        """None when all is well; a name and the versions of it that could be
        tried instead; or () when there is no way out."""
        self.attempts -= 1
        self.limits = {}  # name to [(specifiers, who asks)]
        for req, who in self.roots + [(c, _FILES) for c in self.constraints]:
            if _applies(req, [""]):
                self.limit(req, who)
        extra = []
        for round in range(_ROUNDS):
            self.chosen = {}
            t = Attempt(self)
            _drive(t.gather_requirements([r for r, _ in self.roots] + extra))
            self.transaction = t
            missing, conflicts = self.check()
            news = [self.limit(req, who) for req, who in conflicts + missing]
            more = [r for r, _ in missing if str(r) not in map(str, extra)]
            extra += more
            if any(news) or more or round < _ROUNDS / 2 and self.forget():
                continue
            if t.failed:
                return self.blame(t)
            return () if conflicts or missing else None
        return ()

    def forget(self):
        """Drops what was asked for by versions that are not chosen any more."""
        dropped = False
        chosen = {_YOU, _FILES} | {f"{n} {m.version}" for n, m in self.transaction.locked.items()}
        for name, known in self.limits.items():
            self.limits[name] = [(s, who) for s, who in known if who in chosen]
            dropped |= len(self.limits[name]) < len(known)
        return dropped

    def limit(self, req, who):
        known = self.limits.setdefault(canonicalize_name(req.name), [])
        if not req.specifier or (str(req.specifier), who) in [(str(s), w) for s, w in known]:
            return False
        known.append((req.specifier, who))
        return True

    def allows(self, name, version):
        ceiling = self.ceilings.get(name)
        return (ceiling is None or version <= ceiling) and self.within_limits(name, version)

    def within_limits(self, name, version):
        return all(s.contains(version, prereleases=True) for s, _ in self.limits.get(name, ()))

    def blame(self, t):
        """A package that could be older, so that what failed is not asked for."""
        if self.first_reasons is None:
            self.first_reasons = self.explain(t)
        for req in t.failed:
            if self.best(req) is None and self.inevitable(req.name):
                return ()
        for req in t.failed:
            conflict = t.reasons.get(str(req), "").startswith(_CONFLICT)
            suspects = [who.partition(" ")[0] for _, who in self.limits.get(req.name, ())]
            for parent, wheel in self.chosen.items():
                if req.name in {canonicalize_name(r.name) for r in wheel._requires or ()}:
                    suspects.append(parent)
            for name in suspects:
                older = self.older(name, conflict)
                if older:
                    return name, older
        return ()

    def best(self, req):
        """The newest version that meets a requirement, whatever else is wanted."""
        files, yanked, _ = host.candidates(req.name)
        versions = [*files, *yanked] + ([Version(self.lock[req.name]["version"])] if req.name in self.lock else [])
        return max(req.specifier.filter(versions), default=None)

    def inevitable(self, name, seen=None, tried=None):
        """Whether a package that cannot be installed is needed however old the
        others are: by the request, or by versions of all ages of a package of
        which that is true. One old version of each tells, where trying them
        takes a dozen. tried is the version that needs what is missing."""
        if any(r.name == name and _applies(r, [""]) for r, _ in self.roots):
            return True
        seen = set() if seen is None else seen
        seen.add(name)
        return any(
            self.always_needs(parent, name, tried) and self.inevitable(parent, seen, wheel.version)
            for parent, wheel in self.chosen.items()
            if parent not in seen and name in {canonicalize_name(r.name) for r in wheel._requires or ()}
        )

    def always_needs(self, parent, name, tried):
        """Whether the oldest version of a package that would be tried still
        needs another one, and gets it in the major version tried, or not at all."""
        older = self.older(parent, False)
        if not older:
            return True
        newest = host.day(parent, self.chosen[parent].version)
        if newest and any(r.name == parent for r, _ in self.roots):  # see refuse_old
            older = [v for v in older if (day := host.day(parent, v)) and (newest - day).days <= _AGE] or older
        file = host.candidates(parent)[0][older[-1]]["filename"]
        try:
            host.metadata(parent, file)
            needs = [_parse(line.partition(" #")[0].strip()) for line in host.metadatas[file]["requires"] or ()]
        except ValueError:
            return False  # trying it will say so
        for req in needs:
            if req.name == name and _applies(req, self.asked.get(parent, [""])):
                best = self.best(req)
                return best is None or tried is not None and (best.epoch, best.major) == (tried.epoch, tried.major)
        return False

    def older(self, name, conflict):
        """The older versions of a chosen package, newest first. When the
        trouble is that something has no wheel, an older major version would
        not be what was meant; when it is a contradiction, anything goes."""
        if name not in self.chosen:
            return []
        now = self.chosen[name].version
        return sorted(
            (
                v
                for v in host.candidates(name)[0]
                if v < now
                and (now.is_prerelease or not v.is_prerelease)
                and (conflict or (v.epoch, v.major) == (now.epoch, now.major))
                and self.within_limits(name, v)
            ),
            reverse=True,
        )

    def explain(self, t):
        """Why the attempt failed: one entry for each project, in the words of
        the request if it is named there."""
        told, asked = {}, {str(r) for r, _ in self.roots}
        for req in sorted(t.failed, key=lambda r: str(r) not in asked):
            if req.name not in told:
                reason = t.reasons.get(str(req)) or "it could not be chosen"
                told[req.name] = _clean(req), reason + ("" if str(req) in asked else self.needed_by(req))
        return dict(told.values())

    def needed_by(self, req):
        asking = {
            f"{name} {wheel.version}": {str(r.specifier) for r in wheel._requires or () if canonicalize_name(r.name) == req.name}
            for name, wheel in self.chosen.items()
        }
        # Those that ask for just this, or else all that ask.
        parents = [who for who, s in asking.items() if str(req.specifier) in s] or [who for who, s in asking.items() if s]
        return f" (needed by {', '.join(parents)})" if parents else ""

    # ---- the proof

    def check(self):
        """Walks from the request through everything that was chosen. Gives
        what is missing and what contradicts, and keeps what was reached, and
        by which packages."""
        missing, conflicts, seen = [], [], set()
        self.reached, self.edges, self.asked = {}, {}, {}
        host.ask_platform([name for name in self.transaction.locked if name not in self.chosen])
        work = [(r, who, ("",)) for r, who in self.roots]
        while work:
            req, who, extras = work.pop()
            if not _applies(req, extras):
                continue
            name = canonicalize_name(req.name)
            self.edges.setdefault(who.partition(" ")[0], set()).add(name)
            have = self.transaction.locked.get(name)
            if have is None:
                failed = {r.name for r in self.transaction.failed}
                if name not in failed:
                    bare = Requirement(str(req))
                    bare.marker = None
                    missing.append((bare, who))
                continue
            version = Version(have.version)
            if not req.specifier.contains(version, prereleases=True):
                conflicts.append((req, who))
            asked = tuple(sorted(canonicalize_name(e) for e in req.extras)) or ("",)
            if (name, asked) in seen:
                continue
            seen.add((name, asked))
            self.asked.setdefault(name, set()).update(asked)
            self.reached[name] = str(version)
            label = f"{name} {version}"
            work += [(r, label, asked) for r in self.needs(name)]
        return missing, conflicts

    def needs(self, name):
        if self.alone:
            return []
        if name not in self.chosen:
            return [Requirement(d) for d in [*(self.lock[name]["depends"] or ()), *host.platform(name)]]
        lines = host.metadatas[self.chosen[name].filename]["requires"] or ()
        return [Requirement(line.partition(" #")[0].strip()) for line in lines]

    # ---- candidates

    def releases(self, req):
        """The project's releases as micropip wants them: those that the whole
        request allows, each with its best wheel."""
        files, yanked, notes = host.candidates(req.name)
        usable = {v: f for v, f in files.items() if self.allows(req.name, v)}
        if not list(req.specifier.filter(usable)):
            # As pip does: a yanked release only when it is asked for exactly.
            exact = [s for s, _ in self.limits.get(req.name, ())] + [req.specifier]
            usable |= {
                v: f
                for v, f in yanked.items()
                if self.allows(req.name, v) and any(_exact(s) and s.contains(v, prereleases=True) for s in exact)
            }
        if not list(req.specifier.filter(usable)):
            raise ValueError(self.why_not(req, files, notes))
        return {v: [host.wheel(req.name, v, f)] for v, f in usable.items()}

    def why_not(self, req, files, notes):
        project = host.project(req.name)
        if project.get("error"):
            return project["error"]
        sides = self.limits.get(req.name, ())
        if len(sides) > 1 and all(any(s.contains(v, prereleases=True) for v in files) for s, _ in sides):
            return _CONFLICT + ": no version is " + " and ".join(f"{s} (for {who})" for s, who in sides)
        for s, who in sides:
            known = {**files, **notes}
            if known and str(s) != str(req.specifier) and not any(s.contains(v, prereleases=True) for v in known):
                return f"no version is {s} (for {who}); the newest is {host.newest(known)}"
        fitting = list(req.specifier.filter(notes))
        if fitting:
            newest = max(fitting)  # finals only, if there are any
            return f"no wheel for this runtime: version {newest} {notes[newest]}"
        if files:
            return f"no version is {req.specifier}; the newest that fits this runtime is {host.newest(files)}"
        if notes:
            return f"no version is {req.specifier}; the newest is {host.newest(notes)}"
        return project.get("nothing") or "the index lists no files for it"


def _exact(specifiers):
    return any(s.operator == "===" or s.operator == "==" and not s.version.endswith(".*") for s in specifiers)


def _applies(req, extras):
    try:
        return req.marker is None or any(req.marker.evaluate({"extra": e}) for e in extras)
    except ValueError:
        return False  # said to be so when the requirement was tried


def _parse(text):
    req = Requirement(text)
    req.name = canonicalize_name(req.name)
    return req


def _clean(requirement):
    return str(requirement).partition(";")[0].strip()


def _drive(coroutine):
    """Runs a coroutine that never waits."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise RuntimeError("the resolver waited for something")
