"""Numbers and names of OpenSSL 3 and of the TLS registries, for _ssl."""

CERT_NONE, CERT_OPTIONAL, CERT_REQUIRED = range(3)
PROTOCOL_SSLv23 = PROTOCOL_TLS = 2
PROTOCOL_TLSv1, PROTOCOL_TLSv1_1, PROTOCOL_TLSv1_2 = 3, 4, 5
PROTOCOL_TLS_CLIENT, PROTOCOL_TLS_SERVER = 16, 17
PROTO_MINIMUM_SUPPORTED, PROTO_MAXIMUM_SUPPORTED = -2, -1
PROTO_SSLv3, PROTO_TLSv1, PROTO_TLSv1_1, PROTO_TLSv1_2, PROTO_TLSv1_3 = range(0x300, 0x305)
HAS_SNI = HAS_ECDH = HAS_ALPN = HAS_TLSv1 = HAS_TLSv1_1 = HAS_TLSv1_2 = HAS_TLSv1_3 = True
HAS_NPN = HAS_SSLv2 = HAS_SSLv3 = HAS_PSK = HAS_PSK_TLS13 = HAS_PHA = False

SSL_ERROR_SSL, SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE, SSL_ERROR_WANT_X509_LOOKUP = 1, 2, 3, 4
SSL_ERROR_SYSCALL, SSL_ERROR_ZERO_RETURN, SSL_ERROR_WANT_CONNECT, SSL_ERROR_EOF = 5, 6, 7, 8
SSL_ERROR_INVALID_ERROR_CODE = 10

OP_ALL = 0x80000050
OP_NO_SSLv2, OP_NO_SSLv3 = 0, 1 << 25
OP_NO_TLSv1, OP_NO_TLSv1_1, OP_NO_TLSv1_2, OP_NO_TLSv1_3 = 1 << 26, 1 << 28, 1 << 27, 1 << 29
OP_CIPHER_SERVER_PREFERENCE, OP_NO_COMPRESSION, OP_NO_TICKET = 1 << 22, 1 << 17, 1 << 14
OP_SINGLE_DH_USE = OP_SINGLE_ECDH_USE = 0
OP_LEGACY_SERVER_CONNECT, OP_IGNORE_UNEXPECTED_EOF, OP_ENABLE_KTLS = 1 << 2, 1 << 7, 1 << 3
OP_ENABLE_MIDDLEBOX_COMPAT, OP_NO_RENEGOTIATION = 1 << 20, 1 << 30

VERIFY_DEFAULT, VERIFY_CRL_CHECK_LEAF, VERIFY_CRL_CHECK_CHAIN, VERIFY_X509_STRICT = 0, 0x4, 0xC, 0x20
VERIFY_ALLOW_PROXY_CERTS, VERIFY_X509_TRUSTED_FIRST, VERIFY_X509_PARTIAL_CHAIN = 0x40, 0x8000, 0x80000
HOSTFLAG_NEVER_CHECK_SUBJECT = 0x20
ENCODING_PEM, ENCODING_DER = 1, 2

_ALERTS = {
    "CLOSE_NOTIFY": 0, "UNEXPECTED_MESSAGE": 10, "BAD_RECORD_MAC": 20, "RECORD_OVERFLOW": 22,
    "DECOMPRESSION_FAILURE": 30, "HANDSHAKE_FAILURE": 40, "BAD_CERTIFICATE": 42, "UNSUPPORTED_CERTIFICATE": 43,
    "CERTIFICATE_REVOKED": 44, "CERTIFICATE_EXPIRED": 45, "CERTIFICATE_UNKNOWN": 46, "ILLEGAL_PARAMETER": 47,
    "UNKNOWN_CA": 48, "ACCESS_DENIED": 49, "DECODE_ERROR": 50, "DECRYPT_ERROR": 51, "PROTOCOL_VERSION": 70,
    "INSUFFICIENT_SECURITY": 71, "INTERNAL_ERROR": 80, "USER_CANCELLED": 90, "NO_RENEGOTIATION": 100,
    "UNSUPPORTED_EXTENSION": 110, "CERTIFICATE_UNOBTAINABLE": 111, "UNRECOGNIZED_NAME": 112,
    "BAD_CERTIFICATE_STATUS_RESPONSE": 113, "BAD_CERTIFICATE_HASH_VALUE": 114, "UNKNOWN_PSK_IDENTITY": 115,
}  # fmt: skip
globals().update({f"ALERT_DESCRIPTION_{name}": number for name, number in _ALERTS.items()})

# What OpenSSL calls object identifiers: number, short and long name.
OBJECTS = {
    "1.3.6.1.5.5.7.3.1": (129, "serverAuth", "TLS Web Server Authentication"),
    "1.3.6.1.5.5.7.3.2": (130, "clientAuth", "TLS Web Client Authentication"),
    "1.3.6.1.5.5.7.3.3": (131, "codeSigning", "Code Signing"),
    "1.3.6.1.5.5.7.3.4": (132, "emailProtection", "E-mail Protection"),
    "1.3.6.1.5.5.7.3.8": (133, "timeStamping", "Time Stamping"),
    "2.5.4.3": (13, "CN", "commonName"),
    "2.5.29.17": (85, "subjectAltName", "X509v3 Subject Alternative Name"),
}

CURVES = {"prime256v1": 23, "secp256r1": 23, "P-256": 23, "secp384r1": 24, "P-384": 24, "secp521r1": 25, "P-521": 25, "X25519": 29}


def _suite(number, name):
    """A cipher by OpenSSL's name: its words for choosing it, and its strength."""
    words = {name, "ALL", "HIGH", "DEFAULT" if name.startswith("ECDHE") else "kRSA"}
    words |= {"ECDHE", "EECDH", "kECDHE", "kEECDH", "ECDH"} if name.startswith("ECDHE") else {"RSA"}
    words |= {"aECDSA", "ECDSA"} if "ECDSA" in name else {"aRSA"}
    words |= {"CHACHA20"} if "CHACHA20" in name else {"AES", "AES128" if "AES128" in name else "AES256"}
    aead = "GCM" in name or "CHACHA20" in name
    words |= {"AESGCM"} if "GCM" in name else set()
    words |= {"AEAD"} if aead else {"SHA256"} if name.endswith("SHA256") else {"SHA1", "SHA"}
    old = name.endswith("-SHA")
    words |= {"TLSv1", "TLSv1.0", "SSLv3"} if old else {"TLSv1.2"}
    return number, name, "TLSv1.0" if old else "TLSv1.2", 128 if "128" in name else 256, frozenset(words)


CIPHERS_13 = [
    (0x1302, "TLS_AES_256_GCM_SHA384", "TLSv1.3", 256, frozenset()),
    (0x1303, "TLS_CHACHA20_POLY1305_SHA256", "TLSv1.3", 256, frozenset()),
    (0x1301, "TLS_AES_128_GCM_SHA256", "TLSv1.3", 128, frozenset()),
]
CIPHERS = [
    _suite(0xC02C, "ECDHE-ECDSA-AES256-GCM-SHA384"), _suite(0xC030, "ECDHE-RSA-AES256-GCM-SHA384"),
    _suite(0xC02B, "ECDHE-ECDSA-AES128-GCM-SHA256"), _suite(0xC02F, "ECDHE-RSA-AES128-GCM-SHA256"),
    _suite(0xCCA9, "ECDHE-ECDSA-CHACHA20-POLY1305"), _suite(0xCCA8, "ECDHE-RSA-CHACHA20-POLY1305"),
    _suite(0xC023, "ECDHE-ECDSA-AES128-SHA256"), _suite(0xC027, "ECDHE-RSA-AES128-SHA256"),
    _suite(0xC00A, "ECDHE-ECDSA-AES256-SHA"), _suite(0xC014, "ECDHE-RSA-AES256-SHA"),
    _suite(0xC009, "ECDHE-ECDSA-AES128-SHA"), _suite(0xC013, "ECDHE-RSA-AES128-SHA"),
    _suite(0x009D, "AES256-GCM-SHA384"), _suite(0x009C, "AES128-GCM-SHA256"),
    _suite(0x003C, "AES128-SHA256"), _suite(0x0035, "AES256-SHA"), _suite(0x002F, "AES128-SHA"),
]  # fmt: skip
BY_NUMBER = {suite[0]: suite for suite in CIPHERS_13 + CIPHERS}


def choose(text):
    """The ciphers below TLS 1.3 that a string of OpenSSL's ciphers(1) means."""
    chosen, killed = [], set()
    for token in text.replace(",", ":").replace(" ", ":").replace(";", ":").split(":"):
        sign = token[:1] if token[:1] in ("!", "-", "+") else ""
        token = token[len(sign) :]
        if not token or token.startswith("@"):
            continue
        words = {word.replace("DEFAULT", "ECDHE") for word in token.split("+")}
        meant = [s for s in CIPHERS if words <= s[4]]
        if sign == "!":
            killed.update(s[0] for s in meant)
        if sign:
            rest = [s for s in chosen if s not in meant]
            chosen = rest + [s for s in chosen if s in meant] if sign == "+" else rest
        else:
            chosen += [s for s in meant if s not in chosen and s[0] not in killed]
    return chosen

# Numbers of RFC 8446, as ssl names them.
CONTENT_TYPES = {"CHANGE_CIPHER_SPEC": 20, "ALERT": 21, "HANDSHAKE": 22, "APPLICATION_DATA": 23, "HEADER": 0x100, "INNER_CONTENT_TYPE": 0x101}
ALERT_TYPES = {"USER_CANCELED" if name == "USER_CANCELLED" else name: number for name, number in _ALERTS.items()} | {
    "DECRYPTION_FAILED": 21, "NO_CERTIFICATE": 41, "EXPORT_RESTRICTION": 60, "INAPPROPRIATE_FALLBACK": 86,
    "MISSING_EXTENSION": 109, "CERTIFICATE_REQUIRED": 116, "NO_APPLICATION_PROTOCOL": 120,
}  # fmt: skip
MESSAGE_TYPES = {
    "HELLO_REQUEST": 0, "CLIENT_HELLO": 1, "SERVER_HELLO": 2, "HELLO_VERIFY_REQUEST": 3, "NEWSESSION_TICKET": 4,
    "END_OF_EARLY_DATA": 5, "HELLO_RETRY_REQUEST": 6, "ENCRYPTED_EXTENSIONS": 8, "CERTIFICATE": 11,
    "SERVER_KEY_EXCHANGE": 12, "CERTIFICATE_REQUEST": 13, "SERVER_DONE": 14, "CERTIFICATE_VERIFY": 15,
    "CLIENT_KEY_EXCHANGE": 16, "FINISHED": 20, "CERTIFICATE_URL": 21, "CERTIFICATE_STATUS": 22,
    "SUPPLEMENTAL_DATA": 23, "KEY_UPDATE": 24, "NEXT_PROTO": 67, "MESSAGE_HASH": 254, "CHANGE_CIPHER_SPEC": 0x101,
}  # fmt: skip
