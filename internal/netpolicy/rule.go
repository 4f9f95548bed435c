package netpolicy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// rule is an item of a list: a name, a name with all below it, or a range of
// addresses, each with one port or with all.
type rule struct {
	name    string // lower case, without a dot at its end
	below   bool   // names that end in it, too
	network netip.Prefix
	port    uint16
	anyPort bool
}

func (r rule) hasPort(port uint16) bool { return r.anyPort || port == 0 || r.port == port }

// deniesPort is hasPort for a denial: that of one port does not deny a name.
func (r rule) deniesPort(port uint16) bool { return r.anyPort || r.port == port && port != 0 }

func (r rule) hasName(name string) bool {
	return r.name != "" && (name == r.name || r.below && strings.HasSuffix(name, "."+r.name))
}

func (r rule) hasAddr(addr netip.Addr) bool {
	return r.network.IsValid() && r.network.Contains(addr.WithZone(""))
}

// parseRule reads an item. An item that begins with its colon stands for this
// machine, by the names that Deno takes.
func parseRule(item string) ([]rule, error) {
	if port, ok := strings.CutPrefix(item, ":"); ok {
		var rules []rule
		for _, host := range []string{"0.0.0.0", "127.0.0.1", "localhost"} {
			r, err := parseRule(host + ":" + port)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r...)
		}
		return rules, nil
	}
	if strings.Contains(item, "://") {
		return nil, errors.New("URLs are not taken, only names and addresses")
	}
	host, port, hasPort := item, "", false
	if strings.HasPrefix(item, "[") {
		end := strings.IndexByte(item, ']')
		if end < 0 {
			return nil, errors.New("the bracket of an IPv6 address is not closed")
		}
		if host, port = item[1:end], item[end+1:]; port != "" {
			if port, hasPort = strings.CutPrefix(port, ":"); !hasPort {
				return nil, errors.New("after an IPv6 address in brackets, only a port can follow (Deno has no ranges of IPv6)")
			}
		}
	} else if host, port, hasPort = strings.Cut(item, ":"); strings.Contains(port, ":") {
		return nil, errors.New("an IPv6 address must be in brackets, as in [::1]:80")
	}
	r := rule{anyPort: !hasPort}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("%q is not a port", port)
		}
		r.port = uint16(n)
	}
	if err := r.setHost(host, strings.HasPrefix(item, "[")); err != nil {
		return nil, err
	}
	return []rule{r}, nil
}

// setHost sets what the rule is for.
func (r *rule) setHost(host string, brackets bool) error {
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is6() == brackets {
		addr = addr.Unmap().WithZone("")
		r.network = netip.PrefixFrom(addr, addr.BitLen())
		return nil
	}
	if strings.Contains(host, "/") && !brackets {
		prefix, err := netip.ParsePrefix(host)
		if err != nil {
			return fmt.Errorf("%q is not a range of addresses, as 10.0.0.0/8 is", host)
		}
		r.network = prefix.Masked()
		return nil
	}
	if brackets {
		return fmt.Errorf("%q is not an IPv6 address (Deno has no ranges of them)", host)
	}
	name, below := strings.CutPrefix(host, "*.")
	r.name, r.below = canonical(name), below
	if r.name == "" {
		return errors.New("there is no host")
	}
	for _, c := range []byte(r.name) {
		if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return fmt.Errorf("%q is not a name (an international one is written as xn--…, and a pattern begins with *.)", host)
		}
	}
	return nil
}

// canonical returns a name as rules have it.
func canonical(name string) string {
	return strings.ToLower(strings.TrimSuffix(name, "."))
}
