package worker_test

import (
	"fmt"
	"io/fs"
	"net"
	"testing"
	"time"

	"coderunner/runners"
)

// dialled returns a server that greets once for each line that it gets, and its address.
func dialled(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						c.Close()
						return
					}
					_, _ = c.Write([]byte("hello"))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestKeptConnection has a session keep a connection from one call to the next.
func TestKeptConnection(t *testing.T) {
	at := dialled(t)
	py, _ := open(t, "--allow-net="+at)
	host, port, _ := net.SplitHostPort(at)
	before := ""
	for i, code := range []string{
		fmt.Sprintf("import socket\ns = socket.create_connection(('%s', %s))\ns.send(b'x'); s.recv(5)", host, port),
		"s.send(b'x'); s.recv(5)",
	} {
		after := fmt.Sprint("state", i)
		o, err := py.Run(t.Context(), runners.Request{Language: runners.Python, Code: code, Limits: runners.Limits{Timeout: 10 * time.Second}, Session: &runners.Session{
			Key: "kept", Before: before, After: after, Save: t.TempDir(),
			Saved: func() (map[string]string, error) { return nil, nil },
			Leave: func(fs.FS, runners.File) (runners.Left, error) { return runners.Left{}, nil },
		}})
		if err != nil || o.Result == nil || o.Result.Text != "b'hello'" {
			t.Fatalf("call %d: %+v %+v, %v", i, o, o.Error, err)
		}
		before = after
	}
}
