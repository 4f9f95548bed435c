"""Chooses the versions of packages with micropip. Runs in an interpreter of
the host's own, which never runs a user's code and has no network: it asks the
host about projects and wheels by name.

micropip takes the first version that fits each requirement as it comes and
stops at the first contradiction. Around it, this script

- shows it only files that fit this runtime, best first, as pip would see them;
- checks that what it chose is complete and free of contradictions, and says so
  to it in another round if not;
- when that leads nowhere, tries an older version of a package that asks for
  too much, a limited number of times.
"""

import _coderunner
from packaging.requirements import InvalidRequirement, Requirement

from . import host  # noqa: F401, first: it makes micropip's surroundings
from .solver import Impossible, Solver


def main(question):
    invalid = []
    for text in question["requirements"] + question["optional"] + question["constraints"]:
        try:
            req = Requirement(text)
            if req.marker is not None:
                req.marker.evaluate({"extra": ""})
        except (InvalidRequirement, ValueError, RecursionError) as e:
            invalid.append({"name": text, "reason": (str(e) or type(e).__name__).splitlines()[0]})
    if invalid:
        return {"invalid": invalid}
    required, optional = question["requirements"], question["optional"]
    skipped = []
    rest = question["lock"], question["constraints"]
    solver = Solver(required + optional, *rest, question["alone"])
    try:
        if not _solves(solver, must=not optional):
            solver = Solver(required, *rest)
            _solves(solver, must=True)
            for extra in optional:
                more = Solver([*required, extra], *rest)
                if _solves(more):
                    solver = more
                    required = [*required, extra]
                else:
                    skipped.append({"name": extra, "reason": _reason(more)})
    except Impossible:
        reasons = solver.first_reasons or {"the request": "no solution was found in reasonable time"}
        return {"failed": [{"name": n, "reason": r} for n, r in reasons.items()]}
    return {
        "packages": [
            {
                "name": name,
                "version": version,
                "filename": solver.chosen[name].filename if name in solver.chosen else "",
                "needs": sorted(solver.edges.get(name, ())),
                "older": solver.why_older(name),
            }
            for name, version in sorted(solver.reached.items())
        ],
        "skipped": skipped,
    }


def _reason(solver):
    """Why there is no solution, in one line."""
    reasons = solver.first_reasons or {}
    return "; ".join(f"{n}: {r}" if len(reasons) > 1 else r for n, r in reasons.items()) or "no solution was found"


def _solves(solver, must=False):
    try:
        solver.solve()
    except Impossible:
        if must:
            raise
        return False
    return True


def answer():
    """Answers the host's question."""
    _coderunner.call("answer", main(_coderunner.call("question")))
