package pyodide

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"strings"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/netstack"
	"coderunner/pyodide/emscripten"
)

// The calls behind guest/lib/_coderunner_socket.py. An errno stands first in
// their answers.

func init() {
	for name, do := range map[string]func(context.Context, *instance, json.RawMessage, []byte) (any, error){
		"socket.open": withArgument(callSocket), "socket.pair": withArgument(callSocketPair), "socket.set": withArgument(callSetOption),
		"socket.alias": withArgument(callAlias), "socket.unalias": withArgument(callUnalias), "socket.refusal": withArgument(callRefusal),
		"socket.lookup": withArgument(callLookup), "socket.name": withArgument(callNameInfo), "socket.service": withArgument(callService),
		"socket.pton": withArgument(callPton), "socket.ntop": withArgument(callNtop),
	} {
		ownCalls[name] = ownCall{do: do}
	}
}

// callSocket makes a socket of the family, type and protocol.
func callSocket(_ context.Context, in *instance, a [3]uint32, _ []byte) (any, error) {
	fd, errno := in.proc.Socket(a[0], a[1], a[2])
	return []any{errno, fd}, nil
}

func callSocketPair(_ context.Context, in *instance, typ uint32, _ []byte) (any, error) {
	fds, errno := in.proc.SocketPair(typ)
	return []any{errno, fds}, nil
}

// callSetOption is setsockopt(descriptor, level, name); data is the value.
func callSetOption(_ context.Context, in *instance, a [3]int32, data []byte) (any, error) {
	s, errno := in.proc.SocketOf(a[0])
	if errno == abi.OK {
		errno = s.SetOption(uint32(a[1]), uint32(a[2]), data)
	}
	return errno, nil
}

type socketAddress struct {
	Family      uint32
	Path        string // one character each byte
	Host        string
	Port        uint16
	Flow, Scope uint32
}

func callAlias(_ context.Context, in *instance, a socketAddress, _ []byte) (any, error) {
	path, err := guestPath(a.Path)
	if err != nil {
		return nil, err
	}
	s := abi.Sockaddr{Family: a.Family, Path: path, Flow: a.Flow, Scope: a.Scope}
	if s.Family == abi.AF_INET6 {
		ip, ok := netstack.ParseIP(a.Host)
		if !ok {
			return nil, errors.New("not an address: " + a.Host)
		}
		s.IP = netip.AddrPortFrom(netip.AddrFrom16(ip.As16()), a.Port)
	}
	return in.proc.Alias(s).String(), nil
}

// callUnalias returns the path or the parts of an address that an alias stands
// for, null for none.
func callUnalias(_ context.Context, in *instance, alias netip.Addr, _ []byte) (any, error) {
	a, ok := in.proc.Unalias(alias)
	switch {
	case !ok:
		return nil, nil
	case a.Family == abi.AF_UNIX:
		var b strings.Builder
		for _, c := range []byte(a.Path) {
			b.WriteRune(rune(c))
		}
		return b.String(), nil
	}
	return []any{a.IP.Addr().String(), a.IP.Port(), a.Flow, a.Scope}, nil
}

// callRefusal returns why the network refused what a socket was last asked for.
func callRefusal(_ context.Context, in *instance, fd int32, _ []byte) (any, error) {
	s, errno := in.proc.SocketOf(fd)
	if errno != abi.OK {
		return "", nil
	}
	return s.Refusal(), nil
}

type lookupArgument struct {
	Host, Service string
	netstack.Hint
}

// callLookup is getaddrinfo: a list, or what the error says.
func callLookup(ctx context.Context, in *instance, a lookupArgument, _ []byte) (any, error) {
	var infos []netstack.Info
	var failed *netstack.NameError
	net := in.proc.Sockets()
	in.proc.Wait(ctx, func(ctx context.Context) { infos, failed = net.Resolve(ctx, a.Host, a.Service, a.Hint) })
	if failed != nil {
		return map[string]any{"code": failed.Code, "refused": failed.Refused, "reason": failed.Reason}, nil
	}
	list := make([]any, len(infos))
	for i, f := range infos {
		list[i] = []any{f.Addr.Family, f.Type, f.Protocol, f.Addr.IP.Addr().String(), f.Addr.IP.Port()}
	}
	return list, nil
}

type nameArgument struct {
	Host  netip.Addr
	Port  uint16
	Flags uint32
}

// callNameInfo is getnameinfo: the code of an error, and two names.
func callNameInfo(_ context.Context, _ *instance, a nameArgument, _ []byte) (any, error) {
	host, service, code := emscripten.NameInfo(abi.Sockaddr{IP: netip.AddrPortFrom(a.Host.WithZone(""), a.Port)}, a.Flags)
	return []any{code, host, service}, nil
}

type serviceArgument struct {
	Name     string // "": by the port
	Port     uint16
	Protocol string
}

// callService returns a port, or a name, of which 0 and "" are none.
func callService(_ context.Context, _ *instance, a serviceArgument, _ []byte) (any, error) {
	if a.Name != "" {
		return netstack.ServicePort(a.Name, a.Protocol), nil
	}
	return netstack.ServiceName(a.Port, a.Protocol), nil
}

// callPton returns the bytes of an address of IPv6, null for another text.
func callPton(_ context.Context, _ *instance, text string, _ []byte) (any, error) {
	ip, err := netip.ParseAddr(text)
	if err != nil || !ip.Is6() || ip.Zone() != "" {
		return nil, nil
	}
	return numbers(ip.AsSlice()), nil
}

func callNtop(_ context.Context, _ *instance, b [16]uint8, _ []byte) (any, error) {
	return netip.AddrFrom16(b).String(), nil
}

// numbers are bytes as a list in JSON.
func numbers(b []byte) []int {
	list := make([]int, len(b))
	for i, c := range b {
		list[i] = int(c)
	}
	return list
}
