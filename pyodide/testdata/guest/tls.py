"""TLS between two sides of one program, over MemoryBIOs and over sockets. The certificates are valid for a century."""
import asyncio, ftplib, http.client, http.server, imaplib, os, select, smtplib, socket, ssl, sys, threading
import urllib.error, urllib.request

import pyodide.http
from js import fetch

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
raises(TypeError, client.wrap_bio, ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="localhost\0.x")
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
strict = ssl.create_default_context(cafile="ca.pem")
strict.verify_flags |= ssl.VERIFY_CRL_CHECK_LEAF  # there are no lists
assert raises(ssl.SSLCertVerificationError, pair, strict, server).verify_code == 3

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
a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
c, s = client.wrap_bio(a, b, server_hostname="localhost"), server.wrap_bio(b, a, server_side=True)
for side in c, s, c, s:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        pass
a.write_eof()
raises(ssl.SSLEOFError, c.read)  # not the end that the peer tells
client.options |= ssl.OP_IGNORE_UNEXPECTED_EOF
c, s = pair(client, server)
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

# Over sockets: blocking, with a timeout, and not blocking.
server.verify_mode = ssl.CERT_NONE
client = ssl.create_default_context(cafile="ca.pem")
listener = socket.create_server(("127.0.0.1", 0))
address = listener.getsockname()


def accept(then):
    """Has a thread serve the next client."""
    def serve():
        with listener.accept()[0] as sock:
            then(sock)
    t = threading.Thread(target=serve)
    t.start()
    return t


def echo(sock):
    with server.wrap_socket(sock, server_side=True) as tls:
        while data := tls.recv(1 << 16):
            tls.sendall(data)
        tls.unwrap()


t = accept(echo)
with socket.create_connection(address) as sock, client.wrap_socket(sock, server_hostname="localhost") as tls:
    assert tls.version() == "TLSv1.3" and tls.getpeername() == address and not tls.session_reused
    assert os.read(tls.fileno(), 0) == b""
    tls.settimeout(0.01)
    assert "timed out" in str(raises(TimeoutError, tls.recv, 1))
    tls.setblocking(False)
    raises(ssl.SSLWantReadError, tls.recv, 1)
    sent, got, data = 0, bytearray(), os.urandom(1 << 18)
    while len(got) < len(data):
        readable, writable, _ = select.select([tls], [tls] if sent < len(data) else [], [], 5)
        assert readable or writable
        try:
            if writable:
                sent += tls.send(data[sent : sent + 50_000])
        except ssl.SSLWantWriteError:
            pass
        try:
            while readable:
                got += tls.recv(10_000)
        except ssl.SSLWantReadError:
            pass
    assert got == data
    tls.setblocking(True)
    raises(ValueError, tls.recvfrom, 1)
    plain = tls.unwrap()
    assert plain.recv(1) == b""
t.join()

# What was not read leaves its socket readable: what came with the end of the handshake, and a second record.
with socket.create_connection(address) as sock, listener.accept()[0] as peer:
    peer.setblocking(False)
    peer = server.wrap_socket(peer, server_side=True, do_handshake_on_connect=False)
    sock.setblocking(False)
    tls = client.wrap_socket(sock, server_hostname="localhost", do_handshake_on_connect=False)
    for side in tls, peer:
        raises(ssl.SSLWantReadError, side.do_handshake)
    tls.do_handshake()
    assert tls.send(b"with the handshake") == 18
    peer.do_handshake()
    tls.send(b"a" * 10_000)
    tls.send(b"b" * 10_000)
    for data in b"with the handshake", b"a" * 10_000, b"b" * 10_000:
        assert select.select([peer], [], [], 5)[0]
        assert peer.recv(16 << 10) == data and not peer.pending()
    assert tls.send(b"c" * 70_000) == 70_000
    for size in 3 << 14, 70_000 - (3 << 14):  # whole records, the last of them a part of one
        assert select.select([peer], [], [], 5)[0]
        assert len(peer.recv(60_000)) == size and not peer.pending()
    assert not select.select([peer], [], [], 0)[0]
    peer.close(), tls.close()

t = accept(lambda sock: sock.recv(1) and sock.sendall(b"220 plain text\r\n"))
with socket.create_connection(address) as sock:
    assert raises(ssl.SSLError, client.wrap_socket, sock, server_hostname="localhost").reason == "WRONG_VERSION_NUMBER"
t.join()

t = accept(lambda sock: raises(ssl.SSLError, server.wrap_socket, sock, server_side=True))
with socket.create_connection(address) as sock:
    raises(ssl.SSLCertVerificationError, client.wrap_socket, sock, server_hostname="bad.org")
t.join()


# Protocols that begin in plain text. A server that fails must not be waited for.
socket.setdefaulttimeout(20)
def talk(*lines, tls=False):
    def serve(sock):
        sock = server.wrap_socket(sock, server_side=True) if tls else sock
        f = sock.makefile("rwb")
        for asked, answer in lines:
            line = f.readline().decode() if asked else ""
            assert asked.upper() in line.upper(), (asked, line)
            f.write(answer.replace("TAG", line.split(" ")[0]).encode() + b"\r\n")
            f.flush()
            if asked in ("STARTTLS", "AUTH TLS"):
                sock = server.wrap_socket(sock, server_side=True)
                f = sock.makefile("rwb")
    return accept(serve)


t = talk(("", "220 hi"), ("ehlo", "250-x\r\n250 STARTTLS"), ("STARTTLS", "220 go"), ("ehlo", "250 x"), ("quit", "221 bye"))
with smtplib.SMTP(*address, local_hostname="x") as m:
    assert m.starttls(context=client)[0] == 220 and m.ehlo()[0] == 250 and m.sock.version() == "TLSv1.3"
t.join()
t = talk(("", "* OK hi"), ("CAPABILITY", "* CAPABILITY IMAP4rev1\r\nTAG OK done"), ("LOGOUT", "* BYE\r\nTAG OK done"), tls=True)
with imaplib.IMAP4_SSL("localhost", address[1], ssl_context=client) as m:
    assert "IMAP4REV1" in m.capabilities
t.join()
t = talk(("", "220 hi"), ("AUTH TLS", "234 go"), ("USER", "230 in"), ("PBSZ", "200 ok"), ("PROT P", "200 ok"), ("PWD", '257 "/x"'), ("QUIT", "221 bye"))
with ftplib.FTP_TLS(context=client) as m:
    m.connect("localhost", address[1])
    m.login("anonymous")
    m.prot_p()
    assert m.pwd() == "/x"
t.join()


socket.setdefaulttimeout(None)


# HTTP.
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response({"/moved": 302, "/missing": 404}.get(self.path, 200))
        if self.path == "/moved":
            self.send_header("Location", "/there")
        text = b'{"path": "%s", "method": "%s", "body": "%s"}' % (self.path.encode(), self.command.encode(), body)
        self.send_header("Content-Length", len(text))
        self.end_headers()
        self.wfile.write(text)

    do_POST = do_GET

    def log_message(self, *args):
        pass


web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
web.socket = server.wrap_socket(web.socket, server_side=True)
threading.Thread(target=web.serve_forever, daemon=True).start()
url = f"https://localhost:{web.server_port}"
connection = http.client.HTTPSConnection("localhost", web.server_port, context=client)
for path in "/a", "/b":  # one connection
    connection.request("GET", path)
    assert path in connection.getresponse().read().decode()
connection.close()
with urllib.request.urlopen(url + "/moved") as r:  # SSL_CERT_FILE names the authority
    assert r.url == url + "/there"
del os.environ["SSL_CERT_FILE"]
urllib.request.install_opener(None)  # it keeps its context
assert "CERTIFICATE_VERIFY_FAILED" in str(raises(urllib.error.URLError, urllib.request.urlopen, url))
os.environ["SSL_CERT_FILE"] = "ca.pem"
assert ssl.get_server_certificate(("localhost", web.server_port), ca_certs="ca.pem") == LEAF
assert '"/x"' in pyodide.http.open_url(url + "/x").read()
raises(RuntimeError, pyodide.http.pyxhr.get, url)
raises(ImportError, exec, "from js import XMLHttpRequest")


async def ask():
    r = await fetch(url + "/moved", {"method": "GET"})
    assert r.ok and r.redirected and r.status == 200 and (await r.json()).path == "/there"
    r = await pyodide.http.pyfetch(url + "/post", method="POST", body="text", headers={"X-Y": "z"})
    assert await r.clone().json() == {"path": "/post", "method": "POST", "body": "text"} and len(await r.bytes()) > 40
    try:
        await r.text()
    except pyodide.http.BodyUsedError:
        r = await pyodide.http.pyfetch(url + "/missing")
    assert r.status == 404 and not r.ok
    raises(pyodide.http.HttpStatusError, r.raise_for_status)
    try:
        await fetch("file:///home/user/ca.pem")
    except urllib.error.URLError:
        r = None
    assert r is None


asyncio.run(ask())
web.shutdown()


# asyncio's own.
async def serve(reader, writer):
    writer.write((await reader.readline()) * 1000)
    await writer.drain()
    writer.close()


async def streams():
    direct = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server)
    plain = await asyncio.start_server(upgrade, "127.0.0.1", 0)
    for s in direct, plain:
        port = s.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client if s is direct else None)
        if s is plain:
            await writer.start_tls(client, server_hostname="localhost")
        assert writer.get_extra_info("ssl_object").version() == "TLSv1.3" and writer.get_extra_info("peercert")["version"] == 3
        writer.write(b"0123456789\n")
        assert await reader.read() == b"0123456789\n" * 1000
        writer.close()
        s.close()


async def upgrade(reader, writer):
    await writer.start_tls(server)
    await serve(reader, writer)


asyncio.run(streams())
print("ok")

# What came before the handshake of a connection that was reset belongs to none.
with socket.create_server(("127.0.0.1", 0)) as listener:
    early = socket.create_connection(listener.getsockname())
    peer = listener.accept()[0]
    early.sendall(b"not encrypted")
    peer.sendall(b"unread")
    early.close()
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).wrap_socket(peer, server_side=True)
        raise AssertionError("taken")
    except ssl.SSLError as e:
        assert "before TLS handshake" in str(e) and e.library is None, e
    peer.close()
