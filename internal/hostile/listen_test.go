//go:build linux

package hostile

import (
	"net"
	"sync/atomic"
	"testing"
)

// listen counts connections to a port of this machine.
func listen(t *testing.T) (addr string, hits func() int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.Add(1)
			c.Close()
		}
	}()
	return l.Addr().String(), func() int { return int(n.Load()) }
}
