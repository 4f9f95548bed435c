"""The host's half of TLS (pyodide/tlsbio), as _ssl's modules use it: requests, and
the errors that they end with."""

import binascii
import json
import os
import struct
from _thread import allocate_lock

import _hashlib
from _ssl_names import *

DEVICE = "/dev/coderunner-tls"
HEADER = struct.Struct("<BIII")
DONE, WANT_READ, WANT_CONFIG, FAILED, CLOSED = range(5)  # statuses of answers
JSON, MISSING = 16, 17


class SSLError(OSError):
    """A failure of TLS, with OpenSSL's names for where and why."""

    library = reason = None

    def __str__(self):
        return self.strerror if isinstance(self.strerror, str) else str(self.args)


class SSLZeroReturnError(SSLError):
    """Both sides have closed the connection."""


class SSLWantReadError(SSLError):
    """A socket that does not block has nothing to read now."""


class SSLWantWriteError(SSLError):
    """A socket that does not block takes nothing now."""


class SSLSyscallError(SSLError):
    """A system call failed; the host has none that can."""


class SSLEOFError(SSLError):
    """The peer went away without closing the connection in TLS."""


class SSLCertVerificationError(SSLError, ValueError):
    """The peer's certificate is not valid."""


for _type in SSLError, SSLZeroReturnError, SSLWantReadError, SSLWantWriteError, SSLSyscallError, SSLEOFError, SSLCertVerificationError:
    _type.__module__ = "ssl"


def error(e):
    """The exception for an error of the host."""
    library, reason, text = e["library"] or "SSL", e["reason"], e["text"]
    if e["code"]:
        reason = "CERTIFICATE_VERIFY_FAILED"
        made = SSLCertVerificationError(1, f"[SSL: {reason}] certificate verify failed: {e['message']}")
        made.verify_code, made.verify_message = e["code"], e["message"]
    else:
        kind, number = (SSLEOFError, SSL_ERROR_EOF) if e["eof"] else (SSLError, SSL_ERROR_SSL)
        made = kind(number, f"[{library}: {reason}] {text}" if reason else f"[{library}] {text}")
    made.library, made.reason = library, reason or None
    return made


def failure(library, reason, text):
    """An SSLError like those of the host."""
    return error({"library": library, "reason": reason, "text": text, "code": 0, "eof": False})


def want_read():
    return SSLWantReadError(SSL_ERROR_WANT_READ, "The operation did not complete (read)")


def want_write():
    return SSLWantWriteError(SSL_ERROR_WANT_WRITE, "The operation did not complete (write)")


class Host:
    """One open of the device."""

    def __init__(self):
        self._fd = os.open(DEVICE, os.O_RDWR | os.O_CLOEXEC)
        self._lock = allocate_lock()
        self.pending = 0

    def __del__(self):
        self.close()

    def close(self):
        fd, self._fd = getattr(self, "_fd", -1), -1
        if fd >= 0:
            os.close(fd)

    def ask(self, request, room=1024):
        """The answer's status, plaintext and ciphertext."""
        with self._lock:
            view = memoryview(request)
            while view:
                view = view[os.write(self._fd, view) :]
            answer = os.read(self._fd, room + 64)
            status, self.pending, plain, cipher = HEADER.unpack_from(answer)
            size = HEADER.size + plain + cipher
            while len(answer) < size:
                answer += os.read(self._fd, size - len(answer))
        at = HEADER.size + plain
        plain, cipher = answer[HEADER.size : at], answer[at:]
        if status == JSON:
            plain = json.loads(plain)
        elif status == FAILED:
            plain = error(json.loads(plain))
        elif status > MISSING:
            text = json.loads(plain)
            raise (MemoryError if "memory" in text else ValueError)(text)
        return status, plain, cipher

    def need(self, request):
        """The plaintext or JSON of an answer that cannot fail but by an SSLError."""
        status, plain, _ = self.ask(request)
        if status == FAILED:
            raise plain
        return plain


def ask_once(request):
    host = Host()
    try:
        return host.need(request)
    finally:
        host.close()


def b64(data):
    return binascii.b2a_base64(data, newline=False).decode()


def config_request(letter, config):
    return letter + json.dumps(config).encode()


class Certificate:
    """A certificate of a peer's chain."""

    def __init__(self, der):
        self._der = der

    def public_bytes(self, format=ENCODING_PEM, /):
        if format == ENCODING_DER:
            return self._der
        if format != ENCODING_PEM:
            raise ValueError("Unsupported format")
        text = binascii.b2a_base64(self._der, newline=False).decode()
        lines = [text[i : i + 64] for i in range(0, len(text), 64)]
        return "\n".join(["-----BEGIN CERTIFICATE-----", *lines, "-----END CERTIFICATE-----", ""])

    def get_info(self):
        return decode(self._der)

    def __eq__(self, other):
        return self._der == other._der if isinstance(other, Certificate) else NotImplemented

    def __hash__(self):
        return hash(self._der)


def decode(der):
    d = ask_once(b"D" + der)
    for key in "subject", "issuer":
        d[key] = _name(d[key])
    if "subjectAltName" in d:
        d["subjectAltName"] = tuple((kind, _name(v) if isinstance(v, list) else v) for kind, v in d["subjectAltName"])
    return {key: tuple(value) if isinstance(value, list) else value for key, value in d.items()}


def _name(sets):
    return tuple(tuple(map(tuple, pairs)) for pairs in sets)


def _test_decode_cert(path):
    with open(path, "rb") as f:
        return decode(next(iter(pem_certificates(f.read()))))


def pem_certificates(data):
    """The certificates in PEM, in DER."""
    begin, end = b"-----BEGIN CERTIFICATE-----", b"-----END CERTIFICATE-----"
    data = data.replace(b"X509 CERTIFICATE", b"CERTIFICATE").replace(b"TRUSTED CERTIFICATE", b"CERTIFICATE")
    parts = data.split(begin)[1:]
    for part in parts:
        body, found, _ = part.partition(end)
        try:
            yield binascii.a2b_base64(body) if found else b""
        except ValueError:
            raise failure("PEM", "BAD_BASE64_DECODE", "bad base64 decode") from None


class SSLSession:
    """A client's session, which another connection of its context can go on with."""

    def __init__(self, context, data):
        import time

        self._context, self._data = context, data
        self.time, self.timeout, self.has_ticket, self.ticket_lifetime_hint = int(time.time()), 7200, True, 7200
        self.id = _hashlib.new("sha256", data.encode()).digest()

    def __eq__(self, other):
        return self.id == other.id if isinstance(other, SSLSession) else NotImplemented

    def __hash__(self):
        return hash(self.id)
