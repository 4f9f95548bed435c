package resolver

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"coderunner/runners"
)

// Refusal returns why a running program may not have packages fetched by name, ""
// if it may. The names are an exfiltration channel, so the policy must allow the
// hosts of the index and the base. A local directory as index is not one.
func (r *Resolver) Refusal(p runners.Policy) string {
	var hosts []string
	for _, u := range []*url.URL{r.index, r.base} {
		if u.Scheme != "file" && !allowsHost(p, u) && !slices.Contains(hosts, u.Host) {
			hosts = append(hosts, u.Host)
		}
	}
	if hosts == nil {
		return ""
	}
	return "it was not prepared before the program began, and a running program may not have the index asked: write the requirement as a literal in micropip.install, " +
		"name it in the argument packages (--package on the command line), or let programs reach the index (--allow-net=" + strings.Join(hosts, ",") + " on the server)"
}

// allowsHost reports whether a policy lets programs reach a URL's host.
func allowsHost(p runners.Policy, u *url.URL) bool {
	port := cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && p.Network().AllowsHost(u.Hostname(), uint16(n))
}
