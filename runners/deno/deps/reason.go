package deps

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners/deno/npm"
)

var (
	missingNPM  = regexp.MustCompile(`npm package '([^']*)' does not exist`)
	noVersion   = regexp.MustCompile(`Could not find npm package '([^']*)' matching '([^']*)'`)
	missingJSR  = regexp.MustCompile(`JSR package not found: (\S+)`)
	noImport    = regexp.MustCompile(`Requires import access to "([^"]*)"`)
	uncached    = regexp.MustCompile(`--cached-only is specified|not found in cache|Specifier not found in cache`)
	unreachable = regexp.MustCompile(`client error \(Connect\)|dns error|error sending request|Connection refused|timed out`)
	userInfo    = regexp.MustCompile(`(://)[^/@\s"']*@`)
	causeLine   = regexp.MustCompile(`^\s+\d+: `)
)

var (
	notImported = regexp.MustCompile(`^(Import "([^"]+)" not a dependency|Cannot find module '([^'./][^']*)')`)
	unlisted    = regexp.MustCompile(`^Could not find package '([^']+)' from referrer '[^']*' \(([^)]+)\)\.?`)
	notListed   = regexp.MustCompile(`^(\S+) imports (\S+), which is not among the packages it lists`)
	uncachedNPM = "npm package not found in cache"
	lockMessage = "The lockfile is out of date. Run `deno install"
	notGranted  = regexp.MustCompile(`^Failed loading \S+ for package "[^"]*"`) // its manifest is not readable
)

// Unversioned returns the package of which a message says that it has no version
// of those that are needed, or "".
func Unversioned(message string) string {
	if m := noVersion.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

// Named is what to do about a package that is not found in the text of a program.
const Named = "packages that no import of the program names must be named in the argument packages (--package on the command line)"

// Unknown replaces Deno's "not found" for computed specifiers with a hint for our
// callers.
func Unknown(message string) (better string, ok bool) {
	if strings.HasPrefix(message, lockMessage) || strings.Contains(message, uncachedNPM) || notGranted.MatchString(message) {
		return "a package is imported that is not in the cache: if no import of the program names it, name it in the argument packages (--package on the command line)", true
	}
	if m := unlisted.FindStringSubmatch(message); m != nil {
		return m[2] + " imports " + m[1] + ", which is not among the packages it lists; " + Named, true
	}
	if m := notImported.FindStringSubmatch(message); m != nil && Fetched(m[2]+m[3]) {
		first, rest, more := strings.Cut(message, "\n")
		if more {
			rest = "\n" + rest
		}
		return first + "; " + Named + rest, true
	}
	return "", false
}

// Unlisted returns the package of a message of Unknown about one that another imports.
func Unlisted(message string) string {
	if m := notListed.FindStringSubmatch(message); m != nil {
		return m[2]
	}
	return ""
}

// Reason returns a sentence for Deno's message about a target that it could not
// fetch, without secrets and paths of this machine.
func Reason(t Target, message string, offline bool) string {
	message = userInfo.ReplaceAllString(message, "$1")
	if m := missingNPM.FindStringSubmatch(message); m != nil {
		return needed(t, m[1]) + "not found in the npm registry" + misspelt(m[1])
	}
	if p, ok := Split(t.Specifier); ok && p.Path != "" && isBuiltin(p.Name) {
		return "Node has no such module" + near(p.Name+p.Path)
	}
	if m := noVersion.FindStringSubmatch(message); m != nil {
		if m[2] == "*" {
			return needed(t, m[1]) + "the npm registry has no released version of it" + misspelt(m[1])
		}
		return needed(t, m[1]) + fmt.Sprintf("no version matches %q", m[2])
	}
	if m := missingJSR.FindStringSubmatch(message); m != nil {
		return needed(t, m[1]) + "not found in the JSR registry"
	}
	if m := noImport.FindStringSubmatch(message); m != nil {
		return fmt.Sprintf("importing from %s is not among the permissions (--allow-import)", m[1]) + instead(t)
	}
	text := FirstError(message)
	switch {
	case offline && (Unreachable(message) || strings.Contains(message, "ailed")), uncached.MatchString(message):
		return "not in the cache, and nothing is fetched offline" + instead(t)
	case Unreachable(message):
		if scheme.FindString(t.Specifier) == "https:" {
			return "its server cannot be reached: " + text + instead(t) + builtin(t)
		}
		return "the registry cannot be reached: " + text
	}
	return strings.TrimSuffix(text, ".") + builtin(t)
}

// near returns which of Node's modules a name may mean.
func near(name string) string {
	i := slices.IndexFunc(builtins, func(b string) bool { return strings.HasPrefix(b, name) })
	if i < 0 {
		return ""
	}
	return ": did you mean " + builtins[i] + "?"
}

var standard = regexp.MustCompile(`^(?:jsr:/?@std/|https?://deno\.land/std(?:@[^/]*)?/)(\w+)`)

// builtin returns what does the same as a module of Deno's standard library.
func builtin(t Target) string {
	if m := standard.FindStringSubmatch(t.Specifier); m != nil && npm.Known().Standard[m[1]] != "" {
		return "; " + npm.Known().Standard[m[1]] + " does much of the same"
	}
	return ""
}

// served matches the address of an npm package at a server of modules.
var served = regexp.MustCompile(`^https?://(?:esm\.sh|esm\.run|cdn\.skypack\.dev|unpkg\.com|jspm\.dev|ga\.jspm\.io|cdn\.jsdelivr\.net|cdnjs\.cloudflare\.com)/` +
	`(?:v\d+/|stable/|pin/|npm/|npm:|ajax/libs/|\*)*((?:@[\w.-]+/)?[\w.-]+)(?:@v?([\w.^~-]+)|/(\d+\.\d+\.\d+)/)?`)

// instead returns what to write for a module from a server, if that is an npm package.
func instead(t Target) string {
	m := served.FindStringSubmatch(t.Specifier)
	if m == nil || m[1] == "gh" {
		return ""
	}
	return "; write " + strings.TrimSuffix("npm:"+m[1]+"@"+m[2]+m[3], "@") + " instead"
}

// needed returns a prefix that names the failed package if it is a dependency of
// the target.
func needed(t Target, name string) string {
	if p, ok := Split(t.Specifier); ok && p.Name == name || name == "" {
		return ""
	}
	return "it needs " + name + ": "
}

// FirstError returns the first error in Deno's messages with its last cause, in one
// line.
func FirstError(message string) string {
	var text, cause string
	for line := range strings.Lines(message) {
		line = strings.TrimRight(line, "\r\n")
		switch rest, ok := strings.CutPrefix(line, "error: "); {
		case ok && text == "":
			text = rest
		case text != "" && causeLine.MatchString(line):
			cause = causeLine.ReplaceAllString(line, "")
		}
	}
	if text == "" {
		text = strings.Join(strings.Fields(message), " ")
	}
	if cause != "" && !strings.Contains(text, cause) {
		text += " (" + cause + ")"
	}
	return Shorten(text, 500)
}

// Unreachable reports whether a message is about the connection to a registry.
func Unreachable(message string) bool { return unreachable.MatchString(message) }
