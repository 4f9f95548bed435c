"""Connections: what _ssl._SSLContext._wrap_socket and _wrap_bio return."""

import binascii
import json
import struct
import sys
from socket import MSG_PEEK

from _ssl_host import *
from _ssl_names import *
from _ssl_names import BY_NUMBER

_STEP = struct.Struct("<cBI")
_RECORD = 1 << 14  # bytes of a record's plaintext
_PIECE = 1 << 18  # bytes of a request


class MemoryBIO:
    """Bytes between two sides of a connection."""

    def __init__(self):
        self._data = bytearray()
        self._ended = False

    def read(self, size=-1, /):
        if size < 0 or size >= len(self._data):
            data, self._data = bytes(self._data), bytearray()
        else:
            data = bytes(self._data[:size])
            del self._data[:size]
        return data

    def write(self, b, /):
        if isinstance(b, (str, int)) or b is None:
            raise TypeError(f"a bytes-like object is required, not '{type(b).__name__}'")
        with memoryview(b) as view:
            if not view.c_contiguous:
                raise BufferError("memoryview: underlying buffer is not C-contiguous")
            if self._ended:
                raise SSLError("cannot write() after write_eof()")
            self._data += view.cast("B") if view.nbytes else b""
            return view.nbytes

    def write_eof(self):
        self._ended = True

    @property
    def pending(self):
        return len(self._data)

    @property
    def eof(self):
        return self._ended and not self._data


class BIOs:
    """A connection's way to its peer by two MemoryBIOs."""

    def __init__(self, incoming, outgoing):
        self._in, self._out = incoming, outgoing

    def take(self, room):
        """More from the peer, and whether that was all."""
        data = self._in.read(_PIECE)
        if not data and not self._in.eof:
            raise want_read()
        return data, self._in.eof

    def send(self, data):
        self._out.write(data)
        return len(data)

    def give_back(self, data):
        self._in._data[:0] = data


class Wire:
    """A connection's way to its peer by a socket, whose own methods are hidden by
    those of SSLSocket."""

    def __init__(self, sock, methods):
        self._sock, self._methods = sock, methods
        self._record = b""  # what is there of one

    def take(self, room):
        """One record, or as many as are there and have room, and never more: what is
        left in the socket makes it readable, so that select tells of it."""
        if not self._record and room > _RECORD:
            whole = self._whole(room)
            if whole:
                return self._methods.recv(self._sock, whole), False
        missing = data = True
        while missing and data:
            missing = 5 - len(self._record)  # of its header: type, version, length
            if missing <= 0:
                missing += self._record[3] << 8 | self._record[4]
                if not missing or self._record[1] != 3:  # not TLS, as the host will say
                    break
            try:
                data = self._methods.recv(self._sock, missing)
            except BlockingIOError:
                raise want_read() from None
            self._record += data
        record, self._record = self._record, b""
        return record, not data

    def _whole(self, room):
        """The size of the whole records that are in the socket."""
        try:
            data = self._methods.recv(self._sock, min(room, _PIECE), MSG_PEEK)
        except BlockingIOError:
            raise want_read() from None
        end = at = 0
        while at <= len(data):
            end = at
            if len(data) - at < 5 or data[at + 1] != 3:
                break
            at += 5 + (data[at + 3] << 8 | data[at + 4])
        return end

    def send(self, data):
        try:
            return self._methods.send(self._sock, data)
        except BlockingIOError:
            raise want_write() from None

    def give_back(self, data):
        """Nothing is left over: records are read exactly."""


class _SSLSocket:
    """A connection. Its methods are those of _ssl._SSLSocket."""

    def __init__(self, context, way, server_side, server_hostname, owner, session):
        self._context, self._way, self._owner = context, way, owner
        self.server_side, self.server_hostname = server_side, server_hostname
        self._session = session
        self._host = None
        self._out = bytearray()  # for the peer, not sent yet
        self._starved = self._established = self._shut = self._heard = False
        self._accepted = 0  # bytes of a write that are in _out

    @property
    def owner(self):
        return self._owner and self._owner()

    @property
    def context(self):
        return self._context

    @context.setter
    def context(self, context):
        if not hasattr(context, "_config"):
            raise TypeError("The value must be a SSLContext")
        self._context = context

    def _open(self):
        self._host = Host()
        self._supply(b"O", self._context._config(self.server_side, self.server_hostname, self._session))

    def _supply(self, letter, config):
        """Makes a request with a configuration, and sends what the host lacks."""
        for _ in range(20):
            status, plain, _ = self._host.ask(config_request(letter, config))
            if status == FAILED:
                raise plain
            if status != MISSING:
                return
            self._host.need(self._context._materials[plain.decode()])
        raise MemoryError("the host cannot keep the certificates")

    def _flush(self):
        while self._out:
            del self._out[: self._way.send(self._out)]

    def _ask(self, request, room=1024):
        status, plain, cipher = self._host.ask(request, room)
        self._out += cipher
        if status == FAILED:
            try:
                self._flush()  # an alert
            except OSError:
                pass
            raise plain
        return status, plain

    def _step(self, letter, n=0):
        """Goes on until the step ends, or the way to the peer is blocked."""
        fed, end = b"", False
        self._starved = self._starved and letter != b"S"  # which sends first
        while True:
            self._flush()
            if self._starved and not fed and not end:
                # A server's first words are of the handshake alone: it waits for an answer.
                first = letter == b"H" and not (self.server_side or self._heard)
                fed, end = self._way.take(_PIECE if first else n)
                self._heard = True
            status, plain = self._ask(_STEP.pack(letter, end, n) + fed, n)
            fed = b""
            if self._out:
                try:
                    self._flush()
                except SSLWantWriteError:
                    if status == WANT_READ or letter != b"R":
                        raise
            self._starved = status == WANT_READ
            if status == WANT_CONFIG:
                self._choose(json.loads(plain))
            elif status != WANT_READ:
                return status, plain

    def _choose(self, name):
        """Calls the context's sni_callback."""
        before = self._context
        try:
            alert = before._sni(self.owner, name or None, before)
        except BaseException as e:
            sys.unraisablehook(_Unraisable(e, before._sni))
            alert = ALERT_DESCRIPTION_HANDSHAKE_FAILURE
        if alert is not None:
            if not isinstance(alert, int):
                sys.unraisablehook(_Unraisable(TypeError(f"'{type(alert).__name__}' object cannot be interpreted as an integer"), before._sni))
                alert = ALERT_DESCRIPTION_INTERNAL_ERROR
            self._host.need(b"A" + bytes((alert & 0xFF,)))
        elif self._context is not before:
            self._supply(b"C", self._context._config(True, None, None))

    def do_handshake(self):
        if self._host is None:
            self._open()
        self._step(b"H")
        self._established = True
        if self._context.keylog_filename:
            self._log_keys()

    def _log_keys(self):
        keys = self._info()["keys"]
        if keys:
            with open(self._context.keylog_filename, "a") as f:
                f.write(keys)

    def _info(self):
        return self._host.need(b"I") if self._established else None

    def read(self, size=1024, buffer=None, /):
        if buffer is not None:
            with memoryview(buffer) as view:
                size = view.nbytes if size <= 0 else min(size, view.nbytes)
                data = self._read(size)
                view.cast("B")[: len(data)] = data
                return len(data)
        if size < 0:
            raise ValueError("size should not be negative")
        return self._read(size)

    def _read(self, size):
        if not self._established:
            self.do_handshake()
        if size == 0:
            return b""
        try:
            status, plain = self._step(b"R", min(size, 1 << 20))
        except SSLEOFError:
            if not self._context._options & OP_IGNORE_UNEXPECTED_EOF:
                raise
            status = CLOSED
        if status == CLOSED:
            if self._shut:
                raise SSLZeroReturnError(SSL_ERROR_ZERO_RETURN, "TLS/SSL connection has been closed (EOF)")
            return b""
        return plain

    def write(self, b, /):
        if not self._established:
            self.do_handshake()
        if self._accepted:  # the same bytes again, after SSLWantWriteError
            self._flush()
            n, self._accepted = self._accepted, 0
            return n
        self._flush()
        with memoryview(b) as view, view.cast("B") as data:
            n = 0
            while n < len(data):
                piece = data[n : n + _PIECE]
                self._ask(b"".join((b"W", piece)), len(piece) + 1024)
                n += len(piece)
                try:
                    self._flush()
                except SSLWantWriteError:
                    if n == len(piece):
                        self._accepted = n
                        raise
                    return n  # the rest of what is in _out goes with the next call
            return n

    def pending(self):
        return self._host.pending if self._established else 0

    def shutdown(self):
        if self._host is None:
            raise SSLError("SHUTDOWN_WHILE_IN_INIT")
        self._shut = True
        try:
            self._step(b"S")
        except SSLEOFError:
            if not self._context._options & OP_IGNORE_UNEXPECTED_EOF:
                raise
        self._way.give_back(self._host.need(b"L"))
        return self.owner

    def getpeercert(self, binary_form=False, /):
        if not self._established:
            raise ValueError("handshake not done yet")
        peer = self._info()["peer"]
        if not peer:
            return None
        der = binascii.a2b_base64(peer[0])
        if binary_form:
            return der
        return decode(der) if self._context.verify_mode != CERT_NONE else {}

    def _chain(self, which):
        info = self._info()
        return [Certificate(binascii.a2b_base64(der)) for der in info[which] or ()] if info else None

    def get_verified_chain(self):
        return self._chain("verified")

    def get_unverified_chain(self):
        return self._chain("peer")

    def selected_alpn_protocol(self):
        info = self._info()
        return info and info["alpn"] or None

    def cipher(self):
        info = self._info()
        return info and _cipher(info["cipher"])

    def shared_ciphers(self):
        info = self._info()
        return [_cipher(n) for n in info["shared"] if n in BY_NUMBER] if info and info["shared"] else None

    def compression(self):
        return None

    def version(self):
        info = self._info()
        return info and {0x301: "TLSv1", 0x302: "TLSv1.1", 0x303: "TLSv1.2", 0x304: "TLSv1.3"}.get(info["version"])

    def get_channel_binding(self, cb_type="tls-unique"):
        if cb_type != "tls-unique":
            raise ValueError(f"'{cb_type}' channel binding type not implemented")
        info = self._info()
        return binascii.a2b_base64(info["unique"]) if info and info["unique"] else None

    @property
    def session(self):
        info = self._info()
        if info is None or self.server_side or not info["session"]:
            return self._session
        return SSLSession(self._context, info["session"])

    @session.setter
    def session(self, value):
        if not isinstance(value, SSLSession):
            raise TypeError("Value is not a SSLSession.")
        if value._context is not self._context:
            raise ValueError("Session refers to a different SSLContext.")
        if self.server_side:
            raise ValueError("Cannot set session for server-side SSLSocket.")
        if self._host is not None:
            raise ValueError("Cannot set session after handshake.")
        self._session = value

    @property
    def session_reused(self):
        info = self._info()
        return info and info["reused"]

    def verify_client_post_handshake(self):
        raise NotImplementedError("Post-handshake auth is not supported by Go's crypto/tls")


class _Unraisable:
    """What sys.unraisablehook is given."""

    def __init__(self, e, where):
        self.exc_type, self.exc_value, self.exc_traceback = type(e), e, e.__traceback__
        self.err_msg, self.object = None, where


def _cipher(number):
    _, name, protocol, bits, _ = BY_NUMBER.get(number, (0, f"{number:#06x}", "TLSv1.2", 0, None))
    return name, protocol, bits
