package deps

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
)

// Info is what is read of the answer of "deno info --json".
type Info struct {
	Modules []struct {
		Specifier    string `json:"specifier"`
		Error        string `json:"error"`
		Dependencies []struct {
			Specifier string   `json:"specifier"`
			Code      Location `json:"code"`
			Type      Location `json:"type"`
		} `json:"dependencies"`
	} `json:"modules"`
}

// Location is where a module imports another. Lines and characters are counted
// from zero.
type Location struct {
	Span struct{ Start, End Position } `json:"span"`
}

// Position is a place in a file.
type Position struct{ Line, Character int }

// ParseInfo reads the answer of "deno info --json".
func ParseInfo(b []byte) (*Info, error) {
	var i Info
	if err := json.Unmarshal(b, &i); err != nil {
		return nil, err
	}
	return &i, nil
}

// Errors returns what is wrong with modules, by their specifiers.
func (i *Info) Errors() map[string]string {
	errors := map[string]string{}
	for _, m := range i.Modules {
		if m.Error != "" {
			errors[m.Specifier] = m.Error
		}
	}
	return errors
}

// jsrManifest is the address of what the JSR registry says of a version.
var jsrManifest = regexp.MustCompile(`/(@[^/]+/[^/]+)/([^/]+)_meta\.json$`)

// PackageOf returns the package that a download is of, as NAME@VERSION, or the
// address itself.
func PackageOf(address string) string {
	if m := jsrManifest.FindStringSubmatch(address); m != nil {
		return m[1] + "@" + m[2]
	}
	before, file, ok := strings.Cut(address, "/-/")
	if !ok || !strings.HasSuffix(file, ".tgz") {
		return WithoutUser(address)
	}
	base := path.Base(before)
	name := base
	if scope := path.Base(path.Dir(before)); strings.HasPrefix(scope, "@") {
		name = scope + "/" + base
	}
	version := strings.TrimPrefix(strings.TrimSuffix(path.Base(file), ".tgz"), base+"-")
	return name + "@" + version
}
