package deps

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"coderunner/internal/lazyregexp"
	"coderunner/runners/hint"
	"coderunner/runners/lookalike"
)

// What Deno's messages have about what cannot be fetched.
var (
	uncached    = []string{"--cached-only is specified", "not found in cache"}
	unreachable = []string{"client error (Connect)", "dns error", "error sending request", "Connection refused", "timed out"}
	userInfo    = lazyregexp.New(`(://)[^/@\s"']*@`)
)

const (
	noPackage   = "npm package '*' does not exist"
	noVersion   = "Could not find npm package '*' matching '*'"
	uncachedNPM = "npm package not found in cache"
	lockMessage = "The lockfile is out of date. Run `deno install"
	notGranted  = "^Failed loading * for package \"*\"" // its manifest is not readable
	notListed   = ", which is not among the packages it lists"
)

// HasAny reports whether a text has one of some parts.
func HasAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}

// Lacking returns the package of which a message says that the registry does not have it, or
// no version of those that are needed, or "".
func Lacking(message string) string {
	for _, form := range []string{noVersion, noPackage} {
		if m := hint.Captures(message, form); m != nil {
			return m[0]
		}
	}
	return ""
}

// Named is what to do about a package that is not found in the text of a program.
const Named = "packages that no import of the program names must be named in the argument packages (--package on the command line)"

// Unknown replaces Deno's "not found" for computed specifiers with a hint for our
// callers.
func Unknown(message string) (better string, ok bool) {
	if strings.HasPrefix(message, lockMessage) || strings.Contains(message, uncachedNPM) || hint.Captures(message, notGranted) != nil {
		return "a package is imported that is not in the cache: if no import of the program names it, name it in the argument packages (--package on the command line)", true
	}
	if m := hint.Captures(message, "^Could not find package '*' from referrer '*' (*)"); m != nil {
		return m[2] + " imports " + m[0] + notListed + "; " + Named, true
	}
	for _, form := range []string{`^Import "*" not a dependency`, "^Cannot find module '*'"} {
		if m := hint.Captures(message, form); m != nil && Fetched(m[0]) && !strings.HasPrefix(m[0], ".") {
			first, rest, more := strings.Cut(message, "\n")
			if more {
				rest = "\n" + rest
			}
			return first + "; " + Named + rest, true
		}
	}
	return "", false
}

// Unlisted returns the package of a message of Unknown about one that another imports.
func Unlisted(message string) string {
	if m := hint.Captures(message, "^* imports *"+notListed); m != nil && !strings.ContainsAny(m[0]+m[1], " \n") {
		return m[1]
	}
	return ""
}

// Reason returns a sentence for Deno's message about a target that it could not
// fetch, without secrets and paths of this machine.
func Reason(t Target, message string, offline bool) string {
	message = userInfo.ReplaceAllString(message, "$1")
	if m := hint.Captures(message, noPackage); m != nil {
		return needed(t, m[0]) + "not found in the npm registry" + misspelt(m[0])
	}
	if p, ok := Split(t.Specifier); ok && p.Path != "" && isBuiltin(p.Name) {
		return "Node has no such module"
	}
	if m := hint.Captures(message, noVersion); m != nil {
		if m[1] == "*" {
			return needed(t, m[0]) + "the npm registry has no released version of it" + misspelt(m[0])
		}
		return needed(t, m[0]) + fmt.Sprintf("no version matches %q", m[1])
	}
	if m := hint.Captures(message, "JSR package not found: *"); m != nil {
		return needed(t, m[0]) + "not found in the JSR registry"
	}
	if m := hint.Captures(message, `Requires import access to "*"`); m != nil {
		return fmt.Sprintf("importing from %s is not among the permissions (--allow-import)", m[0]) + instead(t)
	}
	text := FirstError(message)
	switch {
	case offline && (Unreachable(message) || strings.Contains(message, "ailed")), HasAny(message, uncached):
		return "not in the cache, and nothing is fetched offline" + instead(t)
	case Unreachable(message):
		if scheme.FindString(t.Specifier) == "https:" {
			return "its server cannot be reached: " + text + instead(t)
		}
		return "the registry cannot be reached: " + text
	}
	return strings.TrimSuffix(text, ".")
}

// misspelt returns which well-known package a name that npm does not have may mean, as
// what to append to the reason, or "".
func misspelt(name string) string {
	means := lookalike.NPM().Nearest(name)
	if means == "" {
		return ""
	}
	return ": did you mean " + means + "?"
}

// served matches the address of an npm package at a server of modules.
var served = lazyregexp.New(`^https?://(?:esm\.sh|esm\.run|cdn\.skypack\.dev|unpkg\.com|jspm\.dev|ga\.jspm\.io|cdn\.jsdelivr\.net|cdnjs\.cloudflare\.com)/` +
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
		case text != "":
			number, of, _ := strings.Cut(strings.TrimLeft(line, " \t"), ": ")
			if _, err := strconv.Atoi(number); err == nil && of != "" && number[0] != line[0] {
				cause = of
			}
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
func Unreachable(message string) bool { return HasAny(message, unreachable) }
