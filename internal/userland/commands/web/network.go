// Package web has curl and wget, which use the network of the program they run for: its
// loopback and, outside, what its policy allows.
package web

import (
	"cmp"
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

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/netstack"
	"coderunner/internal/userland/commands/command"
)

// Network is what curl and wget may reach.
type Network struct {
	Loopback *netstack.Stack // has the program's own servers, which come first; nil: none
	Outside  interface {     // nil: nothing else
		Lookup(ctx context.Context, host string) ([]netip.Addr, error)
		// Dial connects to an address. name is what was asked for.
		Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error)
	}
	// Refused is told what is asked for without an Outside, HOST:PORT, and returns the
	// words of the refusal. It may be nil.
	Refused     func(to string) string
	Authorities []*x509.Certificate // trusted besides the system's
}

type networkKey struct{}

// Connects reports whether a command of this name has the network of [WithNetwork].
func Connects(name string) bool { return name == "curl" || name == "wget" }

// WithNetwork returns a program that is p with a network.
func WithNetwork(p kernel.Program, n Network) kernel.Program {
	return func(ctx context.Context, process *kernel.Process) int {
		return p(context.WithValue(ctx, networkKey{}, n), process)
	}
}

// errNoNetwork names the way out.
var errNoNetwork = errors.New("programs have no network here: start coderunner with --allow-net=HOST to allow it")

// noNetwork is errNoNetwork in the words of [Network.Refused].
type noNetwork string

func (e noNetwork) Error() string { return string(e) }
func (noNetwork) Unwrap() error   { return errNoNetwork }

// refusal returns the error of what is asked for without an Outside.
func (n Network) refusal(to string) error {
	if n.Refused != nil {
		if why := n.Refused(to); why != "" {
			return noNetwork(why)
		}
	}
	return errNoNetwork
}

// lookupError is a name that has no address; dialError a connection that failed.
type lookupError struct {
	host string
	err  error
}
type dialError struct {
	host string
	port uint16
	err  error
	own  bool // of the loopback
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

func (n Network) dial(ctx context.Context, address, family string) (conn net.Conn, err error) {
	err = n.each(ctx, address, family, func(host string, to netip.AddrPort) (err error) {
		conn, err = n.connect(ctx, host, to)
		return err
	})
	return conn, err
}

// each calls try with the addresses of a host and port, until one succeeds.
func (n Network) each(ctx context.Context, address, family string, try func(host string, to netip.AddrPort) error) error {
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	number, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return err
	}
	port := uint16(number)
	addrs := netstack.Loopback(host)
	own := addrs != nil
	switch {
	case own:
	case n.Outside == nil:
		return &dialError{host, port, n.refusal(address), own}
	default:
		addrs, err = n.Outside.Lookup(ctx, strings.TrimSuffix(host, "."))
	}
	addrs = slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool {
		return family != "" && a.Unmap().Is4() != (family == "4")
	})
	if err == nil && len(addrs) == 0 {
		err = errors.New("no addresses")
	}
	if err != nil {
		return &lookupError{host, err}
	}
	for _, a := range addrs {
		e := try(host, netip.AddrPortFrom(a, port))
		if e == nil {
			return nil
		}
		if err = cmp.Or(err, e); refused(e) && !own || ctx.Err() != nil {
			break
		}
	}
	return &dialError{host, port, err, own}
}

// connect connects to a server of the program itself or, if there is none at the
// address, outside.
func (n Network) connect(ctx context.Context, name string, to netip.AddrPort) (net.Conn, error) {
	if n.Loopback != nil {
		if c, err := n.Loopback.Dial(ctx, to); !errors.Is(err, abi.ECONNREFUSED) {
			return c, err
		}
	}
	if n.Outside == nil {
		return nil, errNoNetwork
	}
	return n.Outside.Dial(ctx, "tcp", name, to)
}
