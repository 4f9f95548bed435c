package netstack

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/memfs"
)

// Outside is the network beyond the sandbox. It decides what may be reached.
// Methods are called from several goroutines and return when ctx ends. An error
// with a method Flag() string, or that is fs.ErrPermission, is a refusal, and its
// text is shown to the program.
type Outside interface {
	// Lookup returns the addresses of a name.
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address; network is "tcp" or "udp". name is what the
	// program asked for, or "".
	Dial(ctx context.Context, network, name string, addr netip.AddrPort) (net.Conn, error)
	// MayListen reports whether Listen and ListenPacket could be refused. They listen on
	// the host's interfaces; network is "tcp" or "udp", with a 4 or a 6 at its end where
	// that is meant alone.
	MayListen(addr netip.AddrPort) bool
	Listen(ctx context.Context, network string, addr netip.AddrPort) (net.Listener, error)
	ListenPacket(ctx context.Context, network string, addr netip.AddrPort) (PacketConn, error)
}

// Admitter is an Outside that may have to ask whether a stream may connect.
type Admitter interface {
	// Admit asks before Dial, if that is necessary. It may wait for long.
	Admit(ctx context.Context, addr netip.AddrPort)
}

// Options are what a Stack is given. The zero value is usable.
type Options struct {
	Outside Outside // nil: nothing but the loopback

	// Refused is told what a program asked for without an Outside, HOST or HOST:PORT,
	// and returns the words of the refusal. It may be nil.
	Refused func(to string) string

	// Reserve charges bytes that the Stack holds to the program's memory and
	// reports whether they are within; Unreserve gives them back. Nil: no bound.
	Reserve   func(n int64) bool
	Unreserve func(n int64)

	MaxSockets int // 0: 8192
}

const defaultMaxSockets = 8192

// Stack is the network of one program. It is safe for concurrent use.
type Stack struct {
	options Options
	ctx     context.Context // of everything outside
	cancel  context.CancelFunc
	pumps   sync.WaitGroup // goroutines that copy to the outside

	mu      sync.Mutex
	sockets map[*Socket]struct{} // all that are not closed
	ports   map[port][]*Socket   // bound ones
	names   map[any]*Socket      // of unix(7), by *memfs.Node or abstract name
	next    uint16               // ephemeral port
	closed  bool
	serves  bool // a stream listens on an address
	called  bool // was connected to, or may be from outside
}

// port is where sockets of IP are bound.
type port struct {
	typ    uint32 // SOCK_STREAM or SOCK_DGRAM
	number uint16
}

// New returns a network. Close releases what it holds.
func New(o Options) *Stack {
	o.MaxSockets = cmp.Or(o.MaxSockets, defaultMaxSockets)
	if o.Refused == nil {
		o.Refused = func(string) string { return "" }
	}
	if o.Reserve == nil {
		o.Reserve, o.Unreserve = func(int64) bool { return true }, func(int64) {}
	}
	s := &Stack{options: o, sockets: map[*Socket]struct{}{}, ports: map[port][]*Socket{}, names: map[any]*Socket{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.next = ephemeralFirst + uint16(rand.UintN(ephemeralLast-ephemeralFirst))
	return s
}

// Uncalled reports whether the program, since this was last asked, has listened for
// streams on an address where the outside does not see it, and none has come.
func (s *Stack) Uncalled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	uncalled := s.serves && !s.called
	s.serves, s.called = false, false
	return uncalled
}

// flushTime is how long Close lets what was written to the outside go out.
const flushTime = time.Second

// Close closes all sockets. What they have written to the outside is sent, if
// that takes no longer than a second.
func (s *Stack) Close() {
	s.mu.Lock()
	s.closed = true
	var files []*memfs.File
	for k := range s.sockets {
		files = append(files, k.closeLocked()...)
	}
	s.mu.Unlock()
	closeAll(files)
	flush := time.AfterFunc(flushTime, s.cancel)
	s.pumps.Wait()
	flush.Stop()
	s.cancel()
}

// Socket makes a socket as socket(2) does; typ has no flags.
func (s *Stack) Socket(domain, typ, protocol uint32) (*Socket, abi.Errno) {
	switch {
	case domain != abi.AF_UNIX && domain != abi.AF_INET && domain != abi.AF_INET6:
		return nil, abi.EAFNOSUPPORT
	case typ == abi.SOCK_SEQPACKET && domain == abi.AF_UNIX:
	case typ == abi.SOCK_RAW && domain != abi.AF_UNIX:
		return nil, abi.EPERM
	case typ != abi.SOCK_STREAM && typ != abi.SOCK_DGRAM:
		return nil, abi.ESOCKTNOSUPPORT
	}
	if domain != abi.AF_UNIX {
		own := abi.IPPROTO_TCP
		if typ == abi.SOCK_DGRAM {
			own = abi.IPPROTO_UDP
		}
		if protocol != 0 && protocol != own {
			return nil, abi.EPROTONOSUPPORT
		}
		protocol = own
	} else if protocol > 1 { // PF_UNIX is as good as 0
		return nil, abi.EPROTONOSUPPORT
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newLocked(domain, typ, protocol)
}

// Pair makes two connected sockets of AF_UNIX.
func (s *Stack) Pair(typ uint32) (a, b *Socket, e abi.Errno) {
	if a, e = s.Socket(abi.AF_UNIX, typ, 0); e != abi.OK {
		return nil, nil, e
	}
	if b, e = s.Socket(abi.AF_UNIX, typ, 0); e != abi.OK {
		a.Close()
		return nil, nil, e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.state, b.state = connected, connected
	a.peer, b.peer = b, a
	return a, b, abi.OK
}

// socketCost is what a socket takes, in bytes, without its buffers.
const socketCost = 1 << 10

func (s *Stack) newLocked(domain, typ, protocol uint32) (*Socket, abi.Errno) {
	if s.closed || len(s.sockets) >= s.options.MaxSockets {
		return nil, abi.ENFILE
	}
	if !s.options.Reserve(socketCost) {
		return nil, abi.ENOBUFS
	}
	k := &Socket{stack: s, Domain: domain, Type: typ, Protocol: protocol}
	k.udp.k = k
	k.local, k.remote = k.none(), k.none()
	s.sockets[k] = struct{}{}
	return k, abi.OK
}

// Addr is the address of a socket: as the guest sees it, and the file of a path.
type Addr struct {
	abi.Sockaddr
	Node *memfs.Node // of AF_UNIX with a path
}

// name is the key of an address of unix(7), nil for none.
func (a Addr) name() any {
	switch {
	case a.Node != nil:
		return a.Node
	case a.Path != "":
		return a.Path
	}
	return nil
}

// ip is the address without the form that IPv6 has for those of IPv4.
func (a Addr) ip() netip.Addr { return a.IP.Addr().Unmap() }

// inside reports whether an address belongs to the sandbox's loopback.
func inside(ip netip.Addr) bool { return ip.IsLoopback() || ip.IsUnspecified() }
