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

// Network is what one run may reach, and has reached: a *[netpolicy.Run] ([Direct]), or
// the same in another process.
type Network interface {
	netstack.Outside
	netstack.Admitter
	// Avoided and Contacts are as a netpolicy.Run's.
	Avoided(to string) string
	Contacts() (list []netpolicy.Contact, more int)
}

// Direct returns a run's network in this process.
func Direct(r *netpolicy.Run) Network { return direct{r} }

type direct struct{ *netpolicy.Run }

func (d direct) Admit(ctx context.Context, addr netip.AddrPort) { d.Run.Admit(ctx, "", addr) }

func (d direct) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (netstack.PacketConn, error) {
	return d.Run.ListenPacket(ctx, network, addr)
}

// outside is the network beyond a program's own loopback: that of the run in
// progress, since a session's interpreter outlives runs.
type outside struct {
	run  atomic.Pointer[Network]
	open bool // the interpreter has a way there
}

func (o *outside) now() Network { return *o.run.Load() }

// refused records what a program without a way there asked for.
func (o *outside) refused(to string) string { return o.now().Avoided(to) }

func (o *outside) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return o.now().Lookup(ctx, host)
}

func (o *outside) Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error) {
	return o.now().Dial(ctx, network, name, addr)
}

// Admit is for netstack.Admitter.
func (o *outside) Admit(ctx context.Context, addr netip.AddrPort) { o.now().Admit(ctx, addr) }

func (o *outside) Listen(ctx context.Context, network string, addr netip.AddrPort) (net.Listener, error) {
	return o.now().Listen(ctx, network, addr)
}

// MayListen is for netstack.Outside, as ListenPacket is.
func (o *outside) MayListen(addr netip.AddrPort) bool { return o.now().MayListen(addr) }

func (o *outside) ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (netstack.PacketConn, error) {
	return o.now().ListenPacket(ctx, network, addr)
}

// Intercept has connections served by an interceptor of the program's own. Was is what
// stands for secrets in the variables of the session that it continues, nil for nothing.
func (c *Table) Intercept(i netpolicy.Interceptor, was map[string]string) {
	if i != nil {
		c.Interceptor = i.Begin(was)
	}
}

// Placeholders returns the variables by which the program uses secrets.
func (c *Table) Placeholders() map[string]string {
	if c.Interceptor == nil || !c.outside.open {
		return nil
	}
	return c.Interceptor.Environment()
}

// Connect gives the program its network: run, and the way there for the interpreter o
// if it is open. A session's interpreter keeps its way.
func (c *Table) Connect(run Network, open bool, o *pyodide.Options) {
	c.outside.run.Store(&run)
	c.outside.open = c.outside.open || open
	if !c.outside.open {
		o.Refused = c.outside.refused
		return
	}
	o.Network = &c.outside
	if c.Interceptor == nil {
		return
	}
	maps.Copy(o.Env, c.Placeholders())
	if block, _ := pem.Decode(c.Interceptor.Root()); block != nil {
		if root, err := x509.ParseCertificate(block.Bytes); err == nil {
			o.Authorities = append(o.Authorities, root)
		}
	}
	c.authorities = o.Authorities
}
