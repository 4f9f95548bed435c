"""One run of micropip's own resolution."""

from micropip import package_index, transaction
from micropip.package import PackageMetadata
from packaging.markers import default_environment
from packaging.version import Version


class Attempt(transaction.Transaction):
    """A transaction of micropip's that asks the host."""

    def __init__(self, solver):
        super().__init__(
            ctx=default_environment(),
            ctx_extras=[],
            keep_going=True,
            deps=not solver.alone,
            pre=False,
            fetch_kwargs={},
            index_urls=package_index.DEFAULT_INDEX_URLS,  # the lock file first
        )
        self.solver = solver
        self.reasons = {}  # requirement to why not
        self.waiting, self.busy = [], False

    async def gather_requirements(self, requirements):
        # From a list, one after the other, not by recursion: a chain of
        # requirements may be long, the host is asked by blocking calls anyway,
        # and the result must not depend on the order of events.
        self.waiting += requirements
        if self.busy:
            return
        self.busy = True
        while self.waiting:
            req = self.waiting.pop(0)
            try:
                await self.add_requirement(req)
            except (ValueError, RecursionError) as e:  # a marker that makes no sense
                self.fail(req, e)
        self.busy = False

    def fail(self, req, error):
        self.failed.append(req)
        self.reasons.setdefault(str(req), str(error) or type(error).__name__)

    def check_version_satisfied(self, req):
        # Contradictions are found afterwards, when both sides are known.
        have = self.locked.get(req.name)
        return (True, have.version) if have else (False, "")

    def _add_requirement_from_pyodide_lock(self, req):
        have = self.solver.lock.get(req.name)
        if have is None:
            return False
        version = Version(have["version"])
        if not req.specifier.contains(version, prereleases=True) or not self.solver.allows(req.name, version):
            return False
        self.locked[req.name] = PackageMetadata(name=req.name, version=str(version), source="pyodide")
        return True

    async def _add_requirement_from_package_index(self, req):
        try:
            releases = self.solver.releases(req)
            info = package_index.ProjectInfo(name=req.name, releases=releases)
            wheel = transaction.find_wheel(info, req)
            await self.add_wheel(wheel, req.extras, specifier=str(req.specifier))
        except ValueError as e:
            self.locked.pop(req.name, None)
            self.reasons.setdefault(str(req), str(e))
            raise
        self.solver.chosen[req.name] = wheel
