package hostile

import (
	"strings"
	"testing"
)

// TestGrantedPythonNetwork opens the network to Python programs but for one
// address, which is reached by no other spelling, by no redirect and by nothing
// that the program's own loopback has. What the policy names is reached.
func TestGrantedPythonNetwork(t *testing.T) {
	needsServer(t)
	t.Parallel()
	allowed, forbidden, hits := hosts(t)
	_, port, _ := strings.Cut(forbidden, ":")
	code := `
import asyncio, socket, urllib.request
names = ["127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "017700000001", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1",
    "::", "::127.0.0.1", "localhost.", "LOCALHOST", "a.localhost", "localhost.localdomain", "ip6-localhost", "127.0.0.1.", "①②⑦.⓪.⓪.①", "127。0。0。1", ""]
port = ` + port + `
# What the program has at the port by another protocol or address is no way there.
datagrams, server = socket.socket(type=socket.SOCK_DGRAM), socket.socket()
for bind in lambda: datagrams.bind(("127.0.0.1", port)), lambda: (server.bind(("127.0.0.2", port)), server.listen()):
    try:
        bind()
    except OSError:
        pass
async def by_asyncio(name):
    return await asyncio.open_connection(name, port)
def raw(family, address):
    s = socket.socket(family)
    s.settimeout(5)
    s.connect(address)
def later(name):
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex((name, port))
    import select
    select.select([], [s], [], 5)
    s.send(b"GET / HTTP/1.0\\r\\n\\r\\n")
    if s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
        s.getpeername()
for name in names:
    for way, use in {
        "urllib": lambda: urllib.request.urlopen(f"http://{'[' + name + ']' if ':' in name else name}:{port}/", timeout=5),
        "create_connection": lambda: socket.create_connection((name, port), timeout=5),
        "IPv4": lambda: raw(socket.AF_INET, (name, port)),
        "IPv6": lambda: raw(socket.AF_INET6, (name, port)),
        "not blocking": lambda: later(name),
        "asyncio": lambda: asyncio.run(by_asyncio(name)),
    }.items():
        try:
            use()
            print("reached", way, name)
        except (OSError, UnicodeError, ValueError):
            pass
try:
    urllib.request.urlopen("http://` + allowed + `/away", timeout=5)
    print("reached by a redirect")
except OSError:
    pass
try:
    print(urllib.request.urlopen("http://` + allowed + `/fine", timeout=10).read().decode())
except OSError as e:
    print(e)`
	for _, c := range []struct {
		name, args string
		fine       bool
	}{
		{"all but one", "--allow-net=127.0.0.0/8,0.0.0.0,[::1],[::],localhost --deny-net=127.0.0.1:" + port + ",0.0.0.0:" + port + ",[::1]:" + port + ",[::]:" + port + ",localhost:" + port, true},
		{"one", "--allow-net=" + allowed, true},
		{"all", "--allow-net", false},
		{"none", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{env: []string{"DENO_PERMISSION_ARGS=" + c.args}})
			before := hits()
			o, text, err := s.run(arguments{Language: python, Code: code, Timeout: 120})
			if err != nil || o.Status != "succeeded" || strings.Contains(o.Stdout, "fine\n") != c.fine {
				t.Errorf("%v %s", err, text)
			}
			if n := hits() - before; n != 0 || strings.Contains(o.Stdout, "reached") {
				t.Errorf("the forbidden server was asked %d times: %s", n, o.Stdout)
			}
		})
	}
}
