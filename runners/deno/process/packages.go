package process

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Packages are what a process is started with: those that its programs import. They are never
// changed.
type Packages struct {
	Dir        string // with map.json, packages.js, deno.lock, deno.json and uses; "" if none is needed
	Locked     bool   // there is a deno.lock
	Remote     bool   // there are modules from URLs
	NPM        bool   // there are npm packages
	MapsFiles  bool   // the import map names files of the program
	Config     bool   // there is a deno.json
	Uses       Uses
	Dirs       []string // directories of the npm packages
	Copies     []string // package directories incl. peer-dependency copies
	Specifiers []string // of what the program and its files import of them
	Set        string   // a digest of the packages in exactly these versions
}

// The files of a prepared directory.
const (
	MapName    = "map.json"
	ModuleName = "packages.js"
	LockName   = "deno.lock"
	ConfigName = "deno.json"
	UsesName   = "uses" // what its packages may use, a JSON object
)

// Uses is what the packages of a prepared directory may use.
type Uses struct {
	OS      bool // node:os; replacing functions in it costs more than loading many packages
	Names   bool // functions of node:os that a module imports by their names
	Workers bool
	Net     bool // node:net, or what is made of it
	Files   bool // node:fs

	// Older are packages that the program names without a version and that are not the
	// newest, since others depend on an older one. npm would install both.
	Older []string `json:",omitempty"`
}

// modules returns the modules of Node that are changed for the packages.
func (u *Uses) modules() (names []string) {
	for _, m := range []struct {
		used  bool
		names []string
	}{{u.OS, []string{"os"}}, {u.Net, []string{"http", "https", "net", "dns"}}, {u.Files, []string{"fs"}}, {u.Workers, []string{"worker_threads"}}} {
		if m.used {
			names = append(names, m.names...)
		}
	}
	return names
}

// Has reports whether a package of npm is installed in any version.
func (p *Packages) Has(name string) bool {
	return slices.ContainsFunc(p.Dirs, func(dir string) bool { return Unpacks(dir, name) })
}

// Unpacks reports whether a directory has a version of a package of npm.
func Unpacks(dir, name string) bool {
	return strings.HasSuffix(filepath.Dir(dir), string(os.PathSeparator)+filepath.FromSlash(name))
}

// maxManifest bounds what is read of a file of JSON, in bytes.
const maxManifest = 64 << 20

// ReadJSON reads a file of Deno's cache.
func ReadJSON(name string, v any) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return json.NewDecoder(io.LimitReader(f, maxManifest)).Decode(v)
}
