package deps

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"coderunner/runners"
)

// importMap maps the names that a program imports to addresses. Those that begin
// with Work are below the program's working directory, which is beside the map's
// file.
type importMap struct {
	Imports map[string]string            `json:"imports"`
	Scopes  map[string]map[string]string `json:"scopes,omitempty"`
}

// Work begins the addresses of a program's own files.
const Work = "./work/"

// JSON returns the map as Deno reads it.
func (m importMap) JSON() []byte { return runners.JSON(m) }

// scopeOf returns the scope of the files below a directory; "" is every file.
func scopeOf(dir string) string {
	if dir == "." {
		return ""
	}
	return Work + dir + "/"
}

// put adds an entry for a scope, unless there is one.
func (m *importMap) put(scope, key, address string) {
	if _, have := m.entries(scope)[key]; key != "" && !have {
		m.set(scope, key, address)
	}
}

// set adds or replaces an entry for a scope.
func (m *importMap) set(scope, key, address string) {
	entries := m.entries(scope)
	if entries == nil {
		if m.Scopes == nil {
			m.Scopes = map[string]map[string]string{}
		}
		entries = map[string]string{}
		m.Scopes[scope] = entries
	}
	entries[key] = address
}

// cover maps a specifier in every file, also in a file above which a package.json names it.
func (m *importMap) cover(specifier, file, address string) {
	m.set("", specifier, address)
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, have := match(m.Scopes[scopeOf(dir)], specifier); have {
			m.set(scopeOf(dir), specifier, address)
		}
	}
}

// entries returns the entries of a scope.
func (m *importMap) entries(scope string) map[string]string {
	if scope == "" {
		return m.Imports
	}
	return m.Scopes[scope]
}

// clone returns a map with the same entries.
func (m importMap) clone() importMap {
	c := importMap{Imports: maps.Clone(m.Imports)}
	for scope, entries := range m.Scopes {
		if c.Scopes == nil {
			c.Scopes = map[string]map[string]string{}
		}
		c.Scopes[scope] = maps.Clone(entries)
	}
	return c
}

// putPackage adds the entries of a package and of the paths in it.
func (m *importMap) putPackage(scope, key string, p Package) {
	m.put(scope, key, p.String())
	if !strings.HasSuffix(key, "/") {
		m.put(scope, key+"/", p.Registry+":/"+strings.TrimPrefix(p.String(), p.Registry+":")+"/")
	}
}

// lookup returns the address of a specifier in a file of the program.
//
// Source: the resolution algorithm of import maps in the HTML standard.
func (m *importMap) lookup(specifier, file string) (address string, ok bool) {
	if address, ok = match(m.Scopes[Work+file], specifier); ok {
		return address, true
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if address, ok = match(m.entries(scopeOf(dir)), specifier); ok || dir == "." {
			return address, ok
		}
	}
}

// Aliases returns what the modules of a program require by names of its configuration,
// which Deno's require() does not know: npm packages by their own names, and files by
// addresses that begin with Work.
func (d *Dependencies) Aliases(modules []Module, project *Project) map[string]string {
	aliases := map[string]string{}
	if len(project.manifests) == 0 {
		return nil
	}
	for _, m := range modules {
		for _, i := range m.Imports {
			address, _ := d.Map.lookup(i.Specifier, m.Path)
			p, isPackage := Split(address)
			switch {
			case !i.Required || !Fetched(i.Specifier) || scheme.MatchString(i.Specifier):
			case strings.HasPrefix(address, Work):
				aliases[i.Specifier] = address
			case isPackage && p.Registry == "npm" && p.Name+p.Path != i.Specifier:
				aliases[i.Specifier] = p.Name + p.Path
			}
		}
	}
	return aliases
}

// match returns the exact entry, else the longest prefix.
func match(entries map[string]string, specifier string) (address string, ok bool) {
	if address, ok = entries[specifier]; ok || len(entries) == 0 {
		return address, ok
	}
	for i := len(specifier) - 1; i >= 0; i-- {
		if specifier[i] != '/' {
			continue
		}
		if address, ok = entries[specifier[:i+1]]; ok {
			return address + specifier[i+1:], true
		}
	}
	return "", false
}

// standIns are the addresses of modules that stand for some of Node, by their names. The
// runner replaces functions in the objects that require returns, and the exports of the
// modules themselves stay as Deno made them.
var standIns = map[string]string{
	"os":           osModule,
	"dns":          dnsModule("node:dns", ",ADDRCONFIG,ALL,V4MAPPED,promises"),
	"dns/promises": dnsModule("node:dns/promises", ""),
}

func dnsModule(name, more string) string {
	return "data:text/javascript," + url.PathEscape(`import m from"`+name+`";export default m;export const{`+
		`ADDRGETNETWORKPARAMS,BADFAMILY,BADFLAGS,BADHINTS,BADNAME,BADQUERY,BADRESP,BADSTR,CANCELLED,CONNREFUSED,`+
		`DESTRUCTION,EOF,FILE,FORMERR,LOADIPHLPAPI,NODATA,NOMEM,NONAME,NOTFOUND,NOTIMP,NOTINITIALIZED,REFUSED,Resolver,`+
		`SERVFAIL,TIMEOUT,getDefaultResultOrder,getServers,lookup,lookupService,resolve,resolve4,resolve6,resolveAny,`+
		`resolveCaa,resolveCname,resolveMx,resolveNaptr,resolveNs,resolvePtr,resolveSoa,resolveSrv,resolveTxt,reverse,`+
		`setDefaultResultOrder,setServers`+more+`}=m`)
}

var osModule = "data:text/javascript," + url.PathEscape(`import os from"node:os";export default os;`+
	`const of=(name)=>(...args)=>os[name](...args);export const cpus=of("cpus"),getPriority=of("getPriority"),`+
	`homedir=of("homedir"),uptime=of("uptime"),userInfo=of("userInfo"),{arch,availableParallelism,constants,devNull,`+
	`endianness,EOL,freemem,hostname,loadavg,machine,networkInterfaces,platform,release,setPriority,tmpdir,totalmem,`+
	`type,version}=os`)

// toolsName is what programs import that call tools of other servers.
const toolsName = "tools"

// toolsModule returns the address of that module. The bootstrap makes what it exports. Without
// tools it throws: npm's project of that name is "npm:tools".
func toolsModule(servers []string) string {
	if servers == nil {
		return thrower(`there is no module "tools": this program has no tools, for the server was started without --tools`)
	}
	var b strings.Builder
	b.WriteString(`const t=globalThis[Symbol.for("coderunner:tools")];` +
		`if(!t)throw new Error("tools are called by the program itself: neither by a Worker nor by a session's program that is run again");` +
		`export default t;export const{search,describe,ToolError}=t;`)
	for n, server := range servers {
		if !slices.Contains([]string{"default", "search", "describe", "ToolError"}, server) {
			fmt.Fprintf(&b, "const s%d=t[%q];export{s%[1]d as %[2]q};", n, server)
		}
	}
	return "data:text/javascript," + url.PathEscape(b.String())
}

// throwing begins the address of a module that throws when it is imported.
const throwing = "data:text/javascript,throw%20Object.assign(new%20TypeError("

// thrower returns the address of a module that throws the message.
func thrower(message string) string {
	return throwing + url.PathEscape(string(runners.JSON(message))) + `),{code:"ERR_MODULE_NOT_FOUND"})`
}
