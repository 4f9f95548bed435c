"""TLS between two sides of one program, over MemoryBIOs. The certificates are valid for a century."""
import os
import ssl
import sys

CA = """-----BEGIN CERTIFICATE-----
MIIBijCCATGgAwIBAgIUeUvC5gIx8ygaflOXzIDXSlKiwGUwCgYIKoZIzj0EAwIw
GjELMAkGA1UEBhMCWFkxCzAJBgNVBAMMAkNBMCAXDTI2MTEyMjEzMDYyMloYDzIx
MjYxMDI5MTMwNjIyWjAaMQswCQYDVQQGEwJYWTELMAkGA1UEAwwCQ0EwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAARej2sLyD/IgMhRu4eNcnNVZAVnUsb7lbaIkgDq
7FSe22/7CB3ypsllJymgqXmpphPDLWcCPEieBcx96OFYxAw7o1MwUTAdBgNVHQ4E
FgQUTVnZISjzNzIZb8m2nZKp6shhApwwHwYDVR0jBBgwFoAUTVnZISjzNzIZb8m2
nZKp6shhApwwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNHADBEAiBpzZMz
5cv6VVyrHxUnwAW06WFYfqhlcoQcuaa6zxaE1wIgbhB6y7h2yB1GW0XUoWcW7BWl
KS01n19YiXDdiou4dtM=
-----END CERTIFICATE-----
"""
LEAF = """-----BEGIN CERTIFICATE-----
MIIB3zCCAYWgAwIBAgIUeyMInqKyH0T51mX4E8sV83qA3oswCgYIKoZIzj0EAwIw
GjELMAkGA1UEBhMCWFkxCzAJBgNVBAMMAkNBMCAXDTI2MTEyMjEzMDYyM1oYDzIx
MjYxMDI5MTMwNjIzWjAhMQswCQYDVQQGEwJYWTESMBAGA1UEAwwJbG9jYWxob3N0
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAESLGs1hzwLFoT6XqyNJiuKk/Gwa1C
4Rw4wsVqVdRxmquNXI0lWD9BkTrYVMa64x+R+e0qr2QuFW+LLny9FkakT6OBnzCB
nDA7BgNVHREENDAygglsb2NhbGhvc3SCDSouZXhhbXBsZS5vcmeHBH8AAAGHEAAA
AAAAAAAAAAAAAAAAAAEwHQYDVR0lBBYwFAYIKwYBBQUHAwEGCCsGAQUFBwMCMB0G
A1UdDgQWBBRPTrheH4mU0Z7ttkXeF+nmoAotXjAfBgNVHSMEGDAWgBRNWdkhKPM3
MhlvybadkqnqyGECnDAKBggqhkjOPQQDAgNIADBFAiBqtQl0Vby1u5cI4rfxNlej
3mEyYhAXHRJb72Icv6a/ZwIhAIhq8usFxsrOGcQndKqHm1MOyKZeP25OzbzFV0sq
I0YT
-----END CERTIFICATE-----
"""  # of localhost, *.example.org, 127.0.0.1 and ::1
KEY = """-----BEGIN ENCRYPTED PRIVATE KEY-----
MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAik1gr5fo4tygICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEIMOayZjhMB06MsOC3uLFNcEgZC/
KCoD0GVM/i/1N8qfW4G0F26k8maVjo6eYpJW2t0wuE5jNyOs+TgKtvyo+sVKslDw
fdFcs+VlV2IlIOgpnTzXg/sqxaAnJwZI8vrJqLtAfgD6C80f4wYU/Pq5nZBb0GgY
wqq6FndgNuLcMxGsMBAdtE733VZ8RJr6/u5XMDVgcyL2dYpLd6l8HedZSLCwCgM=
-----END ENCRYPTED PRIVATE KEY-----
"""  # its password is hello

for name, text in ("ca.pem", CA), ("leaf.pem", LEAF), ("key.pem", KEY):
    with open(name, "w") as f:
        f.write(text)


def raises(kind, f, *args, **kw):
    try:
        f(*args, **kw)
    except kind as e:
        return e
    raise AssertionError(f"{f} raised nothing")


def wrap(client, server, name="localhost", session=None):
    a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
    return client.wrap_bio(a, b, server_hostname=name, session=session), server.wrap_bio(b, a, server_side=True)


def pair(*args, **kw):
    client, server = wrap(*args, **kw)
    todo = [client, server]
    for _ in range(10):
        for side in list(todo):
            try:
                side.do_handshake()
                todo.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not todo
    return client, server


# What a program asks before it connects.
assert ssl.OPENSSL_VERSION.startswith("OpenSSL ") and ssl.OPENSSL_VERSION_INFO >= (1, 1, 1)
client = ssl.create_default_context()
assert client.verify_mode == ssl.CERT_REQUIRED and client.check_hostname and client.minimum_version == ssl.TLSVersion.TLSv1_2
assert client.cert_store_stats() == {"x509": 0, "crl": 0, "x509_ca": 0}
client.load_verify_locations(cadata=CA)
client.load_verify_locations("ca.pem")
assert client.cert_store_stats() == {"x509": 1, "crl": 0, "x509_ca": 1}
assert client.get_ca_certs()[0]["subject"] == ((("countryName", "XY"),), (("commonName", "CA"),))
assert ssl.DER_cert_to_PEM_cert(client.get_ca_certs(True)[0]) == CA and ssl.PEM_cert_to_DER_cert(CA) == client.get_ca_certs(True)[0]
assert raises(ssl.SSLError, client.load_verify_locations, "key.pem").reason == "NO_CERTIFICATE_OR_CRL_FOUND"
raises(ssl.SSLError, client.load_verify_locations, cadata=b"no certificate")
raises(FileNotFoundError, client.load_verify_locations, "nothing.pem")
raises(ssl.SSLError, client.set_ciphers, "^$:,;?*'dorothyx")
raises(ValueError, setattr, client, "verify_mode", ssl.CERT_NONE)
raises(ValueError, client.wrap_bio, ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname=".x")
assert ssl.cert_time_to_seconds("Jan  5 09:34:43 2018 GMT") == 1515144883
assert ssl.Purpose.SERVER_AUTH.shortname == "serverAuth" and len(ssl.RAND_bytes(7)) == 7

server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
raises(ssl.SSLError, server.load_cert_chain, "leaf.pem", "key.pem", "bad")
server.load_cert_chain("leaf.pem", "key.pem", lambda: "hello")
server.set_alpn_protocols(["h2", "http/1.1"])

# A connection in each version.
for version in ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3:
    client.maximum_version = version
    client.set_alpn_protocols(["http/1.1"])
    c, s = pair(client, server)
    assert c.version() == s.version() == version.name.replace("_", "."), c.version()
    assert c.cipher() == s.cipher() and c.cipher()[2] in (128, 256) and c.selected_alpn_protocol() == s.selected_alpn_protocol() == "http/1.1"
    cert = c.getpeercert()
    assert cert["subjectAltName"] == (("DNS", "localhost"), ("DNS", "*.example.org"), ("IP Address", "127.0.0.1"), ("IP Address", "0:0:0:0:0:0:0:1"))
    assert ssl.DER_cert_to_PEM_cert(c.getpeercert(True)) == LEAF and s.getpeercert() is None
    assert [ssl.DER_cert_to_PEM_cert(der) for der in c.get_verified_chain()] == [LEAF, CA]
    data = os.urandom(1 << 19)
    assert c.write(data) == len(data)
    got = bytearray()
    while len(got) < len(data):
        got += s.read(100_000)
    assert got == data
    raises(ssl.SSLWantReadError, s.read)
    s.write(b"0123456789")
    into = bytearray(4)
    assert c.read(4, into) == 4 and into == b"0123" and c.pending() == 6 and c.read() == b"456789"
    session = c.session
    raises(ssl.SSLWantReadError, c.unwrap)
    assert s.read() == b"" and s.unwrap() is s
    assert c.unwrap() is c
    again, s = pair(client, server, session=session)
    assert again.session_reused and s.session_reused and again.getpeercert() == cert

# Who is refused.
e = raises(ssl.SSLCertVerificationError, pair, client, server, "bad.org")
assert e.verify_code == 62 and e.reason == "CERTIFICATE_VERIFY_FAILED" and isinstance(e, ValueError)
assert str(e) == "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch, certificate is not valid for 'bad.org'."
assert raises(ssl.SSLCertVerificationError, pair, client, server, "1.2.3.4").verify_code == 64
e = raises(ssl.SSLCertVerificationError, pair, ssl.create_default_context(), server)
assert e.verify_message == "unable to get local issuer certificate", e
os.environ["SSL_CERT_FILE"] = "ca.pem"
for name in "a.example.org", "127.0.0.1", "::1":
    pair(ssl.create_default_context(), server, name)
unverified = ssl._create_unverified_context()
c, s = pair(unverified, server, "bad.org")
assert c.getpeercert() == {} and len(c.getpeercert(True)) > 300

# A peer that says nothing of the kind, goes away or is cut off.
a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
c = client.wrap_bio(a, b, server_hostname="localhost")
a.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
assert raises(ssl.SSLError, c.do_handshake).reason == "WRONG_VERSION_NUMBER"
a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
c = client.wrap_bio(a, b, server_hostname="localhost")
a.write_eof()
raises(ssl.SSLEOFError, c.do_handshake)
raises(ssl.SSLError, a.write, b"x")
assert a.eof and raises(TypeError, ssl.MemoryBIO().write, "text")

# The name that a client asks for chooses the certificate, or is refused.
names = []
other = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
other.load_cert_chain("leaf.pem", "key.pem", "hello")
chooser = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)


def choose(sock, name, context):
    names.append(name)
    assert context is chooser and isinstance(sock, ssl.SSLObject)
    if name == "bad.org":
        return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
    if name is None:
        raise RuntimeError
    sock.context = other


chooser.sni_callback = choose
c, s = pair(client, chooser)
assert s.context is other
for name, reason in ("bad.org", "TLSV1_UNRECOGNIZED_NAME"), ("127.0.0.1", "SSLV3_ALERT_HANDSHAKE_FAILURE"):
    c, s = wrap(client, chooser, name)
    raises(ssl.SSLWantReadError, c.do_handshake)
    hook, sys.unraisablehook = sys.unraisablehook, lambda u: names.append(u.exc_type)
    raises(ssl.SSLError, s.do_handshake)
    sys.unraisablehook = hook
    assert raises(ssl.SSLError, c.do_handshake).reason == reason
assert names == ["localhost", "bad.org", None, RuntimeError], names

# A client's certificate.
server.verify_mode = ssl.CERT_REQUIRED
server.load_verify_locations("ca.pem")
client.maximum_version = ssl.TLSVersion.TLSv1_2
c, s = wrap(client, server)
for side in (c, s, c):
    raises(ssl.SSLWantReadError, side.do_handshake)
assert raises(ssl.SSLError, s.do_handshake).reason == "PEER_DID_NOT_RETURN_A_CERTIFICATE"
client.load_cert_chain("leaf.pem", "key.pem", "hello")
c, s = pair(client, server)
assert s.getpeercert()["subject"] == c.getpeercert()["subject"]

# Descriptors are closed with connections.
fd = os.open("ca.pem", os.O_RDONLY)
os.close(fd)
for _ in range(30):
    c, s = pair(client, server)
last = os.open("ca.pem", os.O_RDONLY)
assert last <= fd + 2, (fd, last)
print("ok")
