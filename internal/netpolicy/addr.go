package netpolicy

import (
	"net/netip"
	"slices"
)

// nat64 is the prefix behind which an IPv6 network reaches IPv4 (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// specials are addresses that do not lead out, or not surely: of this machine,
// private, for operators' or clouds' services, and IPv6 that stands for IPv4.
var specials = func() (list []netip.Prefix) {
	for _, s := range []string{
		"0.0.0.0/8",        // this network; Linux takes 0.0.0.0 for the loopback
		"10.0.0.0/8",       // private
		"100.64.0.0/10",    // carrier-grade NAT, a cloud's metadata (100.100.100.200)
		"127.0.0.0/8",      // loopback
		"169.254.0.0/16",   // link-local, clouds' metadata (169.254.169.254)
		"172.16.0.0/12",    // private
		"192.0.0.0/24",     // IETF, a cloud's metadata (192.0.0.192)
		"192.88.99.0/24",   // 6to4 relays
		"192.168.0.0/16",   // private
		"198.18.0.0/15",    // benchmarks
		"224.0.0.0/3",      // multicast, reserved, broadcast
		"168.63.129.16/32", // a cloud's host
		"::/8",             // unspecified, loopback, IPv4-compatible and -mapped, NAT64
		"100::/8",          // discard
		"2001::/23",        // IETF, Teredo
		"2002::/16",        // 6to4
		"5f00::/16",        // segment routing
		"fc00::/7",         // private, a cloud's metadata (fd00:ec2::254)
		"fe00::/7",         // link-local, site-local, multicast
	} {
		list = append(list, netip.MustParsePrefix(s))
	}
	return list
}()

// isSpecial reports whether an address must be named to be reached.
func isSpecial(addr netip.Addr) bool {
	addr = addr.WithZone("").Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		addr = netip.AddrFrom4([4]byte(b[12:]))
	}
	return slices.ContainsFunc(specials, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// formsOf returns an address and what it stands for: first as rules have it, then
// the IPv4 address within, and the loopback for none.
func formsOf(addr netip.Addr) []netip.Addr {
	addr = addr.WithZone("").Unmap()
	forms := []netip.Addr{addr}
	if addr.Is6() {
		b := addr.As16()
		switch {
		case nat64.Contains(addr), netip.PrefixFrom(netip.IPv6Unspecified(), 96).Contains(addr):
			forms = append(forms, netip.AddrFrom4([4]byte(b[12:])))
		case b[0] == 0x20 && b[1] == 0x02: // 6to4
			forms = append(forms, netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if addr.IsUnspecified() {
		forms = append(forms, netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback())
	}
	return forms
}
