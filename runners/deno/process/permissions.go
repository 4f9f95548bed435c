package process

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/guard"
)

// maxFlag bounds one argument, in bytes. Linux takes twice as much.
const maxFlag = 64 << 10

// flag returns a permission flag, or none if the grant is empty, or several if
// the list is long.
func flag(name string, g runners.Grant) (flags []string) {
	if g.All {
		return []string{name}
	}
	for list := g.List; len(list) > 0; {
		n, size := 1, len(list[0])
		for n < len(list) && size+len(list[n]) < maxFlag {
			size += len(list[n]) + 1
			n++
		}
		flags = append(flags, name+"="+strings.Join(list[:n], ","))
		list = list[n:]
	}
	return flags
}

// permissionFlags returns the permission flags of a policy for one run. Read and
// write are the paths that every run needs, hosts what it connects to, imports the
// flags for modules from URLs, empty if there are none.
//
// A denial of everything leaves out the grant instead of becoming a flag, which
// would also deny what the run needs.
func permissionFlags(p runners.Policy, read, write, hosts, imports []string) []string {
	var flags []string
	named := namesSys(p)
	add := func(kind string, allow, deny runners.Grant, needed []string) {
		if deny.All {
			allow, deny = runners.Grant{}, runners.Grant{}
		}
		if !allow.All {
			allow.List = slices.Concat(needed, allow.List)
		}
		if !p.All || !allow.All {
			flags = append(flags, flag("--allow-"+kind, allow)...)
		}
		flags = append(flags, flag("--deny-"+kind, deny)...)
	}
	if p.All && !deniesEverything(p) {
		flags = append(flags, "--allow-all")
	} else {
		p.All = false
	}
	add("read", p.Read, p.DenyRead, read)
	add("write", p.Write, p.DenyWrite, write)
	add("net", p.Net, p.DenyNet, hosts)
	add("env", runners.Grant{All: true}, p.DenyEnv, nil) // it is a clean one, see runEnv
	add("run", p.Run, p.DenyRun, nil)
	if named {
		flags = append(flags, "--permission-set") // of withSys
	} else {
		add("sys", p.Sys, p.DenySys, nil)
	}
	add("ffi", p.FFI, p.DenyFFI, nil)
	ignore := p.IgnoreRead
	if !p.All && !p.Read.Any() && !ignore.Any() {
		ignore.All = true // packages look for their configuration in the parents of their directory
	}
	flags = append(flags, flag("--ignore-read", ignore)...)
	flags = append(flags, flag("--ignore-env", p.IgnoreEnv)...)

	// --cached-only already refuses what was not fetched. These flags refuse it
	// once more.
	if len(imports) > 0 {
		return append(flags, imports...)
	}
	if !p.All {
		flags = append(flags, "--allow-import=none.invalid")
	}
	return append(flags, "--no-remote")
}

// nameServers returns what a supervised program may ask about names: Deno wants to be
// allowed that, and the guard checks each question.
func nameServers(p runners.Policy) (list []string) {
	if p.Net.All || !Supervised(p) {
		return nil
	}
	for _, addr := range guard.NameServers() {
		list = append(list, netip.AddrPortFrom(addr, 53).String())
	}
	return list
}

// inspector is what a session's process needs of --allow-sys, until it is ready.
const inspector = "inspector"

// withInspector returns a policy that grants it.
func withInspector(p runners.Policy) runners.Policy {
	if p.DenySys.All {
		p.Sys, p.DenySys = runners.Grant{}, runners.Grant{}
	}
	p.DenySys.List = slices.DeleteFunc(slices.Clone(p.DenySys.List), func(s string) bool { return s == inspector })
	if !p.Sys.All {
		p.Sys.List = append(slices.Clip(p.Sys.List), inspector)
	}
	return p
}

// namesSys reports whether a policy names kinds of --allow-sys. Deno's command line does not know
// all of them, such as inspector and umask, since 2.9.6; its configuration does.
func namesSys(p runners.Policy) bool {
	return !p.All && !p.DenySys.All && len(p.Sys.List)+len(p.DenySys.List) > 0
}

// withSys returns a configuration of Deno with the kinds that a policy names.
func withSys(config []byte, p runners.Policy) ([]byte, error) {
	all := map[string]any{}
	if err := json.Unmarshal(config, &all); err != nil {
		return nil, err
	}
	sys := map[string]any{"allow": append([]string{}, p.Sys.List...), "deny": append([]string{}, p.DenySys.List...)}
	if p.Sys.All {
		sys["allow"] = true
	}
	all["permissions"] = map[string]any{"default": map[string]any{"sys": sys}}
	return json.Marshal(all)
}

// sysKinds returns the kinds of --allow-sys that the bootstrap knows and the policy
// grants.
func sysKinds(p runners.Policy) []string {
	kinds := []string{"hostname", "osRelease", "osUptime", "loadavg", "networkInterfaces", "uid", "gid", "umask", "systemMemoryInfo", "cpus", "homedir", "getPriority", "userInfo"}
	return slices.DeleteFunc(kinds, func(kind string) bool { return !hasSys(p, kind) })
}

// hasSys reports whether the policy grants a kind of --allow-sys.
func hasSys(p runners.Policy, kind string) bool {
	has := func(g runners.Grant) bool { return g.All || slices.Contains(g.List, kind) }
	return has(p.Sys) && !has(p.DenySys)
}

// deniesEverything reports whether a whole kind is denied, so that
// --allow-all cannot be used.
func deniesEverything(p runners.Policy) bool {
	return p.DenyRead.All || p.DenyWrite.All || p.DenyNet.All || p.DenyEnv.All || p.DenyRun.All || p.DenySys.All || p.DenyFFI.All
}

// ImportFlags returns the flags for the hosts that the trusted phase may fetch
// modules from: the policy's, or Deno's own list if the policy names none.
func ImportFlags(p runners.Policy, jsrURL string) []string {
	allow, deny := p.Import, p.DenyImport
	var flags []string
	switch {
	case deny.All:
		return []string{"--no-remote"}
	case allow.All:
		flags = append(flags, "--allow-import")
	case len(allow.List) > 0:
		hosts := allow.List
		if h := HostPort(jsrURL); h != "" {
			hosts = append(slices.Clone(hosts), h)
		}
		flags = append(flags, "--allow-import="+strings.Join(hosts, ","))
	}
	return append(flags, flag("--deny-import", deny)...)
}

// HostPort returns a URL's host and port as Deno's import list expects them, or "".
func HostPort(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Hostname() == "" {
		return ""
	}
	switch {
	case u.Port() != "":
		return u.Host
	case u.Scheme == "http":
		return u.Host + ":80"
	}
	return u.Host + ":443"
}

// grants reports whether a policy has anything to read or write in, below or above a directory.
func grants(p runners.Policy, dir string) bool {
	related := func(name string) bool { return runners.Within(dir, name) || runners.Within(name, dir) }
	return p.Read.All || p.Write.All || slices.ContainsFunc(slices.Concat(p.Read.List, p.Write.List), related)
}
