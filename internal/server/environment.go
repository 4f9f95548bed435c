package server

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"coderunner/runners"
)

// environmentURI is the resource that describes where programs run.
const environmentURI = "runner://environment"

// maxPackages bounds the cached packages that the resource lists of a language.
const maxPackages = 150

// environment is what programs meet here, as clients read it.
type environment struct {
	Languages   []string            `json:"languages"`
	Versions    map[string]string   `json:"versions"`
	Limits      map[string]any      `json:"limits"`
	Permissions []string            `json:"permissions"` // Deno's flags; empty: nothing is allowed
	Isolation   map[string]string   `json:"isolation"`
	Offline     bool                `json:"offline"`
	Packages    map[string][]string `json:"cached_packages"` // used last first
	More        int                 `json:"cached_packages_not_listed,omitempty"`
}

// usedPackages are the packages that the runs of a server had.
type usedPackages struct {
	mu    sync.Mutex
	names map[string][]string // by language, used last first
}

// add takes notice of the packages of a run.
func (u *usedPackages) add(packages []runners.Package) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, p := range slices.Backward(packages) {
		language := p.Source
		if language == "pypi" || language == "pyodide" {
			language = string(runners.Python)
		}
		name := strings.TrimSpace(p.Name + " " + p.Version)
		list := slices.DeleteFunc(u.names[language], func(n string) bool { return n == name })
		if u.names == nil {
			u.names = map[string][]string{}
		}
		u.names[language] = slices.Insert(list[:min(len(list), maxPackages-1)], 0, name)
	}
}

// list returns a copy of the names.
func (u *usedPackages) list() map[string][]string {
	u.mu.Lock()
	defer u.mu.Unlock()
	list := map[string][]string{}
	for language, names := range u.names {
		list[language] = slices.Clone(names)
	}
	return list
}

// environmentResource returns the resource of a server whose runs had the packages used.
func environmentResource(c Config, used *usedPackages) mcpserver.ServerResource {
	limits := c.Limits.WithDefaults()
	e := environment{
		Languages: names(c.Runners),
		Versions:  map[string]string{c.Name: c.Version},
		Limits: map[string]any{
			"timeout_seconds": limits.Timeout.Seconds(), "max_timeout_seconds": limits.MaxTimeout.Seconds(),
			"memory_bytes": limits.Memory, "output_bytes": limits.Output, "programs_at_once": c.Concurrency,
			"code_bytes": runners.MaxCode, "files_bytes": runners.MaxFilesBytes, "kept_runs": maxKeptRuns,
		},
		Permissions: append([]string{}, c.Policy.Args...),
		Isolation:   map[string]string{"python": "WebAssembly", "javascript": c.Isolation},
		Offline:     c.Offline,
	}
	for _, r := range c.Runners {
		maps.Copy(e.Versions, r.Versions())
	}
	read := func(ctx context.Context, _ mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		now := e
		if now.Packages = used.list(); c.Packages != nil {
			var err error
			if now.Packages, err = c.Packages(ctx); err != nil {
				return nil, err
			}
		}
		for language, list := range now.Packages {
			n := min(len(list), maxPackages)
			now.Packages[language], now.More = list[:n], now.More+len(list)-n
		}
		text, err := json.Marshal(now)
		if err != nil {
			return nil, err
		}
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: environmentURI, MIMEType: "application/json", Text: string(text)}}, nil
	}
	return mcpserver.ServerResource{
		Resource: mcp.NewResource(environmentURI, "environment", mcp.WithMIMEType("application/json"),
			mcp.WithResourceDescription("Languages, versions, limits, permissions, isolation and cached packages")),
		Handler: read,
	}
}
