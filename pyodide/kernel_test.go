package pyodide_test

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"coderunner/pyodide"
)

// TestOneCap: linear memory, files and requests to the host share the limit,
// and what one gives back the others can have.
func TestOneCap(t *testing.T) {
	calls := map[string]pyodide.Call{"large": {MaxArgument: 16 << 20}}
	res, stdout, stderr := run(t, pyodide.Options{Memory: 256 << 20, Calls: calls}, pyodide.Program{Code: `
import os
def fill(f):
    n = 0
    try:
        while n < 1000:
            f.write(b"x" * (1 << 20))
            n += 1
    except OSError as e:
        return 50 < n < 250, e.errno == 28
f = open("/tmp/a", "wb", buffering=0)
print("files", *fill(f))
try:
    bytearray(100 << 20)
except MemoryError:
    print("no memory")
f.close()
os.remove("/tmp/a")
print("memory", len(bytearray(100 << 20)))

asked = []
try:
    while len(asked) < 100:
        asked.append(os.open("/dev/coderunner", os.O_RDWR))
        os.write(asked[-1], b'["large","')
        for _ in range(8):
            os.write(asked[-1], b"x" * (1 << 20))
except OSError as e:
    print("requests", 2 < len(asked) < 32, e.errno == 28)
for fd in asked:
    os.close(fd)
f = open("/tmp/a", "wb", buffering=0)
f.write(b"x" * (20 << 20))
print("again")
`})
	want := "files True True\nno memory\nmemory 104857600\nrequests True True\nagain\n"
	if diff := cmp.Diff(want, stdout); diff != "" || res.Exception != nil {
		t.Errorf("%s\n%s %+v", diff, stderr, res.Exception)
	}
}

// socketProgram uses sockets of each kind in one program; what Python's code for
// IPv6 and AF_UNIX adds is used with timeouts, too.
const socketProgram = `
import asyncio, errno, os, select, socket, time

def pair(family, where):
    with socket.create_server(where, family=family) if family != socket.AF_UNIX else socket.socket(family) as s:
        if family == socket.AF_UNIX:
            s.bind(where)
            s.listen()
        c = socket.socket(family)
        c.settimeout(5)
        c.connect(s.getsockname())
        a, address = s.accept()
        assert a.getpeername() == c.getsockname() == address and a.family == family, (a, c, address)
        return c, a

for family, where in (socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0)), (socket.AF_UNIX, "name"), (socket.AF_UNIX, b"\0abstract"):
    c, a = pair(family, where)
    c.sendall(b"hello")
    print(a.recv(3), a.recv(3, socket.MSG_PEEK), a.recv(3), select.select([a, c], [c], [], 0) == ([], [c], []))
    a.shutdown(socket.SHUT_WR)
    print(c.recv(1), "half closed")
    c.close(); a.close()
for family, host in (socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1"):
    with socket.socket(family, socket.SOCK_DGRAM) as s, socket.socket(family, socket.SOCK_DGRAM) as c:
        s.bind((host, 0))
        c.sendto(b"datagram", s.getsockname())
        data, address = s.recvfrom(100)
        print(data, address[0] == host, address[1] == c.getsockname()[1])
        again = socket.socket(fileno=socket.dup(s.fileno()))
        print(again.family == family, again.type == s.type, again.getsockname() == s.getsockname())
        again.close()
        s.settimeout(0.01)
        try:
            s.recvfrom(1)
        except TimeoutError as e:
            print("timed out")
a, b = socket.socketpair()
r, w = os.pipe()
socket.send_fds(a, [b"m"], [w])
print(socket.recv_fds(b, 10, 2)[1] > [w])
c, a = pair(socket.AF_INET, ("127.0.0.1", 0))
c.sendall(b"urgent", socket.MSG_OOB)
print(a.recv(9))
v6 = socket.getaddrinfo("fe80::1%lo", 80, type=socket.SOCK_STREAM)[0][4]
print(v6, socket.getnameinfo(v6, socket.NI_NUMERICHOST))
for wrong in (lambda: socket.if_nametoindex("eth7"), lambda: socket.if_indextoname(7), lambda: socket.getaddrinfo("fe80::1%eth7", 80)):
    try:
        print(wrong())
    except OSError as e:
        print(e.errno in (errno.ENODEV, errno.ENXIO, socket.EAI_NONAME))
s = socket.socket()
for use in (lambda: s.connect(("10.0.0.1", 80)), lambda: s.connect(("169.254.169.254", 80)), lambda: socket.create_connection(("example.org", 80))):
    try:
        use()
        print("reached")
    except PermissionError as e:
        print("network access is not allowed" in str(e) and e.errno == errno.EACCES)
print(s.connect_ex(("127.0.0.1", 9)) == errno.ECONNREFUSED)
busy = socket.socket()
busy.setblocking(False)
print(busy.connect_ex(("127.0.0.1", 9)) == errno.EINPROGRESS, busy.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == errno.ECONNREFUSED)
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
print(s.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR), socket.getservbyname("https"), socket.getfqdn(), socket.getnameinfo(("::1", 80), 0))

async def main():
    async def serve(r, w):
        w.write(await r.readline())
        w.close()
    async with await asyncio.start_server(serve, "localhost", 0) as server:
        r, w = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
        w.write(b"by asyncio\n")
        print(await r.read())
        w.close()
    try:
        await asyncio.open_connection("10.0.0.1", 80)
    except PermissionError as e:
        print("network access is not allowed" in str(e))
    try:
        await asyncio.open_connection("127.0.0.1", 9)
    except ConnectionRefusedError as e:
        print(e)
asyncio.run(main())
`

func TestSockets(t *testing.T) {
	res, stdout, stderr := run(t, pyodide.Options{}, pyodide.Program{Code: socketProgram})
	stream := "b'hel' b'lo' b'lo' True\nb'' half closed\n"
	datagram := "b'datagram' True True\nTrue True True\ntimed out\n"
	want := strings.Repeat(stream, 4) + strings.Repeat(datagram, 2) + "True\nb'urgent'\n('fe80::1', 80, 0, 1) ('fe80::1%lo', 'http')\nTrue\nTrue\nTrue\nTrue\nTrue\nTrue\nTrue\nTrue True\n1 443 localhost ('localhost', 'http')\nb'by asyncio\\n'\nTrue\n[Errno 111] Connect call failed ('127.0.0.1', 9)\n"
	if diff := cmp.Diff(want, stdout); diff != "" || res.Exception != nil {
		t.Errorf("%s\n%s %+v", diff, stderr, res.Exception)
	}
}

// gate is a network whose first name has an address when the second is asked for.
type gate struct {
	pyodide.Network
	open chan struct{}
}

func (g gate) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "second.test" {
		close(g.open)
	}
	select {
	case <-g.open:
		return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// TestLookupsBesideTheLoop: asyncio goes on while a name is looked up.
func TestLookupsBesideTheLoop(t *testing.T) {
	_, stdout, stderr := run(t, pyodide.Options{Network: gate{open: make(chan struct{})}}, pyodide.Program{Timeout: time.Minute, Code: `
import asyncio
async def main():
    look = asyncio.get_running_loop().getaddrinfo
    first, second = await asyncio.gather(look("first.test", 1), look("second.test", 2))
    print(first[0][4], second[0][4])
asyncio.run(main())`})
	if want := "('192.0.2.1', 1) ('192.0.2.1', 2)\n"; stdout != want {
		t.Errorf("%q\n%s", stdout, stderr)
	}
}
