// Package lockfile reads pyodide-lock.json, the list of the packages that
// Pyodide's maintainers build: their names, modules, files and digests.
//
// # Sources
//
// https://github.com/pyodide/pyodide-lock (format of Pyodide 0.24 and later).
package lockfile

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"coderunner/runners/python/wheel"
)

// Lock is a lock file. It is read-only.
type Lock struct {
	Python   string // "3.14.2"
	ABI      string // "2026_0"
	Platform string // "emscripten_5_0_3"
	Digest   string // SHA-256 of the file, hexadecimal
	ByName   map[string]Package
	imports  map[string]string // module to package
}

// Package is one package of the lock file.
type Package struct {
	Name     string   `json:"name"`
	Version  string   `json:"version"`
	FileName string   `json:"file_name"` // relative to the package base URL
	SHA256   string   `json:"sha256"`
	Depends  []string `json:"depends"`
	Imports  []string `json:"imports"`
	Type     string   `json:"package_type"` // "package", "shared_library"
}

// Read reads a lock file.
func Read(path string) (*Lock, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read lock file: %w", err)
	}
	l, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("read lock file %s: %w", path, err)
	}
	return l, nil
}

// Parse reads a lock file's text.
func Parse(b []byte) (*Lock, error) {
	var file struct {
		Info struct {
			Python   string `json:"python"`
			ABI      string `json:"abi_version"`
			Platform string `json:"platform"`
		} `json:"info"`
		Packages map[string]Package `json:"packages"`
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, err
	}
	l := &Lock{
		Python: file.Info.Python, ABI: file.Info.ABI, Platform: file.Info.Platform,
		Digest:  fmt.Sprintf("%x", sha256.Sum256(b)),
		ByName:  map[string]Package{},
		imports: map[string]string{},
	}
	for _, p := range file.Packages {
		// Names are joined to a URL or a directory.
		if strings.ContainsAny(p.FileName, `/\`) || strings.HasPrefix(p.FileName, ".") {
			return nil, fmt.Errorf("package %q has the file name %q", p.Name, p.FileName)
		}
		name := wheel.Normalize(p.Name)
		p.Name = name
		for i, d := range p.Depends {
			p.Depends[i] = wheel.Normalize(d)
		}
		l.ByName[name] = p
		for _, module := range p.Imports {
			// Of two packages with one module the shorter name is the main one
			// (opencv-python and opencv-python-headless).
			if old, ok := l.imports[module]; !ok || len(name) < len(old) || len(name) == len(old) && name < old {
				l.imports[module] = name
			}
		}
	}
	return l, nil
}

// ByImport returns the package that has a module, "" if none is known. The
// module's name may be dotted; its longest known prefix decides.
func (l *Lock) ByImport(module string) string {
	for {
		if name := l.imports[module]; name != "" {
			return name
		}
		i := strings.LastIndexByte(module, '.')
		if i < 0 {
			return ""
		}
		module = module[:i]
	}
}
