// Package deps resolves what JavaScript and TypeScript programs import: specifiers
// of npm, JSR and Node's own modules, by the program's configuration and files,
// into Deno's import map. It reads Deno's lock file and the messages and answers
// of "deno cache" and "deno info".
//
// It starts no process and opens only the lock file: runners/deno does the rest.
//
// # Sources
//
// Deno 2.9: its lock file's format 5, the JSON of "deno info", the texts of its
// messages (reason.go), and how it reads deno.json and package.json.
package deps

import (
	"sort"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners"
)

var (
	npmName     = lazyregexp.New(`^(@[a-zA-Z0-9~][a-zA-Z0-9._~-]*/)?[a-zA-Z0-9~][a-zA-Z0-9._~-]*$`)
	jsrName     = lazyregexp.New(`^@[a-z0-9-]+/[a-z0-9-]+$`)
	versionText = lazyregexp.New(`^[0-9A-Za-z.^~<>=*+_-]+$`)
	subpathText = lazyregexp.New(`^(/[0-9A-Za-z._@~+-]+)+$`)
	scheme      = lazyregexp.New(`^[A-Za-z][A-Za-z0-9+.-]*:`)
)

// Package is a package as an import or the packages argument names it.
type Package struct {
	Registry string // "npm" or "jsr"
	Name     string // "zod", "@std/assert"
	Version  string // "" is any
	Path     string // "" or "/v4"
}

func (p Package) String() string {
	s := p.Registry + ":" + p.Name
	if p.Version != "" {
		s += "@" + p.Version
	}
	return s + p.Path
}

// Split parses "npm:zod@3/v4", "jsr:@std/assert" or, for npm, the same without a
// scheme.
func Split(spec string) (Package, bool) {
	p := Package{Registry: "npm"}
	rest := spec
	if s := scheme.FindString(spec); s != "" {
		p.Registry = strings.ToLower(strings.TrimSuffix(s, ":"))
		rest = strings.TrimPrefix(spec[len(s):], "/")
	}
	names := 1
	if strings.HasPrefix(rest, "@") {
		names = 2
	}
	parts := strings.SplitN(rest, "/", names+1)
	if len(parts) < names {
		return Package{}, false
	}
	if len(parts) > names && parts[names] != "" {
		p.Path = "/" + parts[names]
	}
	p.Name = strings.Join(parts[:names], "/")
	if i := strings.LastIndexByte(p.Name, '@'); i > 0 {
		p.Name, p.Version = p.Name[:i], p.Name[i+1:]
		if !versionText.MatchString(p.Version) || len(p.Version) > 100 {
			return Package{}, false
		}
	}
	known := p.Registry == "npm" && npmName.MatchString(p.Name) || p.Registry == "jsr" && jsrName.MatchString(p.Name)
	if !known || len(p.Name) > 214 || len(p.Path) > 300 || p.Path != "" && !subpathText.MatchString(p.Path) {
		return Package{}, false
	}
	return p, true
}

// ParsePackages parses the packages argument.
func ParsePackages(args []string) ([]Package, error) {
	var pkgs []Package
	for _, arg := range args {
		p, ok := Split(strings.TrimSpace(arg))
		if !ok {
			return nil, runners.BadArgument("packages", "has %q, which is not a package of npm or JSR: write it like npm:zod@3 or jsr:@std/assert@1.", Shorten(arg, 100))
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, nil
}

// Shorten cuts a text after n bytes, for a message.
func Shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Fetched reports whether a specifier names something that may have to be
// fetched: not a file of the program and not a part of Deno.
func Fetched(spec string) bool {
	for _, prefix := range []string{"./", "../", "/", "node:", "file:", "data:", "blob:", "ext:", "deno:"} {
		if strings.HasPrefix(spec, prefix) {
			return false
		}
	}
	return spec != "." && spec != ".." && spec != "bun" && !isBuiltin(spec) // npm's bun is the program
}

// NodeModule returns the name of a module of Node without its scheme.
func NodeModule(spec string) (name string, ok bool) {
	name, ok = strings.CutPrefix(spec, "node:")
	return name, ok || isBuiltin(spec)
}

// isBuiltin reports whether a bare specifier is one of Node's modules.
func isBuiltin(spec string) bool {
	i := sort.SearchStrings(builtins, spec)
	return i < len(builtins) && builtins[i] == spec
}

// builtins are Node's modules that may be imported without the node: scheme,
// as Deno's node:module lists them in builtinModules. Sorted.
var builtins = []string{
	"assert", "assert/strict", "async_hooks", "buffer", "child_process", "cluster", "console",
	"constants", "crypto", "dgram", "diagnostics_channel", "dns", "dns/promises", "domain",
	"events", "fs", "fs/promises", "http", "http2", "https", "inspector", "inspector/promises",
	"module", "net", "os", "path", "path/posix", "path/win32", "perf_hooks", "process",
	"punycode", "querystring", "readline", "readline/promises", "repl", "stream",
	"stream/consumers", "stream/promises", "stream/web", "string_decoder", "sys", "timers",
	"timers/promises", "tls", "trace_events", "tty", "url", "util", "util/types", "v8", "vm",
	"wasi", "worker_threads", "zlib",
}
