package main

import (
	"fmt"
	"reflect"
	"strings"
)

// names are what a release is published as: they belong to whoever publishes it.
type names struct {
	Module    string // path of the Go module, by which go install finds it
	NPM       string // package of npm; those of the platforms begin with it
	PyPI      string // project of PyPI
	Image     string // image, with its registry
	Registry  string // name in the registry of MCP servers, in reverse-DNS form
	Publisher string // who publishes it, in winget, .mcpb and the image's labels
	Homepage  string // URL of the project
	Downloads string // URL below which each version has a directory of its files
	Latest    string // URL of the latest version's files
	Tap       string // Homebrew's name of the repository with the formula
}

// owner are the names of this project. Each that has "example" in it is a placeholder.
var owner = names{
	Module:    "example.com/coderunner",
	NPM:       "@example/coderunner",
	PyPI:      "example-coderunner",
	Image:     "registry.example.com/example/coderunner",
	Registry:  "com.example/coderunner",
	Publisher: "Example",
	Homepage:  "https://example.com/coderunner",
	Downloads: "https://example.com/coderunner/releases/download",
	Latest:    "https://example.com/coderunner/releases/latest/download",
	Tap:       "example/tap",
}

// check returns an error that lists the placeholders.
func (n names) check() error {
	var unset []string
	for field, value := range reflect.ValueOf(n).Fields() {
		if strings.Contains(strings.ToLower(value.String()), "example") {
			unset = append(unset, fmt.Sprintf("  %s is %q", field.Name, value.String()))
		}
	}
	if unset == nil {
		return nil
	}
	return fmt.Errorf("these names are placeholders; set them in cmd/release/names.go to names that are yours:\n%s", strings.Join(unset, "\n"))
}
