// Package imports maps the modules that programs import to the projects that provide them.
//
// Package python asks it before it resolves. It does not use the network: package
// resolver finds out whether a project exists.
package imports

import (
	"regexp"
	"slices"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/wheel"
)

// Finder maps modules to packages; a lock file's import map is one. It returns ""
// for unknown modules.
type Finder func(module string) (project string)

// Project returns a requirement of the project that a module is most likely
// in: by the finder, by what is known of single projects, or the project of the
// same name. Its name is "" for modules whose names no project can have.
func Project(module string, known Finder) requirement.Requirement {
	parts := strings.Split(module, ".")
	if project := known(module); project != "" {
		// For a name that many projects share, known has only one of them.
		if _, many := pypi.Known().Namespaces[parts[0]]; !many || len(parts) == 1 || project != known(parts[0]) {
			return requirement.Requirement{Name: project}
		}
	}
	for i := len(parts); i > 0; i-- {
		if alias, ok := pypi.Known().Modules[strings.Join(parts[:i], ".")]; ok {
			name, newer, bounded := strings.Cut(alias, "<")
			if bounded {
				return requirement.Requirement{Name: name, Specifier: "<" + newer}
			}
			return requirement.Requirement{Name: name}
		}
	}
	name := strings.Join(parts[:min(depth(parts), len(parts))], "-")
	if parts[0] == "google" {
		name = version.ReplaceAllString(name, "")
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-") != "" ||
		strings.HasPrefix(name, "_") || strings.HasSuffix(name, "_") || strings.HasSuffix(name, "-") {
		return requirement.Requirement{}
	}
	return requirement.Requirement{Name: wheel.Normalize(name)}
}

// version is how the modules of Google's projects end that have a version of an API:
// google.cloud.pubsub_v1 is in google-cloud-pubsub.
var version = lazyregexp.New(`_v\d[a-z0-9]*$`)

// depth returns how many parts of a module's name form its project's.
func depth(parts []string) int {
	for i := len(parts); i > 0; i-- {
		if n := pypi.Known().Namespaces[strings.Join(parts[:i], ".")]; n > 0 {
			return n
		}
	}
	return 1
}

// Deeper returns the modules that a program imports from a namespace that many
// projects share: for "google.cloud" and the line "from
// google.cloud import storage", "google.cloud.storage". For others it returns
// the module itself.
func Deeper(module, code string) []string {
	parts := strings.Split(module, ".")
	if len(parts) >= depth(parts) || pypi.Known().Modules[module] != "" {
		return []string{module}
	}
	var modules []string
	lines := regexp.MustCompile(`(?m)^[ \t]*from[ \t]+` + regexp.QuoteMeta(module) + `[ \t]+import[ \t]*(?:\(([^)]*)\)|([^\r\n#]*))`)
	for _, m := range lines.FindAllStringSubmatch(code, -1) {
		for name := range strings.SplitSeq(m[1]+m[2], ",") {
			if words := strings.Fields(name); len(words) > 0 && words[0] != "*" {
				modules = append(modules, module+"."+words[0])
			}
		}
	}
	if modules == nil {
		return []string{module}
	}
	return modules
}

// Gone returns what replaces a module that was removed from Python and has no
// project of its name, or "".
func Gone(module string) string {
	top, _, _ := strings.Cut(module, ".")
	return pypi.Known().Removed[top]
}

// Own reports whether a module's name is one that programs nearly always give to a file
// of their own, so that a project of that name is a stranger's.
func Own(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	return slices.Contains(pypi.Known().Own, top)
}
