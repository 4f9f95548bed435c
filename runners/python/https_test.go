package python

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"

	"coderunner/runners"
)

// TestLibrariesOverTLS has libraries of PyPI, unchanged, talk over TLS to servers
// in the same program, sync and async.
func TestLibrariesOverTLS(t *testing.T) {
	r := registryRunner(t)
	cert, key := selfSigned(t)
	o, err := r.Run(context.Background(), runners.Request{
		Language: runners.Python, Code: tlsProgram, Packages: []string{"aiosmtpd"}, Limits: runners.Limits{Timeout: 2 * time.Minute},
		Files: []runners.File{{Path: "cert.pem", Data: cert}, {Path: "key.pem", Data: key}},
	})
	if err != nil {
		t.Fatal(err)
	}
	value(t, o, "'ok'")
}

// selfSigned returns a certificate of localhost that is an authority, and its key,
// in PEM.
func selfSigned(t *testing.T) (cert, key []byte) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, secret.Public(), secret)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
}

const tlsProgram = `import asyncio, http.server, smtplib, ssl, threading
import aiohttp, httpx, httpx2, requests, websockets
import websockets.sync.client
from aiohttp import web
from aiosmtpd.controller import Controller

server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain("cert.pem", "key.pem")
client = ssl.create_default_context(cafile="cert.pem")

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for part in b"one ", b"two ", self.path.encode():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        self.wfile.write(b"0\r\n\r\n")
    def log_message(self, *args): pass

s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
s.socket = server.wrap_socket(s.socket, server_side=True)
threading.Thread(target=s.serve_forever, daemon=True).start()
url = f"https://localhost:{s.server_port}"

with requests.Session() as session:
    session.verify = "cert.pem"
    assert session.get(url + "/a").text == "one two /a"
    with session.get(url + "/b", stream=True) as r:
        assert b"".join(r.iter_content(3)) == b"one two /b"
try:
    requests.get(url)
    assert False
except requests.exceptions.SSLError as e:
    assert "CERTIFICATE_VERIFY_FAILED" in str(e)
assert requests.get(url, verify=False).ok
for x in httpx, httpx2:
    assert x.get(url + "/c", verify=client).text == "one two /c"
    try:
        x.get(url)
        assert False
    except x.ConnectError as e:
        assert "CERTIFICATE_VERIFY_FAILED" in str(e)

async def answer(request):
    return web.json_response({"path": request.path, "body": await request.text()})

async def echo(ws):
    async for message in ws:
        await ws.send(message * 2)

async def main():
    for x in httpx, httpx2:
        async with x.AsyncClient(verify=client) as c, c.stream("GET", url + "/d") as r:
            assert "".join([part async for part in r.aiter_text()]) == "one two /d"
    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server)
    await site.start()
    at = f"https://localhost:{site._server.sockets[0].getsockname()[1]}/e"
    async with aiohttp.ClientSession() as c:
        async with c.post(at, data="f", ssl=client) as r:
            assert await r.json() == {"path": "/e", "body": "f"}
        try:
            await c.get(at)
            assert False
        except aiohttp.ClientConnectorCertificateError:
            pass
    await runner.cleanup()
    async with websockets.serve(echo, "127.0.0.1", 0, ssl=server) as s:
        at = f"wss://localhost:{s.sockets[0].getsockname()[1]}/"
        async with websockets.connect(at, ssl=client) as ws:
            await ws.send("g" * 100_000)
            assert await ws.recv() == "g" * 200_000
        def talk():
            with websockets.sync.client.connect(at, ssl=client) as ws:
                ws.send(b"h")
                return ws.recv()
        assert await asyncio.to_thread(talk) == b"hh"
asyncio.run(main())
s.shutdown()

mails = []
class Mail:
    async def handle_DATA(self, server, session, envelope):
        mails.append(envelope.content)
        return "250 OK"

controller = Controller(Mail(), hostname="127.0.0.1", port=8025, tls_context=server, require_starttls=True)
controller.start()
with smtplib.SMTP("127.0.0.1", 8025) as m:
    m.starttls(context=client)
    m.sendmail("a@b", ["c@d"], "Subject: x\r\n\r\nbody")
controller.stop()
assert b"body" in mails[0]
"ok"
`
