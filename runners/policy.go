package runners

import (
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/netpolicy"
)

// Policy is what programs may touch, from Deno's permission flags. It is one
// policy for both languages. The zero value allows nothing.
//
// A program always has its own working directory and what its packages need;
// that is not part of the policy. A denial is stronger than a grant.
//
// # Sources
//
// The flags are as of Deno 2.9 (deno run --help=full, "Permission options").
type Policy struct {
	// Args are the flags as they were given, in long form, lists with
	// absolute paths. They are for messages: runners build what they need
	// from the grants.
	Args []string

	// All is --allow-all. Every Allow grant is then All, too.
	All bool

	Read, Write, Net, Env, Run, Sys, FFI, Import   Grant // --allow-*
	DenyRead, DenyWrite, DenyNet, DenyEnv, DenyRun Grant // --deny-*
	DenySys, DenyFFI, DenyImport                   Grant

	// Ignored things look as if they were not there: a file is not found, a
	// variable is not set (--ignore-*).
	IgnoreRead, IgnoreEnv Grant
}

// Grant is one permission: nothing, a list, or everything.
type Grant struct {
	All  bool
	List []string
}

// Any reports whether the grant holds anything at all.
func (g Grant) Any() bool { return g.All || len(g.List) > 0 }

// Network returns what programs may reach. The lists of a Policy that ParsePolicy
// did not make must be right.
func (p Policy) Network() *netpolicy.Policy {
	n, err := p.network()
	if err != nil {
		panic(err)
	}
	return &n
}

func (p Policy) network() (netpolicy.Policy, error) {
	return netpolicy.Parse(p.Net.All, p.Net.List, p.DenyNet.All, p.DenyNet.List)
}

// CanRead reports whether the policy lets programs read the file or directory at
// path, which is absolute. It compares names only: resolve links first.
func (p Policy) CanRead(path string) bool {
	return covers(p.Read, path) && !covers(p.DenyRead, path) && !covers(p.IgnoreRead, path)
}

// CanWrite is [Policy.CanRead] for writing.
func (p Policy) CanWrite(path string) bool {
	return covers(p.Write, path) && !covers(p.DenyWrite, path)
}

// CanEnv reports whether the policy lets programs see the variable.
func (p Policy) CanEnv(name string) bool {
	return p.Env.hasEnv(name) && !p.DenyEnv.hasEnv(name) && !p.IgnoreEnv.hasEnv(name)
}

// HostEnv reports whether a variable of this process is handed to programs:
// its name must be allowed and listed. An --allow-env without a list lets a
// program read its environment, but it is a clean one.
func (p Policy) HostEnv(name string) bool {
	return slices.Contains(p.Env.List, name) && p.CanEnv(name)
}

// hasEnv knows Deno's one pattern: a name that ends in an asterisk.
func (g Grant) hasEnv(name string) bool {
	return g.All || slices.ContainsFunc(g.List, func(item string) bool {
		prefix, star := strings.CutSuffix(item, "*")
		return item == name || star && strings.HasPrefix(name, prefix)
	})
}

// covers reports whether path is one of the grant's, or inside one.
func covers(g Grant, path string) bool {
	path = filepath.Clean(path)
	return g.All || slices.ContainsFunc(g.List, func(root string) bool { return Within(root, path) })
}

// Within reports whether a path is dir or in it, by their names alone.
func Within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// writeOnly returns what programs may write and not read.
func (p Policy) writeOnly() (list []string) {
	if p.Write.All && !p.Read.Any() {
		return []string{"everything"}
	}
	for _, name := range p.Write.List {
		if p.CanWrite(name) && !p.CanRead(name) {
			list = append(list, name)
		}
	}
	return list
}

// Warnings returns a sentence for each grant that allows more than its name
// suggests.
func (p Policy) Warnings() []string {
	var w []string
	if p.Run.Any() && !p.DenyRun.All {
		w = append(w, "--allow-run: JavaScript programs may start programs, which no permission holds back: they have the whole machine")
	}
	if p.FFI.Any() && !p.DenyFFI.All {
		w = append(w, "--allow-ffi: JavaScript programs may load native libraries, which no permission holds back: they have the whole machine")
	}
	if p.Write.All && !p.DenyWrite.All {
		w = append(w, "--allow-write without a list: programs may overwrite any file of this user, also those that start programs")
	}
	if list := p.writeOnly(); len(list) > 0 {
		w = append(w, "--allow-write without --allow-read of the same ("+strings.Join(list, ", ")+"): for JavaScript only, Python programs see nothing there")
	}
	if p.Net.Any() && p.Read.All && !p.DenyRead.All && !p.DenyNet.All {
		w = append(w, "--allow-read without a list together with --allow-net: programs may send any file of this user away")
	}
	return w
}
