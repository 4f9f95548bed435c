package netpolicy

import (
	"net"
	"net/netip"
)

// standIns are addresses for names that are not looked up here. Nobody has them
// (RFC 2544), and no policy reaches them otherwise.
var standIns = netip.MustParsePrefix("198.18.0.0/16")

func isStandIn(addr netip.Addr) bool { return standIns.Contains(addr.Unmap()) }

// standIn returns the address that stands for a name in this run.
func (r *Run) standIn(name string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if addrs, ok := r.names[name]; ok {
		return addrs, nil
	}
	n := len(r.names) + 1
	if n > maxNames {
		return nil, &net.DNSError{Err: "too many names in one run", Name: name}
	}
	b := standIns.Addr().As4()
	b[2], b[3] = byte(n>>8), byte(n)
	addrs := []netip.Addr{netip.AddrFrom4(b)}
	r.names[name] = addrs // its number is taken
	return addrs, nil
}
