"""What NumPy does not do where there is no floating-point status and an address has
32 bits: that a matrix is singular is seen by the result, a program that wants errors for
floating-point operations is told that there are none, and sums have 64 bits."""

import sys
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


def _libraries(frame):
    """Whether a library asks: pandas does for integer scalars."""
    return frame.f_code.co_filename.startswith("/lib/")


def tell_of_no_errors(module):
    """numpy.seterr and numpy.errstate tell whoever asks for FloatingPointError."""
    make = module._make_extobj

    def _make_extobj(**options):
        made = make(**options)
        if "raise" in options.values() and not _libraries(sys._getframe(2)):
            warnings.warn(
                "WebAssembly has no floating-point exceptions: NumPy raises FloatingPointError for "
                "integer scalars only; test other results with np.isfinite",
                RuntimeWarning,
                stacklevel=3,
            )
        return made

    module._make_extobj = _make_extobj


_SUMS = {c: "q" for c in "?bhil"} | {c: "Q" for c in "BHIL"}  # as NumPy chooses on other platforms


def sum_methods(module):
    """ndarray.sum and ndarray.prod of integers have 64 bits."""

    def wide(reduce):
        def reduced(a, axis=None, dtype=None, out=None, *rest, **options):
            if dtype is None and out is None:
                dtype = _SUMS.get(a.dtype.char)
            return reduce(a, axis, dtype, out, *rest, **options)

        return reduced

    module._sum, module._prod = wide(module._sum), wide(module._prod)


def sum_functions(module):
    """So have numpy.sum, prod, cumsum and cumprod. The methods cumsum and cumprod are C."""
    reduce, apply, asarray = module._wrapreduction, module._wrapfunc, module.asarray

    def sum_type(of):
        try:
            return _SUMS.get(getattr(of, "dtype", None) and of.dtype.char or asarray(of).dtype.char)
        except Exception:  # then the function itself says what is wrong
            return None

    def _wrapreduction(obj, ufunc, method, axis, dtype, out, **options):
        if dtype is None and out is None and method in ("sum", "prod") and type(obj) in _ARRAYS:
            dtype = sum_type(obj)
        return reduce(obj, ufunc, method, axis, dtype, out, **options)

    def _wrapfunc(obj, method, *args, **options):
        if method in ("cumsum", "cumprod") and type(obj) in _ARRAYS and options.get("dtype") is options.get("out") is None:
            options["dtype"] = sum_type(obj)
        return apply(obj, method, *args, **options)

    _ARRAYS = module.mu.ndarray, list, tuple, range
    module._wrapreduction, module._wrapfunc = _wrapreduction, _wrapfunc
