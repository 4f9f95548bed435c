"""TLS, as CPython's ssl has it: what Lib/ssl.py adds to _ssl.

See https://docs.python.org/3.14/library/ssl.html.
"""

import base64 as _base64
import os as _os
import socket as _socket_module
import sys as _sys
import warnings as _warnings
from collections import namedtuple as _namedtuple
from enum import Enum as _Enum, IntEnum as _IntEnum, IntFlag as _IntFlag
from socket import SO_TYPE, SOCK_STREAM, SOL_SOCKET, create_connection, socket  # noqa: F401

import _ssl
from _ssl import (  # noqa: F401
    HAS_ALPN, HAS_ECDH, HAS_NPN, HAS_PHA, HAS_PSK, HAS_PSK_TLS13, HAS_SNI, HAS_SSLv2, HAS_SSLv3, HAS_TLSv1, HAS_TLSv1_1, HAS_TLSv1_2, HAS_TLSv1_3,
    MemoryBIO, OPENSSL_VERSION, OPENSSL_VERSION_INFO, OPENSSL_VERSION_NUMBER, RAND_add, RAND_bytes, RAND_status,
    SSLCertVerificationError, SSLEOFError, SSLError, SSLSession, SSLSyscallError, SSLWantReadError, SSLWantWriteError, SSLZeroReturnError,
    _DEFAULT_CIPHERS, _OPENSSL_API_VERSION, _SSLContext, _names, txt2obj as _txt2obj, nid2obj as _nid2obj,
)  # fmt: skip

CertificateError = SSLCertVerificationError
socket_error = OSError
CHANNEL_BINDING_TYPES = ["tls-unique"]
HAS_NEVER_CHECK_COMMON_NAME = True
_RESTRICTED_SERVER_CIPHERS = _DEFAULT_CIPHERS
PEM_HEADER = "-----BEGIN CERTIFICATE-----"
PEM_FOOTER = "-----END CERTIFICATE-----"


def _convert(kind, name, prefix, but=()):
    """An enumeration of _ssl's names, which this module has, too."""
    made = kind._convert_(name, __name__, lambda n: n.startswith(prefix) and n not in but, source=_ssl)
    return globals().setdefault(name, made)


_SSLMethod = _convert(_IntEnum, "_SSLMethod", "PROTOCOL_", ("PROTOCOL_SSLv23",))
Options = _convert(_IntFlag, "Options", "OP_")
AlertDescription = _convert(_IntEnum, "AlertDescription", "ALERT_DESCRIPTION_")
SSLErrorNumber = _convert(_IntEnum, "SSLErrorNumber", "SSL_ERROR_")
VerifyFlags = _convert(_IntFlag, "VerifyFlags", "VERIFY_")
VerifyMode = _convert(_IntEnum, "VerifyMode", "CERT_")
PROTOCOL_SSLv23 = _SSLMethod.PROTOCOL_SSLv23 = _SSLMethod.PROTOCOL_TLS
_PROTOCOL_NAMES = {value: name for name, value in _SSLMethod.__members__.items()}
TLSVersion = _IntEnum("TLSVersion", {n.removeprefix("PROTO_"): v for n, v in vars(_ssl).items() if n.startswith("PROTO_")}, module=__name__)
_TLSContentType = _IntEnum("_TLSContentType", _names.CONTENT_TYPES, module=__name__)
_TLSAlertType = _IntEnum("_TLSAlertType", _names.ALERT_TYPES, module=__name__)
_TLSMessageType = _IntEnum("_TLSMessageType", _names.MESSAGE_TYPES, module=__name__)

DefaultVerifyPaths = _namedtuple("DefaultVerifyPaths", "cafile capath openssl_cafile_env openssl_cafile openssl_capath_env openssl_capath")


def get_default_verify_paths():
    """The paths of the default authorities: only those of the environment are files."""
    file_variable, file, directory_variable, directory = paths = _ssl.get_default_verify_paths()
    cafile = _os.environ.get(file_variable, file)
    capath = _os.environ.get(directory_variable, directory)
    return DefaultVerifyPaths(cafile if _os.path.isfile(cafile) else None, capath if _os.path.isdir(capath) else None, *paths)


class _ASN1Object(_namedtuple("_ASN1Object", "nid shortname longname oid")):
    """An object identifier."""

    __slots__ = ()

    def __new__(cls, oid):
        return super().__new__(cls, *_txt2obj(oid, name=False))

    @classmethod
    def fromnid(cls, nid):
        return super().__new__(cls, *_nid2obj(nid))

    @classmethod
    def fromname(cls, name):
        return super().__new__(cls, *_txt2obj(name, name=True))


class Purpose(_ASN1Object, _Enum):
    """What a context authenticates."""

    SERVER_AUTH = "1.3.6.1.5.5.7.3.1"
    CLIENT_AUTH = "1.3.6.1.5.5.7.3.2"


_OLD_OPTIONS = Options.OP_NO_SSLv3 | Options.OP_NO_TLSv1 | Options.OP_NO_TLSv1_1 | Options.OP_NO_TLSv1_2 | Options.OP_NO_TLSv1_3


def _deprecated(what, depth=3):
    _warnings.warn(f"{what} deprecated", DeprecationWarning, stacklevel=depth)


class SSLContext(_SSLContext):
    """The settings and the certificates of connections."""

    _windows_cert_stores = ("CA", "ROOT")
    sslsocket_class = None  # SSLSocket and SSLObject
    sslobject_class = None

    def __init__(self, protocol=None):
        if protocol is None:
            _warnings.warn("ssl.SSLContext() without protocol argument is deprecated.", DeprecationWarning, stacklevel=2)
            protocol = PROTOCOL_TLS
        if not isinstance(protocol, int):
            raise TypeError(f"'{type(protocol).__name__}' object cannot be interpreted as an integer")
        if protocol not in _PROTOCOL_NAMES:
            raise ValueError(f"invalid or unsupported protocol version {protocol}")
        if protocol not in (PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER):
            _deprecated(f"ssl.{_PROTOCOL_NAMES[protocol]} is")
        super().__init__(protocol)

    def _encode_hostname(self, hostname):
        if hostname is None:
            return None
        return hostname.encode("idna").decode("ascii") if isinstance(hostname, str) else hostname.decode("ascii")

    def wrap_socket(self, sock, server_side=False, do_handshake_on_connect=True, suppress_ragged_eofs=True, server_hostname=None, session=None):
        return self.sslsocket_class._create(
            sock=sock, server_side=server_side, do_handshake_on_connect=do_handshake_on_connect,
            suppress_ragged_eofs=suppress_ragged_eofs, server_hostname=server_hostname, context=self, session=session,
        )  # fmt: skip

    def wrap_bio(self, incoming, outgoing, server_side=False, server_hostname=None, session=None):
        return self.sslobject_class._create(
            incoming, outgoing, server_side=server_side, server_hostname=self._encode_hostname(server_hostname), session=session, context=self
        )

    def set_npn_protocols(self, npn_protocols):
        _deprecated("ssl NPN is")

    def set_alpn_protocols(self, alpn_protocols):
        protocols = []
        for protocol in alpn_protocols:
            b = bytes(protocol, "ascii")
            if not 0 < len(b) < 256:
                raise SSLError("ALPN protocols must be 1 to 255 in length")
            protocols.append(protocol)
        self._set_alpn_protocols(protocols)

    @property
    def sni_callback(self):
        return self._callback

    @sni_callback.setter
    def sni_callback(self, callback):
        if self._protocol == PROTOCOL_TLS_CLIENT:
            raise ValueError("sni_callback cannot be set on TLS_CLIENT context")
        if callback is not None and not callable(callback):
            raise TypeError("not a callable object")
        self._sni = self._callback = callback

    set_servername_callback = lambda self, callback: setattr(self, "sni_callback", callback)  # noqa: E731

    def load_default_certs(self, purpose=Purpose.SERVER_AUTH):
        if not isinstance(purpose, _ASN1Object):
            raise TypeError(purpose)
        self.set_default_verify_paths()

    @property
    def protocol(self):
        return _SSLMethod(self._protocol)

    @property
    def minimum_version(self):
        return TLSVersion(self._minimum)

    @minimum_version.setter
    def minimum_version(self, value):
        value = self._version(value)
        self._minimum = _ssl.PROTO_TLSv1_3 if value == TLSVersion.MAXIMUM_SUPPORTED else value

    @property
    def maximum_version(self):
        return TLSVersion(self._maximum)

    @maximum_version.setter
    def maximum_version(self, value):
        value = self._version(value)
        self._maximum = _ssl.PROTO_TLSv1 if value == TLSVersion.MINIMUM_SUPPORTED else value

    def _version(self, value):
        if self._protocol not in (PROTOCOL_TLS, PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER):
            raise ValueError("The context's protocol doesn't support modification of highest and lowest version.")
        if value not in TLSVersion._value2member_map_:
            raise ValueError(f"Unsupported TLS/SSL version {value:#x}")
        if value == TLSVersion.SSLv3:
            _deprecated("ssl.TLSVersion.SSLv3 is", 4)
        elif value in (TLSVersion.TLSv1, TLSVersion.TLSv1_1):
            _deprecated(f"ssl.TLSVersion.{TLSVersion(value).name} is", 4)
        return int(value)

    @property
    def options(self):
        return Options(self._options)

    @options.setter
    def options(self, value):
        if value < 0:
            raise OverflowError("can't convert negative value to unsigned int")
        if value & ~self._options & _OLD_OPTIONS:
            _deprecated("ssl.OP_NO_SSL*/ssl.OP_NO_TLS* options are")
        self._options = int(value)

    @property
    def verify_flags(self):
        return VerifyFlags(self._verify_flags)

    @verify_flags.setter
    def verify_flags(self, value):
        if not isinstance(value, int):
            raise TypeError("verify_flags must be an integer")
        self._verify_flags = int(value)

    @property
    def verify_mode(self):
        return VerifyMode(self._verify_mode)

    @verify_mode.setter
    def verify_mode(self, value):
        if not isinstance(value, int):
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        if value not in VerifyMode._value2member_map_:
            raise ValueError("invalid value for verify_mode")
        if value == CERT_NONE and self._check_hostname:
            raise ValueError("Cannot set verify_mode to CERT_NONE when check_hostname is enabled.")
        self._verify_mode = int(value)

    @property
    def check_hostname(self):
        return self._check_hostname

    @check_hostname.setter
    def check_hostname(self, value):
        self._check_hostname = bool(value)
        if self._check_hostname and self._verify_mode == CERT_NONE:
            self._verify_mode = CERT_REQUIRED

    @property
    def hostname_checks_common_name(self):
        return not self._host_flags & _ssl.HOSTFLAG_NEVER_CHECK_SUBJECT

    @hostname_checks_common_name.setter
    def hostname_checks_common_name(self, value):
        self._host_flags = 0 if value else _ssl.HOSTFLAG_NEVER_CHECK_SUBJECT

    @property
    def num_tickets(self):
        return self._tickets

    @num_tickets.setter
    def num_tickets(self, value):
        if not isinstance(value, int):
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        if value < 0:
            raise ValueError("value must be non-negative")
        if self._protocol != PROTOCOL_TLS_SERVER:
            raise ValueError("SSLContext is not a server context.")
        self._tickets = value

    @property
    def security_level(self):
        return 2

    _msg_callback = None  # it is never called


def create_default_context(purpose=Purpose.SERVER_AUTH, *, cafile=None, capath=None, cadata=None):
    """A context with the settings that are safe today."""
    if not isinstance(purpose, _ASN1Object):
        raise TypeError(purpose)
    if purpose not in (Purpose.SERVER_AUTH, Purpose.CLIENT_AUTH):
        raise ValueError(purpose)
    context = SSLContext(PROTOCOL_TLS_CLIENT if purpose == Purpose.SERVER_AUTH else PROTOCOL_TLS_SERVER)
    context.verify_flags |= VERIFY_X509_PARTIAL_CHAIN | VERIFY_X509_STRICT
    return _complete(context, purpose, cafile, capath, cadata)


def _create_unverified_context(protocol=None, *, cert_reqs=CERT_NONE, check_hostname=False, purpose=Purpose.SERVER_AUTH, certfile=None, keyfile=None, cafile=None, capath=None, cadata=None):  # fmt: skip
    """A context for modules of the standard library, which do not verify unless they say so."""
    if not isinstance(purpose, _ASN1Object):
        raise TypeError(purpose)
    if purpose not in (Purpose.SERVER_AUTH, Purpose.CLIENT_AUTH):
        raise ValueError(purpose)
    context = SSLContext(protocol if protocol is not None else PROTOCOL_TLS_CLIENT if purpose == Purpose.SERVER_AUTH else PROTOCOL_TLS_SERVER)
    context.check_hostname = check_hostname
    if cert_reqs is not None:
        context.verify_mode = cert_reqs
    if keyfile and not certfile:
        raise ValueError("certfile must be specified")
    if certfile:
        context.load_cert_chain(certfile, keyfile)
    return _complete(context, purpose, cafile, capath, cadata)


def _complete(context, purpose, cafile, capath, cadata):
    if cafile or capath or cadata:
        context.load_verify_locations(cafile, capath, cadata)
    elif context.verify_mode != CERT_NONE:
        context.load_default_certs(purpose)
    log = _os.environ.get("SSLKEYLOGFILE")
    if log and not _sys.flags.ignore_environment:
        context.keylog_filename = log
    return context


_create_default_https_context = create_default_context
_create_stdlib_context = _create_unverified_context


def cert_time_to_seconds(cert_time):
    """The seconds since the epoch of a certificate's time, "Jan  5 09:34:43 2018 GMT"."""
    from calendar import timegm
    from time import strptime

    months = "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"
    form = " %d %H:%M:%S %Y GMT"
    if cert_time[:3].title() not in months:
        raise ValueError(f'time data {cert_time!r} does not match format "%b{form}"')
    t = strptime(cert_time[3:], form)
    return timegm((t[0], months.index(cert_time[:3].title()) + 1) + t[2:6])


def DER_cert_to_PEM_cert(der_cert_bytes):
    return _ssl.Certificate(bytes(der_cert_bytes)).public_bytes(_ssl.ENCODING_PEM)


def PEM_cert_to_DER_cert(pem_cert_string):
    text = pem_cert_string.strip()
    if not pem_cert_string.startswith(PEM_HEADER):
        raise ValueError(f"Invalid PEM encoding; must start with {PEM_HEADER}")
    if not text.endswith(PEM_FOOTER):
        raise ValueError(f"Invalid PEM encoding; must end with {PEM_FOOTER}")
    return _base64.decodebytes(text[len(PEM_HEADER) : -len(PEM_FOOTER)].encode("ascii"))


def get_server_certificate(addr, ssl_version=PROTOCOL_TLS_CLIENT, ca_certs=None, timeout=_socket_module._GLOBAL_DEFAULT_TIMEOUT):
    """The certificate of a server in PEM, verified if ca_certs are given."""
    context = _create_stdlib_context(ssl_version, cert_reqs=CERT_NONE if ca_certs is None else CERT_REQUIRED, cafile=ca_certs)
    with create_connection(addr, timeout=timeout) as sock, context.wrap_socket(sock, server_hostname=addr[0]) as tls:
        return DER_cert_to_PEM_cert(tls.getpeercert(True))


def get_protocol_name(protocol_code):
    return _PROTOCOL_NAMES.get(protocol_code, "<unknown>")


from _ssl_wrapped import SSLObject, SSLSocket  # noqa: E402

for _type in SSLObject, SSLSocket:
    _type.__module__ = __name__
SSLContext.sslsocket_class, SSLContext.sslobject_class = SSLSocket, SSLObject
