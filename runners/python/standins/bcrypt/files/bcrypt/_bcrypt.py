"""bcrypt by the host, in place of Rust's."""

import base64
import hmac
import importlib.metadata
import os

import _coderunner

__title__, __version_ex__ = "bcrypt", importlib.metadata.version("bcrypt")
__author__, __email__ = "The Python Cryptographic Authority developers", "cryptography-dev@python.org"
__summary__, __uri__ = "Modern password hashing for your software and your servers", "https://github.com/pyca/bcrypt/"
__license__, __copyright__ = "Apache License, Version 2.0", f"Copyright 2013-2025 {__author__}"

_LONGEST = 72  # bytes of a password
_PLAIN = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_OURS = b"./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
_encode, _decode = bytes.maketrans(_PLAIN, _OURS), bytes.maketrans(_OURS, _PLAIN)


def _base64(data):
    return base64.b64encode(data).rstrip(b"=").translate(_encode)


def gensalt(rounds=12, prefix=b"2b"):
    if prefix not in (b"2a", b"2b"):
        raise ValueError("Supported prefixes are b'2a' or b'2b'")
    if not 4 <= rounds <= 31:
        raise ValueError("Invalid rounds")
    return b"$%b$%02d$%b" % (prefix, rounds, _base64(os.urandom(16)))


def hashpw(password, salt):
    for name, value in (("password", password), ("salt", salt)):
        if type(value) is not bytes:
            raise TypeError(f"argument '{name}': '{type(value).__name__}' object cannot be converted to 'PyBytes'")
    if len(password) > _LONGEST:
        raise ValueError("password cannot be longer than 72 bytes, truncate manually if necessary (e.g. my_password[:72])")
    parts = salt.split(b"$")
    if len(parts) != 4 or parts[0] or parts[1] not in (b"2y", b"2b", b"2a", b"2x") or len(parts[3]) < 22:
        raise ValueError("Invalid salt")
    prefix, rounds, text = parts[1], parts[2], parts[3][:22]
    if len(rounds) != 2 or not rounds.isdigit() or not 4 <= int(rounds) <= 31 or text.strip(_OURS):
        raise ValueError("Invalid salt")
    raw = base64.b64decode(text.translate(_decode) + b"==")
    made = _coderunner.call("bcrypt", {"password": base64.b64encode(password).decode(), "salt": base64.b64encode(raw).decode(), "cost": int(rounds)})
    return b"$%b$%b$%b%b" % (prefix, rounds, _base64(raw), _base64(base64.b64decode(made)))


def checkpw(password, hashed_password):
    return hmac.compare_digest(hashpw(password, hashed_password), hashed_password)


def kdf(password, salt, desired_key_bytes, rounds, ignore_few_rounds=False):
    raise NotImplementedError("bcrypt.kdf is not here: derive keys with hashlib.scrypt or hashlib.pbkdf2_hmac")
