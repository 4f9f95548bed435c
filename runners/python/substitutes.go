package python

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/hint"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/pypi"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// neededBy finds the package that wants one that cannot be installed in the
// resolver's reason.
var neededBy = regexp.MustCompile(`\(needed by ([a-z0-9-]+) `)

// wanting returns the package that needs one that cannot be installed, or that
// itself where the program asks for it: what replaces lxml is of no use to a program
// that imports python-docx.
func wanting(project, why string) string {
	if by := neededBy.FindStringSubmatch(why); by != nil {
		return by[1]
	}
	return project
}

// refusal returns why a package cannot be installed and what to use instead.
func refusal(project, why string) string {
	text := "The package " + project + " cannot be installed: " + why
	name := wanting(project, why)
	if other := pypi.Known().Instead[name]; other != "" {
		text += "\nInstead of " + name + ", use " + other + "."
	}
	return text
}

// importedBy returns the module that the last line of a traceback imports, or "".
func importedBy(traceback string) string {
	_, line, _ := strings.Cut(strings.TrimPrefix(hint.Last(traceback), "\n"), "\n")
	if m := imported.FindStringSubmatch(line); m != nil {
		return m[1]
	}
	return ""
}

// advise adds to the error of packages that cannot be installed what the program
// could use instead, and, for whoever runs the server, what to set.
func (j *job) advise(ctx context.Context, e *runners.Error) {
	var use, ours []string
	instead := pypi.Known().Instead
	lock := j.engine.lock
	unreachable := j.engine.resolver.BaseUnreachable() != ""
	for _, p := range e.Packages {
		if r, err := requirement.Parse(p.Name); err == nil && strings.Contains(p.Reason, resolver.NotFetched) {
			ours, unreachable = append(ours, r.Name), true
		}
	}
	for _, p := range e.Packages {
		r, err := requirement.Parse(p.Name)
		if err != nil {
			continue
		}
		name := wanting(r.Name, p.Reason)
		if module := importedBy(e.Traceback); module != "" {
			named := imports.Project(module, lock.ByImport).Name
			if instead[named] != "" && (name == r.Name || named != r.Name && instead[name] == "") {
				name = named // not what that wants
			}
		}
		other := instead[name]
		for unreachable && instead[other] != "" {
			if _, built := lock.ByName[other]; !built || j.engine.resolver.Indexed(ctx, other) {
				break
			}
			other = instead[other] // it cannot be installed either
		}
		if one := fmt.Sprintf("instead of %s, use %s", name, other); other != "" && !slices.Contains(use, one) {
			use = append(use, one)
		}
	}
	if len(use) > 0 {
		hint := strings.Join(use, "; ") + "."
		e.Hint = strings.ToUpper(hint[:1]) + hint[1:]
	}
	if len(ours) > 0 {
		e.Hint = strings.TrimSpace(fmt.Sprintf("%s\nFor whoever runs the server: PYODIDE_PACKAGE_BASE_URL can name another place with Pyodide's builds of %s.",
			e.Hint, strings.Join(ours, ", ")))
	}
}
