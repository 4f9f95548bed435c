package pyodide_test

import (
	"testing"

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
        return 50 < n < 250, e.errno == 51
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
    print("requests", 2 < len(asked) < 32, e.errno == 51)
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

// TestSockets: a socket can be made and asked what it is; it reaches nothing.
func TestSockets(t *testing.T) {
	res, stdout, stderr := run(t, pyodide.Options{}, pyodide.Program{Code: `
import select, socket
for family, kind in (socket.AF_INET, socket.SOCK_STREAM), (socket.AF_INET, socket.SOCK_DGRAM):
    with socket.socket(family, kind) as s:
        s.settimeout(1)
        print(s.family == family, s.type == kind, s.getsockname()[:2], s.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
        again = socket.socket(fileno=socket.dup(s.fileno()))
        print(again.family == family, again.type == kind)
        again.close()
        for use in (lambda: s.connect(("127.0.0.1", 80)), lambda: s.bind(("127.0.0.1", 80)), lambda: s.sendto(b"x", ("127.0.0.1", 80)),
                    lambda: socket.socket.__base__.connect(s, ("127.0.0.1", 80))):
            try:
                use()
                print("reached")
            except PermissionError as e:
                pass
        try:
            s.recv(1)
        except OSError as e:
            print(e.errno == 53)
        print(s.connect_ex(("127.0.0.1", 80)), len(select.select([s], [s], [], 0)[1]))
try:
    socket.socket().connect(("127.0.0.1", 80))
except PermissionError as e:
    print("network access is not allowed" in str(e))
`})
	one := func(name string) string {
		return "True True " + name + " 0\nTrue True\nTrue\n2 1\n"
	}
	want := one("('0.0.0.0', 0)") + one("('0.0.0.0', 0)") + "True\n"
	if diff := cmp.Diff(want, stdout); diff != "" || res.Exception != nil {
		t.Errorf("%s\n%s %+v", diff, stderr, res.Exception)
	}
}
