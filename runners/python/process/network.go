package process

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"net"
	"net/netip"
	"sync/atomic"

	"coderunner/internal/machine/netstack"
	"coderunner/internal/netpolicy"
	"coderunner/pyodide"
)

// outside is the network beyond a program's own loopback: that of the run in
// progress, since a session's interpreter outlives runs.
type outside struct {
	run  atomic.Pointer[netpolicy.Run]
	open bool // the interpreter has a way there
}

// refused records what a program without a way there asked for.
func (o *outside) refused(to string) string { return o.run.Load().Avoided(to) }

func (o *outside) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return o.run.Load().Lookup(ctx, host)
}

func (o *outside) Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error) {
	return o.run.Load().Dial(ctx, network, name, addr)
}

// Admit is for netstack.Admitter.
func (o *outside) Admit(ctx context.Context, addr netip.AddrPort) {
	o.run.Load().Admit(ctx, "", addr)
}

func (o *outside) Listen(ctx context.Context, network string, addr netip.AddrPort) (net.Listener, error) {
	return o.run.Load().Listen(ctx, network, addr)
}

// MayListen is for netstack.Outside, as ListenPacket is.
func (o *outside) MayListen(addr netip.AddrPort) bool { return o.run.Load().MayListen(addr) }

func (o *outside) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (netstack.PacketConn, error) {
	return o.run.Load().ListenPacket(ctx, network, addr)
}

// Connect gives the program its network: run, and the way there for the interpreter o
// if it is open. A session's interpreter keeps its way.
func (c *Table) Connect(run *netpolicy.Run, open bool, i netpolicy.Interceptor, o *pyodide.Options) {
	c.outside.run.Store(run)
	c.outside.open = c.outside.open || open
	if !c.outside.open {
		o.Refused = c.outside.refused
		return
	}
	o.Network = &c.outside
	if i == nil {
		return
	}
	maps.Copy(o.Env, i.Environment())
	if block, _ := pem.Decode(i.Root()); block != nil {
		if root, err := x509.ParseCertificate(block.Bytes); err == nil {
			o.Authorities = append(o.Authorities, root)
		}
	}
	c.authorities = o.Authorities
}
