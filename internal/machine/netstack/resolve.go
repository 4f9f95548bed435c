package netstack

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"coderunner/internal/machine/abi"
)

// Hint is what getaddrinfo(3) is told.
type Hint struct{ Family, Type, Protocol, Flags uint32 }

// Info is one of its answers.
type Info struct {
	Type, Protocol uint32
	Addr           abi.Sockaddr
}

// NameError is an error of Resolve or Reverse: one of the EAI numbers, and why
// if the Outside refused.
type NameError struct {
	Code    int32
	Refused bool
	Reason  string
}

func (e *NameError) Error() string { return "EAI " + strconv.Itoa(int(e.Code)) + ": " + e.Reason }

// The EAI numbers and AI flags of musl.
const (
	eaiNoName  = -2
	eaiAgain   = -3
	eaiFamily  = -6
	eaiType    = -7
	eaiService = -8

	aiPassive     = 0x1
	aiNumericHost = 0x4
	aiNumericServ = 0x400
)

// maxName bounds a host's name, in bytes.
const maxName = 255

// Resolve is getaddrinfo(3). It waits for the Outside.
func (s *Stack) Resolve(ctx context.Context, node, service string, h Hint) ([]Info, *NameError) {
	if h.Family != abi.AF_UNSPEC && h.Family != abi.AF_INET && h.Family != abi.AF_INET6 {
		return nil, &NameError{Code: eaiFamily}
	}
	var kinds [][2]uint32
	for _, kind := range [][2]uint32{{abi.SOCK_STREAM, abi.IPPROTO_TCP}, {abi.SOCK_DGRAM, abi.IPPROTO_UDP}, {abi.SOCK_RAW, h.Protocol}} {
		if (h.Type == kind[0] || h.Type == 0 && kind[0] != abi.SOCK_RAW) && (h.Protocol == 0 || h.Protocol == kind[1]) {
			kinds = append(kinds, kind)
		}
	}
	if kinds == nil {
		return nil, &NameError{Code: eaiType}
	}
	number, err := portOf(service, h)
	if err != nil {
		return nil, err
	}
	ips, err := s.addresses(ctx, node, h)
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, ip := range ips {
		a := abi.Sockaddr{Family: abi.AF_INET6, IP: netip.AddrPortFrom(ip, number)}
		if ip.Is4() {
			a.Family = abi.AF_INET
		}
		for _, kind := range kinds {
			infos = append(infos, Info{kind[0], kind[1], a})
		}
	}
	return infos, nil
}

func portOf(service string, h Hint) (uint16, *NameError) {
	if service == "" {
		return 0, nil
	}
	if n, err := strconv.ParseUint(service, 10, 32); err == nil {
		return uint16(n), nil
	}
	if h.Flags&aiNumericServ != 0 {
		return 0, &NameError{Code: eaiNoName}
	}
	protocol := ""
	if h.Type == abi.SOCK_DGRAM {
		protocol = "udp"
	}
	if n := ServicePort(service, protocol); n != 0 {
		return n, nil
	}
	return 0, &NameError{Code: eaiService}
}

// addresses returns those of a node that are of the family.
func (s *Stack) addresses(ctx context.Context, node string, h Hint) ([]netip.Addr, *NameError) {
	var all []netip.Addr
	outside := s.options.Outside
	switch ip, ok := ParseIP(node); {
	case node == "" && h.Flags&aiPassive != 0:
		all = []netip.Addr{netip.IPv4Unspecified(), netip.IPv6Unspecified()}
	case node == "" || localName(node):
		all = Loopback("localhost")
	case ok:
		all = []netip.Addr{ip}
	case h.Flags&aiNumericHost != 0 || len(node) > maxName:
		return nil, &NameError{Code: eaiNoName}
	case outside == nil:
		return nil, &NameError{Code: eaiAgain, Refused: true, Reason: s.options.Refused(node)}
	default:
		found, err := outside.Lookup(ctx, node)
		if err != nil {
			return nil, nameError(err)
		}
		all = found
	}
	var ips []netip.Addr
	for _, ip := range all {
		if ip = ip.WithZone(""); h.Family == abi.AF_UNSPEC || ip.Is4() == (h.Family == abi.AF_INET) {
			ips = append(ips, ip)
		}
	}
	if ips == nil {
		return nil, &NameError{Code: eaiNoName}
	}
	return ips, nil
}

func nameError(err error) *NameError {
	e := &NameError{Code: eaiAgain, Reason: err.Error()}
	var dns *net.DNSError
	switch {
	case refused(err):
		e.Refused = true
	case errors.As(err, &dns) && dns.IsNotFound:
		e.Code = eaiNoName
	}
	return e
}

// Loopback returns the addresses of the loopback that a host's name means, or an
// address in any form; none if it means another host.
func Loopback(host string) []netip.Addr {
	ip, ok := ParseIP(host)
	switch ip = ip.Unmap(); {
	case ok && inside(ip):
		return []netip.Addr{loopbackOf(ip)}
	case !ok && localName(host):
		return []netip.Addr{loopbackOf(netip.IPv4Unspecified()), netip.IPv6Loopback()}
	}
	return nil
}

// localName reports whether a name is the loopback's.
func localName(name string) bool {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain" || name == "ip6-localhost" || name == "ip6-loopback"
}

// Reverse is the name of an address, "" if it has none here.
func Reverse(ip netip.Addr) string {
	if ip = ip.Unmap(); ip.IsLoopback() {
		return "localhost"
	}
	return ""
}

// ParseIP parses an address in any form that C libraries take: 127.1,
// 0x7f000001, 017700000001 and 2130706433 are 127.0.0.1.
func ParseIP(s string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(s); err == nil {
		return ip, true
	}
	parts := strings.Split(s, ".")
	if s == "" || len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 0, 32)
		if err != nil || strings.ContainsAny(p, "_bBoO") {
			return netip.Addr{}, false
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if n >= 1<<bits {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}
