"""What NumPy reports by the floating-point status, which WebAssembly does not have:
that a matrix is singular is seen by the result, and a program that wants errors for
floating-point operations is told that there are none."""

import types
import warnings

_CORE = {  # the dimensions of a matrix in the result that is NaN on failure
    "inv": 2, "solve": 2, "solve1": 1, "cholesky_lo": 2, "cholesky_up": 2, "lstsq": 2, "svd": 1, "svd_f": 1, "svd_s": 1,
    "eig": 1, "eigvals": 1, "eigh_lo": 1, "eigh_up": 1, "eigvalsh_lo": 1, "eigvalsh_up": 1,
}  # fmt: skip
_DIRECT = {"inv", "solve", "solve1", "cholesky_lo", "cholesky_up"}  # pass on a NaN of their arguments without failing


def see_failures(module):
    """Makes numpy.linalg raise LinAlgError. LAPACK's failures fill a matrix of the
    result with NaN and set the status, which is all that the caller looks at."""
    import numpy as np

    def seeing(name, compute):
        core, passes = _CORE[name], name in _DIRECT

        def computed(*arrays, **options):
            try:
                result = compute(*arrays, **options)
            except ValueError as e:  # NumPy's own LAPACK, of NaN
                if str(e).startswith("On entry to DLASCL"):
                    fail()
                raise
            seen = result[name.startswith("svd_")] if type(result) is tuple else result
            if seen.ndim == core and seen.size:
                first = seen.item(0)
                if first == first:  # the quick way for what is no stack of matrices
                    return result
            if failed(seen, arrays):
                fail()
            return result

        def fail():
            if np.geterr()["invalid"] == "call":
                np.geterrcall()("invalid value", 8)

        def failed(seen, arrays):
            if not seen.size:
                return False
            lost = np.isnan(seen).all(tuple(range(-core, 0)))
            if passes:
                lost = lost & np.isfinite(arrays[0]).all((-2, -1))
                if len(arrays) > 1:
                    lost = lost & np.isfinite(arrays[1]).all(tuple(range(-core, 0)))
            return lost.any()

        return computed

    routines = vars(module._umath_linalg).items()
    module._umath_linalg = types.SimpleNamespace(**{n: seeing(n, f) if n in _CORE else f for n, f in routines})


def tell_of_no_errors(module):
    """numpy.seterr and numpy.errstate tell whoever asks for FloatingPointError."""
    make = module._make_extobj

    def _make_extobj(**options):
        made = make(**options)
        if "raise" in options.values():
            warnings.warn(
                "WebAssembly has no floating-point exceptions: NumPy raises FloatingPointError for "
                "integer scalars only; test other results with np.isfinite",
                RuntimeWarning,
                stacklevel=3,
            )
        return made

    module._make_extobj = _make_extobj
