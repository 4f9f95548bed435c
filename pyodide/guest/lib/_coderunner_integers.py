"""The program's own integers in NumPy have 64 bits, as where an address has them:
NumPy's default integer is as wide as an address, and wraps in silence. What a library's
lines make keeps NumPy's default, which is what its compiled code expects."""

import ctypes
import functools
import gc
import sys

_DTYPE = {  # the position of the argument dtype in functions that make arrays
    "arange": 3, "array": 1, "asarray": 1, "empty": 1, "eye": 3, "frombuffer": 1, "fromiter": 1, "fromstring": 1, "full": 2,
    "geomspace": 4, "genfromtxt": 1, "identity": 1, "linspace": 5, "loadtxt": 1, "logspace": 5, "ones": 1, "zeros": 1,
}  # fmt: skip


def _libraries(frame):
    return frame.f_code.co_filename.startswith("/lib/")


def _wider(dtype):
    """What a dtype means where NumPy's default integer has 64 bits, None if it does not
    say int. An object of the class dtype does not tell int from int32."""
    if dtype is int or type(dtype) is str and dtype == "int":
        return "q"
    if type(dtype) is list:
        fields = [(f[0], _wider(f[1]) or f[1], *f[2:]) if type(f) is tuple and len(f) > 1 else f for f in dtype]
        return fields if fields != dtype else None
    if type(dtype) is dict and "formats" in dtype:
        return dtype | {"formats": [_wider(f) or f for f in dtype["formats"]]}
    return None


def _plain(value):
    """Whether a value is an integer of Python's, or a list of such."""
    while (kind := type(value)) is list or kind is tuple:
        if not value:
            return False
        value = value[0]
    return kind is int or kind is range


_DEFAULTS = {  # whether arguments without a dtype make an array of default integers
    "arange": lambda *args, **_: all(type(a) is int for a in args),
    "array": lambda of=None, *_, **options: _plain(of),
    "asarray": lambda of=None, *_, **options: _plain(of),
    "genfromtxt": lambda *args, dtype=float, **_: dtype is None or args[1:2] == (None,),
    "full": lambda *args, fill_value=None, **_: type(args[1] if len(args) > 1 else fill_value) is int,
}


_INDEXES = (  # functions that return indexes or counts, and methods
    "argpartition", "argwhere", "bincount", "diag_indices", "digitize", "flatnonzero", "histogram", "indices", "lexsort",
    "ravel_multi_index", "tril_indices", "triu_indices", "unravel_index",
)  # fmt: skip
_INDEX_METHODS = "argmax", "argmin", "argpartition", "argsort", "nonzero", "searchsorted"
_DRAWS = "binomial", "choice", "geometric", "hypergeometric", "negative_binomial", "permutation", "poisson"


def _widening_result(make, narrow, wide, asked=None, given=None):
    """A function whose results have 64 bits, if its arguments ask for that. given changes
    them before."""

    number, zero = narrow.type, wide.type(0)

    def widened(of):
        if type(of) is number:
            return zero + of  # in a third of the time of wide.type(int(of))
        if type(of) is _array:
            return _convert(of, wide) if of.dtype is narrow else of
        return of.astype(wide) if getattr(of, "dtype", None) is narrow else of

    @functools.wraps(make)
    def made(*args, **options):
        result = make(*(given(args) if given else args), **options)
        kind = type(result)
        if kind is not number and kind is not tuple and getattr(result, "dtype", None) is not narrow:
            return result
        if _libraries(sys._getframe(1)) or asked and not asked(args):
            return result
        return tuple(map(widened, result)) if kind is tuple else widened(result)

    return made


def _asks_for(narrow):
    """Whether a function that is given these arguments, and returns some of that, is not
    given an array of 32 bits."""
    return lambda args: not args or getattr(args[0], "dtype", None) is not narrow


def widen(np):
    """For the functions of numpy and ndarray.astype."""
    if not hasattr(np, "_core"):
        return  # a package that is only called so
    narrow, wide = np.dtype("l"), np.dtype("q")
    if narrow == wide:
        return

    global _array, _convert
    _array, _convert = np.ndarray, np.ndarray.astype

    def widening(name, make, place):
        defaults = _DEFAULTS.get(name)

        @functools.wraps(make)
        def made(*args, **options):
            dtype = None
            if options or len(args) > place:
                dtype = args[place] if len(args) > place else options.get("dtype")
                if (wider := _wider(dtype)) and not _libraries(sys._getframe(1)):
                    if len(args) > place:
                        args = args[:place] + (wider,) + args[place + 1 :]
                    else:
                        options["dtype"] = wider
            result = make(*args, **options)
            if dtype is not None or not defaults or result.dtype is not narrow and not result.dtype.names:
                return result
            if _libraries(sys._getframe(1)) or not defaults(*args, **options):
                return result
            fields = [(name, wide if result.dtype[name] is narrow else result.dtype[name]) for name in result.dtype.names or ()]
            return _convert(result, fields or wide)

        return made

    for name, place in _DTYPE.items():
        if make := getattr(np, name, None):
            setattr(np, name, widening(name, make, place))
    for name in _INDEXES + _INDEX_METHODS:
        setattr(np, name, _widening_result(getattr(np, name), narrow, wide))
    np.unique = _widening_result(np.unique, narrow, wide, asked=_asks_for(narrow))
    for of in type(np.mgrid), type(np.ogrid):
        of.__getitem__ = _widening_result(of.__getitem__, narrow, wide)
    np.where = _widening_result(
        np.where,
        narrow,
        wide,
        asked=lambda args: len(args) == 1 or all(type(a) is int for a in args[1:]),
        given=lambda args: tuple(wide.type(a) if type(a) is int and abs(a) > 0x7FFFFFFF else a for a in args) if int in map(type, args) else args,
    )
    np.int_, np.uint = np.int64, np.uint64
    np._core.arrayprint._typelessdata.append(wide.type)  # it is the default, and so is what indexes have
    _change_methods(np.ndarray, np.ufunc, narrow, wide)


def _narrowed(of, narrow, wide):
    """An array of indexes or counts as wide as an address, as it is where an index stands."""
    return of.astype(narrow) if getattr(of, "dtype", None) is wide else of


def _change_methods(array, ufunc, narrow, wide):
    """For ndarray.astype, and the methods that take indexes of an address's width only.
    The types cannot be changed but behind Python's back."""
    methods, of_ufunc = gc.get_referents(vars(array))[0], gc.get_referents(vars(ufunc))[0]
    convert = methods["astype"]

    @functools.wraps(convert)
    def astype(self, dtype, *args, **options):
        if (type(dtype) is not str or dtype == "int") and (wider := _wider(dtype)) and not _libraries(sys._getframe(1)):
            dtype = wider
        return convert(self, dtype, *args, **options)

    def taking(method, position):
        @functools.wraps(method)
        def take(*args, **options):
            if len(args) > position:
                args = (*args[:position], _narrowed(args[position], narrow, wide), *args[position + 1 :])
            return method(*args, **options)

        return take

    methods["astype"] = astype
    for name in _INDEX_METHODS:
        methods[name] = _widening_result(methods[name], narrow, wide)
    for name, position in ("choose", 0), ("put", 1), ("repeat", 1):
        methods[name] = taking(methods[name], position)
    of_ufunc["reduceat"] = taking(of_ufunc["reduceat"], 2)
    for of in array, ufunc:
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(of))


def widen_random(module):
    """For numpy.random, whose randint draws the same numbers either way."""
    if not hasattr(module, "mtrand"):
        return
    from numpy import dtype, int64

    narrow, wide = dtype("l"), dtype("q")

    def counts(args):
        return tuple(_narrowed(a, narrow, wide) for a in args)

    for name in _DRAWS:
        if name in ("choice", "permutation"):
            wider = _widening_result(getattr(module, name), narrow, wide, asked=_asks_for(narrow))
        else:
            wider = _widening_result(getattr(module, name), narrow, wide, given=counts)
        setattr(module, name, wider)

    draw = module.randint

    @functools.wraps(draw)
    def randint(low, high=None, size=None, dtype=int):
        libraries = _libraries(sys._getframe(1))
        drawn = draw(low, high, size, int64 if _wider(dtype) and not libraries else dtype)
        if libraries or not _wider(dtype):
            return drawn
        return drawn if getattr(drawn, "ndim", 0) else int(drawn)

    module.randint = randint


def widen_pandas(module):
    """astype(int) of pandas, and its other arguments dtype, as it documents."""
    find = module.pandas_dtype

    @functools.wraps(find)
    def pandas_dtype(dtype):
        return find(_wider(dtype) or dtype)

    module.pandas_dtype = pandas_dtype
