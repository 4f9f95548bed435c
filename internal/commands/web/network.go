package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"coderunner/internal/commands/command"
	"coderunner/internal/kernel"
)

// Network is what curl and wget may reach. A nil Outside is no network.
type Network struct {
	Outside interface {
		Lookup(ctx context.Context, host string) ([]netip.Addr, error)
		// Dial connects to an address. name is what was asked for.
		Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error)
	}
	Authorities []*x509.Certificate // trusted besides the system's
}

type networkKey struct{}

// WithNetwork returns a program that is p with a network.
func WithNetwork(p kernel.Program, n Network) kernel.Program {
	return func(ctx context.Context, process *kernel.Process) int {
		return p(context.WithValue(ctx, networkKey{}, n), process)
	}
}

// errNoNetwork names the way out.
var errNoNetwork = errors.New("programs have no network here: start coderunner with --allow-net=HOST to allow it")

// lookupError is a name that has no address; dialError a connection that failed.
type lookupError struct {
	host string
	err  error
}
type dialError struct {
	host string
	port uint16
	err  error
}

func (e *lookupError) Error() string { return fmt.Sprintf("Could not resolve host: %s", e.host) }
func (e *lookupError) Unwrap() error { return e.err }
func (e *dialError) Error() string {
	return fmt.Sprintf("Failed to connect to %s port %d: %s", e.host, e.port, e.err)
}
func (e *dialError) Unwrap() error { return e.err }

// refused reports whether the policy forbids it. Its errors name the flag that
// would allow it.
func refused(err error) bool {
	var r interface{ Flag() string }
	return errors.As(err, &r) || errors.Is(err, errNoNetwork)
}

// transport returns HTTP by the network's dialer, for one command. family is 4 or 6
// for addresses of that alone.
func transport(c *command.Call, insecure bool, connect time.Duration, family string) *http.Transport {
	n, _ := c.Ctx.Value(networkKey{}).(Network)
	t := &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true, MaxResponseHeaderBytes: 1 << 20,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if connect > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, connect)
				defer cancel()
			}
			return n.dial(ctx, address, family)
		},
		TLSClientConfig: &tls.Config{InsecureSkipVerify: insecure},
	}
	if len(n.Authorities) > 0 {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		for _, a := range n.Authorities {
			roots.AddCert(a)
		}
		t.TLSClientConfig.RootCAs = roots
	}
	return t
}

func (n Network) dial(ctx context.Context, address, family string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	if n.Outside == nil {
		return nil, &dialError{host, uint16(port), errNoNetwork}
	}
	addrs, err := n.Outside.Lookup(ctx, strings.TrimSuffix(host, "."))
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool {
		return family != "" && a.Unmap().Is4() != (family == "4")
	})
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return nil, &lookupError{host, err}
	}
	var conn net.Conn
	for _, a := range addrs {
		if conn, err = n.Outside.Dial(ctx, "tcp", host, netip.AddrPortFrom(a, uint16(port))); err == nil || refused(err) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, &dialError{host, uint16(port), err}
	}
	return conn, nil
}
