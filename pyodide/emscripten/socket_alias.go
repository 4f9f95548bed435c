package emscripten

import (
	"encoding/binary"
	"net/netip"

	"coderunner/internal/machine/abi"
)

// aliases are addresses of IPv4 that stand for those of other families:
// CPython's _socket was built without IPv6 and unix(7), so that its objects for
// such sockets are of AF_INET, and guest/lib/_coderunner_socket.py translates.
// They are in 240.0.0.0/4, to which nothing can be sent, and mean something to
// sockets of the other families only.
type aliases struct {
	byAddr map[abi.Sockaddr]uint32
	list   []abi.Sockaddr
}

const (
	aliasBase  = 0xf0000000
	maxAliases = 1 << 16
)

// of returns the alias of an address.
func (t *aliases) of(a abi.Sockaddr) abi.Sockaddr {
	n, ok := t.byAddr[a]
	if !ok {
		if t.byAddr == nil || len(t.list) >= maxAliases {
			*t = aliases{byAddr: map[abi.Sockaddr]uint32{}} // aliases are used at once
		}
		n = uint32(len(t.list))
		t.byAddr[a], t.list = n, append(t.list, a)
	}
	ip := [4]byte(binary.BigEndian.AppendUint32(nil, aliasBase|n))
	return abi.Sockaddr{Family: abi.AF_INET, IP: netip.AddrPortFrom(netip.AddrFrom4(ip), 0)}
}

// real returns what an alias stands for.
func (t *aliases) real(a abi.Sockaddr) (abi.Sockaddr, bool) {
	ip := a.IP.Addr().As4()
	n := binary.BigEndian.Uint32(ip[:]) ^ aliasBase
	if n >= uint32(len(t.list)) {
		return abi.Sockaddr{}, false
	}
	return t.list[n], true
}

// Alias returns the address of IPv4 that stands for one of another family.
func (p *Process) Alias(a abi.Sockaddr) netip.Addr { return p.aliases.of(a).IP.Addr() }

// Unalias returns what such an address stands for.
func (p *Process) Unalias(ip netip.Addr) (abi.Sockaddr, bool) {
	if !ip.Is4() {
		return abi.Sockaddr{}, false
	}
	return p.aliases.real(abi.Sockaddr{IP: netip.AddrPortFrom(ip, 0)})
}
