"""What CPython's _hashlib takes from OpenSSL, by the host (pyodide/hashlib).

The hashes that CPython has by itself stay its own. See
https://docs.python.org/3.14/library/hashlib.html and Modules/_hashopenssl.c.
"""

import binascii

import _blake2
import _hmac
import _md5
import _sha1
import _sha2
import _sha3
from _operator import _compare_digest as compare_digest

import _coderunner

_own = {
    "md5": _md5.md5, "sha1": _sha1.sha1,
    "sha224": _sha2.sha224, "sha256": _sha2.sha256, "sha384": _sha2.sha384, "sha512": _sha2.sha512,
    "sha3_224": _sha3.sha3_224, "sha3_256": _sha3.sha3_256, "sha3_384": _sha3.sha3_384, "sha3_512": _sha3.sha3_512,
    "shake_128": _sha3.shake_128, "shake_256": _sha3.shake_256,
    "blake2b": _blake2.blake2b, "blake2s": _blake2.blake2s,
}  # fmt: skip
globals().update({f"openssl_{name}": own for name, own in _own.items() if name not in ("blake2b", "blake2s")})
_SIZES = {  # of digest and block, in bytes
    "sha512_224": (28, 128), "sha512_256": (32, 128), "ripemd160": (20, 64), "sm3": (32, 64), "md5-sha1": (36, 64),
}  # fmt: skip
_KEEPS_DATA = {"ripemd160"}  # the host has no state for it
_ALIASES = {
    "blake2b512": "blake2b", "blake2s256": "blake2s", "ripemd": "ripemd160", "rmd160": "ripemd160",
    "sha2_224": "sha224", "sha2_256": "sha256", "sha2_384": "sha384", "sha2_512": "sha512",
    "sha2_512_224": "sha512_224", "sha2_512_256": "sha512_256", "sha_1": "sha1",
    "sha_224": "sha224", "sha_256": "sha256", "sha_384": "sha384", "sha_512": "sha512",
    "shake128": "shake_128", "shake256": "shake_256", "md5_sha1": "md5-sha1",
}  # fmt: skip
openssl_md_meth_names = frozenset(_own) | frozenset(_SIZES)

_PIECE = 1 << 20  # bytes that a call hashes


class UnsupportedDigestmodError(ValueError):
    """A hash that does not exist."""


def _name(name):
    """The name in openssl_md_meth_names of what OpenSSL knows by this one."""
    if callable(name):
        name = getattr(name, "__name__", "").removeprefix("openssl_")
    elif not isinstance(name, str):
        raise TypeError(f"name must be a string, not {type(name).__name__}")
    if name in openssl_md_meth_names:
        return name
    plain = name.lower().replace("-", "_").replace("/", "_")
    plain = _ALIASES.get(plain, plain)
    if plain not in openssl_md_meth_names:
        raise UnsupportedDigestmodError(f"unsupported hash type {name}")
    return plain


def _bytes(data):
    if isinstance(data, str):
        raise TypeError("Strings must be encoded before hashing")
    with memoryview(data) as view:
        if view.ndim > 1:
            raise BufferError("Buffer must be single dimension")
        return view.tobytes()


def _text(data):
    return binascii.b2a_base64(data, newline=False).decode()


def _ask(what, argument, data=b""):
    try:
        return _coderunner.call(what, argument, data)
    except _coderunner.HostError as e:
        raise (MemoryError if "memory" in str(e) else ValueError)(str(e)) from None


class HASH:
    """A hash that the host computes. Its state is kept here."""

    def __new__(cls, *args, **kwargs):
        raise TypeError("cannot create '_hashlib.HASH' instances")

    def __init_subclass__(cls, **kwargs):
        raise TypeError("type '_hashlib.HASH' is not an acceptable base type")

    @property
    def name(self):
        return self._name

    @property
    def digest_size(self):
        return _SIZES[self._name][0]

    @property
    def block_size(self):
        return _SIZES[self._name][1]

    def update(self, obj, /):
        self._data += _bytes(obj)
        if self._name in _KEEPS_DATA:
            return
        while len(self._data) >= _PIECE:
            self._state = _ask("hash", {"name": self._name, "state": self._state}, self._data[:_PIECE])
            del self._data[:_PIECE]

    def digest(self):
        argument = {"name": self._name, "state": self._state, "final": True}
        return binascii.a2b_base64(_ask("hash", argument, self._data))

    def hexdigest(self):
        return self.digest().hex()

    def copy(self):
        return _make(self._name, self._state, self._data)

    def __repr__(self):
        return f"<{self._name} _hashlib.HASH object @ {id(self):#x}>"


class _Both:
    """md5-sha1, which TLS once used: one digest after the other."""

    name, digest_size, block_size = "md5-sha1", *_SIZES["md5-sha1"]

    def __init__(self, *parts):
        self._parts = parts

    def update(self, obj, /):
        for part in self._parts:
            part.update(obj)

    def digest(self):
        return b"".join(part.digest() for part in self._parts)

    def hexdigest(self):
        return self.digest().hex()

    def copy(self):
        return _Both(*(part.copy() for part in self._parts))


def _make(name, state, data):
    h = object.__new__(HASH)
    h._name, h._state, h._data = name, state, bytearray(data)
    return h


def new(name, data=b"", *, usedforsecurity=True, string=None):
    name = _name(name)
    if string is not None:
        if data != b"":
            raise TypeError("'data' and 'string' are mutually exclusive and support for 'string' keyword parameter is slated for removal in a future version.")
        data = string
    if name in _own:
        return _own[name](data, usedforsecurity=usedforsecurity)
    h = _Both(_md5.md5(), _sha1.sha1()) if name == "md5-sha1" else _make(name, None, b"")
    h.update(data)
    return h


def get_fips_mode():
    return 0


# hmac has CPython's own for the hashes that are CPython's own.
HMAC = _hmac.HMAC


def hmac_new(key, msg=b"", digestmod=None):
    if digestmod is None:
        raise TypeError("Missing required parameter 'digestmod'.")
    try:
        return _hmac.new(key, msg, _name(digestmod))
    except _hmac.UnknownHashError as e:
        raise UnsupportedDigestmodError(str(e)) from None


def hmac_digest(key, msg, digest):
    try:
        return _hmac.compute_digest(key, msg, _name(digest))
    except _hmac.UnknownHashError as e:
        raise UnsupportedDigestmodError(str(e)) from None


def pbkdf2_hmac(hash_name, password, salt, iterations, dklen=None):
    name = _name(hash_name)
    if name in ("shake_128", "shake_256", "md5-sha1"):
        raise UnsupportedDigestmodError(f"unsupported hash type {hash_name}")
    if not isinstance(hash_name, str):
        raise TypeError("hash_name must be a string")
    password, salt = _bytes(password), _bytes(salt)
    if iterations < 1:
        raise ValueError("iteration value must be greater than 0.")
    if iterations > 0x7FFFFFFF:
        raise OverflowError("iteration value is too great.")
    size = new(name).digest_size
    if dklen is None:
        dklen = size
    if dklen < 1:
        raise ValueError("key length must be greater than 0.")
    if dklen > 0x7FFFFFFF:
        raise OverflowError("key length is too great.")
    if len(password) > 1 << 16:  # HMAC hashes a long key first
        password = new(name, password).digest()
    argument = {"name": name, "password": _text(password), "salt": _text(salt)}
    key = bytearray()
    while len(key) < dklen:
        block = {"u": None, "t": None, "index": len(key) // size + 1}
        left = iterations
        while left:
            step = _ask("pbkdf2", {**argument, **block, "rounds": left})
            block["u"], block["t"] = step["u"], step["t"]
            left -= step["done"]
        key += binascii.a2b_base64(block["t"])
    return bytes(key[:dklen])


def scrypt(password, *, salt, n, r, p, maxmem=0, dklen=64):
    password, salt = _bytes(password), _bytes(salt)
    for value, what in (n, "n"), (r, "r"), (p, "p"):
        if not isinstance(value, int):
            raise TypeError(f"{what} is required and must be an unsigned int")
    if n < 2 or n & (n - 1):
        raise ValueError("n must be a power of 2.")
    if not 0 <= maxmem <= 0x7FFFFFFF:
        raise ValueError("maxmem must be positive and smaller than 2147483647")
    if not 1 <= dklen <= 0x7FFFFFFF:
        raise ValueError("dklen must be greater than 0 and smaller than 2147483647")
    # OpenSSL's bounds, see providers/implementations/kdfs/scrypt.c.
    if r < 1 or p < 1 or r * p >= 1 << 30 or 16 * r <= 62 and n >= 1 << (16 * r):
        raise ValueError("Invalid parameter combination for n, r, p, maxmem.")
    if 128 * r * (p + n + 2) > (maxmem or 32 << 20):
        raise ValueError("Invalid parameter combination for n, r, p, maxmem.")
    blocks = pbkdf2_hmac("sha256", password, salt, 1, 128 * r * p)
    mixed = bytearray()
    for i in range(0, len(blocks), 128 * r):
        mixed += binascii.a2b_base64(_ask("romix", n, blocks[i : i + 128 * r]))
    return pbkdf2_hmac("sha256", password, mixed, 1, dklen)
