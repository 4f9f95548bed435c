package resolver

import (
	"net/url"
	"slices"
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

// allowsHost reports whether a policy lets programs reach a URL's host. It compares
// names and addresses as written; Deno's other patterns never allow, and any of
// them in the deny list denies.
func allowsHost(p runners.Policy, u *url.URL) bool {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	host := strings.ToLower(u.Hostname())
	names := []string{host, strings.ToLower(strings.TrimSuffix(u.Host, ":"+u.Port())) + ":" + port}
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(item string) bool {
			return slices.Contains(names, strings.ToLower(item))
		})
	}
	pattern := func(item string) bool { return strings.ContainsAny(item, "*/") }
	if p.DenyNet.All || in(p.DenyNet.List) || slices.ContainsFunc(p.DenyNet.List, pattern) {
		return false
	}
	return p.Net.All || in(p.Net.List)
}
