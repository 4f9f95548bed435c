package main

import (
	"bytes"
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

const description = "Sandbox for Python, JavaScript, TypeScript and bash programs, as an MCP server and at a terminal"

// nodeManifest is a package.json.
type nodeManifest struct {
	Name        string            `json:"name"`
	Version     string            `json:"version"`
	Description string            `json:"description"`
	License     string            `json:"license"`
	Homepage    string            `json:"homepage"`
	MCPName     string            `json:"mcpName,omitempty"`
	Bin         map[string]string `json:"bin,omitempty"`
	OS          []string          `json:"os,omitempty"`
	CPU         []string          `json:"cpu,omitempty"`
	Engines     map[string]string `json:"engines,omitempty"`
	Unplugged   bool              `json:"preferUnplugged,omitempty"` // Yarn: the binary must be a file
	Optional    map[string]string `json:"optionalDependencies,omitempty"`
}

// npmName returns the name of the package with a platform's binary.
func (r *release) npmName(p platform) string { return r.NPM + "-" + p.node + "-" + p.cpu }

// npm makes a package for each platform with its binary, and one with the launcher, of
// whose optional dependencies npm installs the one that fits.
func (r *release) npm(context.Context) error {
	launcher, err := r.render("coderunner.js", r)
	if err != nil {
		return err
	}
	files := append(slices.Clip(r.common), r.about("npx", []string{"-y", r.NPM}))
	main := nodeManifest{Name: r.NPM, MCPName: r.Registry, Bin: map[string]string{"coderunner": "coderunner.js"},
		Engines: map[string]string{"node": ">=18"}, Optional: map[string]string{}}
	for _, p := range r.platforms {
		part := nodeManifest{Name: r.npmName(p), OS: []string{p.node}, CPU: []string{p.cpu}, Unplugged: true}
		main.Optional[part.Name] = r.Version
		runtimes, err := r.runtimes(p, "")
		if err != nil {
			return err
		}
		if err := r.npmPackage(part, append(append(runtimes, files...), file{p.executable(), 0o755, r.binaries[p]})); err != nil {
			return err
		}
	}
	return r.npmPackage(main, append(files, file{"coderunner.js", 0o755, launcher}))
}

// npmPackage writes a package as npm pack would.
func (r *release) npmPackage(m nodeManifest, files []file) error {
	m.Version, m.Description, m.License, m.Homepage = r.Version, description, "MIT", r.Homepage
	manifest, err := marshal(m)
	if err != nil {
		return err
	}
	packed := []file{{"package/package.json", 0o644, manifest}}
	for _, f := range files {
		f.name = path.Join("package", f.name)
		packed = append(packed, f)
	}
	data, err := gzipped(packed, r.date)
	if err != nil {
		return err
	}
	_, err = r.write("npm/"+r.npmFile(m.Name), data, 0o644)
	return err
}

// npmFile returns the name that npm pack gives a package.
func (r *release) npmFile(name string) string {
	return strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + r.Version + ".tgz"
}

// about returns the page of a package, with the command of a client's entry.
func (r *release) about(command string, args []string) file {
	line, err := json.Marshal(args)
	if err == nil {
		line, err = r.render("package.md", map[string]string{"Homepage": r.Homepage, "Command": command, "Args": string(line)})
	}
	if err != nil {
		panic(err) // a template of ours, on texts
	}
	return file{"README.md", 0o644, line}
}

// marshal renders a value as JSON for people, too.
func marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(value)
	return b.Bytes(), err
}
