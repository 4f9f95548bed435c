"""What CPython's _ssl takes from OpenSSL, by the host (pyodide/tlsbio).

A context is kept here, so that a snapshot has it. A connection is a descriptor of
the host's device; what is fed and taken goes through a socket or two MemoryBIOs.
See https://docs.python.org/3.14/library/ssl.html and Modules/_ssl.c.
"""

import os
import secrets
import weakref

import _hashlib
import _ssl_names as _names
from _ssl_connection import BIOs, MemoryBIO, SSLSession, Wire, _SSLSocket
from _ssl_host import *
from _ssl_host import Certificate, _test_decode_cert
from _ssl_names import *
from _ssl_names import CIPHERS, CIPHERS_13, CURVES, OBJECTS, choose

OPENSSL_VERSION_NUMBER = 0x30500000
OPENSSL_VERSION_INFO = _OPENSSL_API_VERSION = (3, 5, 0, 0, 0)
OPENSSL_VERSION = "OpenSSL 3.5.0 (API only: Go's crypto/tls)"
_DEFAULT_CIPHERS = "ECDHE"


RAND_bytes = secrets.token_bytes


def RAND_status():
    return True


def RAND_add(string, entropy, /):
    """The host's generator needs nothing added."""


def txt2obj(txt, name=False):
    for oid, (nid, short, long) in OBJECTS.items():
        if txt == oid or name and txt in (short, long):
            return nid, short, long, oid
    raise ValueError(f"unknown object '{txt[:100]}'")


def nid2obj(nid, /):
    if nid < 0:
        raise ValueError("NID must be positive")
    for oid, (number, short, long) in OBJECTS.items():
        if number == nid:
            return nid, short, long, oid
    raise ValueError(f"unknown NID {nid}")


def get_default_verify_paths():
    return "SSL_CERT_FILE", "/etc/ssl/cert.pem", "SSL_CERT_DIR", "/etc/ssl/certs"


class _SSLContext:
    """A configuration of connections. All of it is here; the host is told of it
    for each connection, but for certificates and keys that it knows by now."""

    def __init__(self, protocol):
        client = protocol == PROTOCOL_TLS_CLIENT
        self._protocol = protocol
        self._check_hostname, self._verify_mode = client, CERT_REQUIRED if client else CERT_NONE
        self._minimum, self._maximum = PROTO_TLSv1_2, PROTO_MAXIMUM_SUPPORTED
        if PROTOCOL_TLSv1 <= protocol <= PROTOCOL_TLSv1_2:
            self._minimum = self._maximum = protocol - PROTOCOL_TLSv1 + PROTO_TLSv1
        self._options = OP_ALL | OP_NO_SSLv3 | OP_CIPHER_SERVER_PREFERENCE | OP_NO_COMPRESSION | OP_ENABLE_MIDDLEBOX_COMPAT
        self._verify_flags, self._host_flags = VERIFY_X509_TRUSTED_FIRST, 0
        self._ciphers, self._alpn, self._curve = None, [], None
        self._roots = {}  # certificates in DER, and whether they are of authorities
        self._directories = []
        self._system = False
        self._chains = []  # requests to the host, in the order of their loading
        self._materials = {}  # requests by the key that the host has for them
        self._sni = self._callback = None
        self._tickets = 2
        self._ticket_key = None
        self.keylog_filename = None
        self.post_handshake_auth = False

    def _config(self, server_side, name, session):
        low, high = self._versions()
        config = {"Server": server_side, "Verify": int(self._verify_mode), "Min": low, "Max": high, "ALPN": self._alpn, "KeyLog": bool(self.keylog_filename)}
        if name:
            config["Name"] = name
            config["CheckName"] = self._check_hostname
            config["NoCommonName"] = bool(self._host_flags & HOSTFLAG_NEVER_CHECK_SUBJECT)
        if self._ciphers is not None:
            config["Ciphers"] = [suite[0] for suite in self._ciphers]
        if self._curve:
            config["Curves"] = [self._curve]
        if self._verify_mode != CERT_NONE:
            self._load_directories()
            config["System"] = self._system
            config["CRL"] = bool(self._verify_flags & VERIFY_CRL_CHECK_LEAF)
            if self._roots:
                der = b"".join(self._roots)
                config["Roots"] = [self._keep(der, b"M" + der)]
        config["Chains"] = [self._keep(text, request) for text, request in self._chains]
        if server_side:
            config["AskConfig"] = self._sni is not None
            if self._tickets and not self._options & OP_NO_TICKET:
                self._ticket_key = self._ticket_key or secrets.token_bytes(32)
                config["TicketKey"] = b64(self._ticket_key)
        elif session is not None:
            config["Session"] = session._data
        return config

    def _keep(self, data, request):
        key = _hashlib.new("sha256", data).hexdigest()
        self._materials[key] = request
        return key

    def _versions(self):
        """The lowest and the highest version that are allowed without a gap."""
        low = PROTO_TLSv1 if self._minimum == PROTO_MINIMUM_SUPPORTED else max(self._minimum, PROTO_TLSv1)
        high = PROTO_TLSv1_3 if self._maximum == PROTO_MAXIMUM_SUPPORTED else self._maximum
        refused = {PROTO_TLSv1: OP_NO_TLSv1, PROTO_TLSv1_1: OP_NO_TLSv1_1, PROTO_TLSv1_2: OP_NO_TLSv1_2, PROTO_TLSv1_3: OP_NO_TLSv1_3}
        allowed = [v for v in range(low, high + 1) if not self._options & refused[v]]
        if not allowed:
            raise failure("SSL", "NO_PROTOCOLS_AVAILABLE", "no protocols available")
        low = high = allowed[-1]
        while low - 1 in allowed:
            low -= 1
        return low, high

    def _wrap_socket(self, sock, server_side, server_hostname=None, *, owner=None, session=None, methods=None):
        return self._wrap(Wire(sock, methods or type(sock)), server_side, server_hostname, owner, session)

    def _wrap_bio(self, incoming, outgoing, server_side, server_hostname=None, *, owner=None, session=None):
        if not isinstance(incoming, MemoryBIO) or not isinstance(outgoing, MemoryBIO):
            raise TypeError("_wrap_bio() arguments must be _ssl.MemoryBIO objects")
        return self._wrap(BIOs(incoming, outgoing), server_side, server_hostname, owner, session)

    def _wrap(self, way, server_side, name, owner, session):
        if server_side and self._protocol == PROTOCOL_TLS_CLIENT:
            raise failure("SSL", None, "Cannot create a server socket with a PROTOCOL_TLS_CLIENT context")
        if not server_side and self._protocol == PROTOCOL_TLS_SERVER:
            raise failure("SSL", None, "Cannot create a client socket with a PROTOCOL_TLS_SERVER context")
        if name is not None:
            if isinstance(name, bytes):
                name = name.decode()
            if not name or name.startswith("."):
                raise ValueError("server_hostname cannot be an empty string or start with a leading dot.")
            if "\0" in name:
                raise TypeError("embedded null character")
        made = _SSLSocket(self, way, server_side, name, None if owner is None else weakref.ref(owner), None)
        if session is not None:
            made.session = session
        return made

    # ---- certificates

    def load_verify_locations(self, cafile=None, capath=None, cadata=None):
        if cafile is None and capath is None and cadata is None:
            raise TypeError("cafile, capath and cadata cannot be all omitted")
        for path, what in (cafile, "cafile"), (capath, "capath"):
            if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
                raise TypeError(f"{what} should be a valid filesystem path")
        if cadata is not None:
            self._add(*self._read_data(cadata))
        if cafile is not None:
            with open(cafile, "rb") as f:
                text = f.read()
            try:
                found = list(pem_certificates(text))
            except SSLError:
                raise failure("X509", "PEM_LIB", "PEM lib") from None
            self._add(found, "X509: NO_CERTIFICATE_OR_CRL_FOUND", "no certificate or crl found")
        if capath is not None:
            if cafile is None and cadata is None:
                os.stat(capath)
            self._directories.append(os.fspath(capath))

    @staticmethod
    def _read_data(data):
        if isinstance(data, str):
            try:
                data = data.encode("ascii")
            except UnicodeEncodeError:
                raise ValueError("cadata should be an ASCII string or a bytes-like object") from None
            if not data:
                raise ValueError("Empty certificate data")
            return list(pem_certificates(data)), "PEM: NO_START_LINE", "no start line: cadata does not contain a certificate"
        try:
            data = bytes(memoryview(data))
        except TypeError:
            raise TypeError("cadata should be an ASCII string or a bytes-like object") from None
        if not data:
            raise ValueError("Empty certificate data")
        return [data], "ASN1: NOT_ENOUGH_DATA", "not enough data: cadata does not contain a certificate"

    def _add(self, certificates, reason, text):
        data = b"".join(certificates)
        if not data or data[0] != 0x30:
            library, _, reason = reason.partition(": ")
            raise failure(library, reason, text)
        at = 0
        for found in ask_once(b"M" + data):
            der = data[at : at + found["length"]]
            self._roots[der] = self._roots.get(der, found["ca"])
            at += found["length"]

    def _load_directories(self):
        while self._directories:
            directory = self._directories.pop()
            try:
                names = sorted(os.listdir(directory))
            except OSError:
                continue
            for name in map(os.fsdecode, names):
                if name.rpartition(".")[2].isdigit():  # as c_rehash names them
                    try:
                        self.load_verify_locations(os.path.join(os.fsdecode(directory), name))
                    except OSError:
                        pass

    def set_default_verify_paths(self):
        """The host's authorities, unless the program's environment names others."""
        file, directory = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        if file is None and directory is None:
            self._system = True
            return
        if file:
            try:
                self.load_verify_locations(file)
            except OSError:
                pass  # as OpenSSL, which then trusts none
        if directory:
            self._directories += directory.split(":")

    def load_cert_chain(self, certfile, keyfile=None, password=None):
        with open(certfile, "rb") as f:
            chain = f.read()
        key = chain
        if keyfile is not None:
            with open(keyfile, "rb") as f:
                key = f.read()
        request = {"Chain": b64(chain), "Key": b64(key), "Password": b64(_password(password, b"ENCRYPTED" in key))}
        text = ask_once(config_request(b"K", request))
        again = b64(text)
        self._chains.append((text, config_request(b"K", {"Chain": again, "Key": again})))

    def cert_store_stats(self):
        return {"x509": len(self._roots), "crl": 0, "x509_ca": sum(self._roots.values())}

    def get_ca_certs(self, binary_form=False):
        return [der if binary_form else decode(der) for der, ca in self._roots.items() if ca]

    # ---- ciphers and protocols

    def set_ciphers(self, cipherlist, /):
        chosen = choose(cipherlist)
        if not chosen:
            raise SSLError("No cipher can be selected.")
        self._ciphers = chosen

    def get_ciphers(self):
        chosen = [s for s in CIPHERS if "ECDHE" in s[4]] if self._ciphers is None else self._ciphers
        return [
            {"id": 0x03000000 | number, "name": name, "protocol": protocol, "description": f"{name} {protocol}", "strength_bits": bits,
             "alg_bits": bits, "aead": "GCM" in name or "CHACHA20" in name, "symmetric": "chacha20-poly1305" if "CHACHA20" in name else f"aes-{bits}-" + ("gcm" if "GCM" in name else "cbc"),
             "digest": None if "GCM" in name or "CHACHA20" in name else "sha256" if name.endswith("256") else "sha1",
             "kea": "kx-any" if protocol == "TLSv1.3" else "kx-ecdhe" if "ECDHE" in name else "kx-rsa",
             "auth": "auth-any" if protocol == "TLSv1.3" else "auth-ecdsa" if "ECDSA" in name else "auth-rsa"}
            for number, name, protocol, bits, _ in CIPHERS_13 + chosen
        ]  # fmt: skip

    def _set_alpn_protocols(self, protocols):
        self._alpn = protocols

    def set_ecdh_curve(self, name, /):
        if isinstance(name, bytes):
            name = name.decode()
        if not isinstance(name, str):
            raise TypeError("curve name must be a string or bytes")
        if name not in CURVES:
            raise ValueError(f"unknown elliptic curve name {name!r}")
        self._curve = CURVES[name]

    def load_dh_params(self, path, /):
        """There is no key exchange that uses them."""
        with open(path, "rb") as f:
            if b"-----BEGIN DH PARAMETERS-----" not in f.read():
                raise failure("PEM", "NO_START_LINE", "no start line")

    def session_stats(self):
        return dict.fromkeys(("number", "connect", "connect_good", "connect_renegotiate", "accept", "accept_good", "accept_renegotiate", "hits", "misses", "timeouts", "cache_full"), 0)


def _password(password, encrypted):
    """A password's bytes, which a function may tell if they are needed."""
    called = callable(password)
    if called and encrypted:
        password = password()
    elif called:
        password = None
    if isinstance(password, str):
        password = password.encode()
    if password is not None and not isinstance(password, (bytes, bytearray)):
        raise TypeError("password callback must return a string" if called else "password should be a string or callable")
    if password is not None and len(password) > 1024:
        raise ValueError("password cannot be longer than 1024 bytes")
    return bytes(password or b"")
