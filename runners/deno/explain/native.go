package explain

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/exports"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/npm"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
	"coderunner/runners/hint"
)

const noEsbuild = "esbuild starts a program, which the permissions of this server do not include (--allow-run); esbuild-wasm does the same without"

// unstarted reports whether a message is that of esbuild whose process could not be started.
func unstarted(message string) bool {
	words := append(strings.Fields(message), "", "")
	return strings.HasPrefix(message, "The service was stopped") || strings.HasPrefix(message, "The service is no longer running") ||
		strings.Contains(message, "reading 'unref'") || strings.HasPrefix(words[0], "spawn") && strings.HasSuffix(words[1], "esbuild")
}

// unloaded reports whether an error is that of a package whose machine code could not be loaded.
// Many list the places where they looked, or blame the installation: then a cause tells.
func unloaded(e *runners.Error) bool {
	if m := hint.Captures(e.Message, "^Cannot find module '*'"); m != nil {
		return strings.HasSuffix(m[0], ".node") || strings.Contains(m[0], "/build/Release/") || strings.Contains(m[0], "/build/Debug/")
	}
	refused := hint.Captures(e.Traceback, "\nCaused by * Requires ffi access")
	return refused != nil && !strings.Contains(refused[0], "\n") ||
		slices.ContainsFunc(npm.Known().Unloaded, func(begins string) bool { return strings.HasPrefix(e.Message, begins) })
}

// unfound returns the package with machine code that another one loads by its name and nothing
// has installed, as the message says.
func unfound(message string) (name string, knex bool) {
	for _, name := range npm.Known().Drivers {
		knex = strings.HasPrefix(message, "Knex: run") && strings.Contains(message, "\n$ npm install "+name)
		if knex || strings.HasPrefix(message, "Please install "+name) || strings.HasPrefix(message, "Cannot find module '"+name) {
			return name, knex
		}
	}
	return "", false
}

// machineCode replaces the message about a package whose machine code could not be
// loaded by one line with its name and what does without.
func (p Program) machineCode(e *runners.Error) {
	if unstarted(e.Message) && p.Ready.Has("esbuild") {
		restate(e, noEsbuild)
		return
	}
	if driver, knex := unfound(e.Message); driver != "" {
		name := driver
		if knex {
			name = "knex's client " + name
		}
		restate(e, name+" needs machine code, which is not installed here"+instead(driver))
		return
	}
	if !unloaded(e) {
		return
	}
	text := e.Message + "\n" + e.Traceback
	name, instead := p.nativeName(text)
	if name == "" {
		return
	}
	has, needs := name+" has machine code", name
	if from := p.needing(name); from != "" {
		has, needs = fmt.Sprintf("%s needs the machine code of %s", from, name), fmt.Sprintf("%s needs %s, which", from, name)
	}
	message := needs + " needs machine code that an install script fetches or compiles, and none is run here"
	if strings.Contains(text, "Requires ffi access") || strings.Contains(text, "--allow-ffi") {
		message = has + ", which the permissions of this server do not include (--allow-ffi)"
	}
	restate(e, message+instead)
}

// needing returns the package that the program imports and that needs another one, "" if the
// program imports that one itself.
func (p Program) needing(name string) string {
	imported := p.importedLike(func(string) bool { return true })
	if slices.Contains(imported, name) {
		return ""
	}
	needs := map[string][]string{}
	for _, dir := range p.Ready.Dirs {
		var about struct{ Dependencies, PeerDependencies, OptionalDependencies map[string]string }
		if process.ReadJSON(filepath.Join(dir, exports.Manifest), &about) == nil {
			for _, names := range []map[string]string{about.Dependencies, about.PeerDependencies, about.OptionalDependencies} {
				needs[packageIn(dir)] = slices.AppendSeq(needs[packageIn(dir)], maps.Keys(names))
			}
		}
	}
	for _, from := range imported {
		all := []string{from}
		for i := 0; i < len(all); i++ {
			for _, next := range needs[all[i]] {
				if next == name {
					return from
				}
				if !slices.Contains(all, next) {
					all = append(all, next)
				}
			}
		}
	}
	return ""
}

// instead returns what does without the machine code of a package, as the end of a message.
func instead(name string) string {
	for _, n := range npm.Known().Natives {
		if n.Like(name) {
			return "; " + n.Instead
		}
	}
	return ""
}

// restate replaces the message of an error, and of its traceback all but the frames.
func restate(e *runners.Error, message string) {
	lines := []string{e.Type + ": " + message}
	for l := range strings.Lines(e.Traceback) {
		if l = strings.TrimSuffix(l, "\n"); strings.HasPrefix(l, "Caused by ") {
			break
		} else if stacktrace.IsFrame(l) {
			lines = append(lines, l)
		}
	}
	e.Message, e.Traceback = message, strings.Join(slices.Compact(lines), "\n")
}

// nativeName returns the package whose machine code an error's text is about, by the name
// that the program has for it, and what does without.
func (p Program) nativeName(text string) (name, instead string) {
	name = mentioned(p.Ready, text)
	for _, n := range npm.Known().Natives {
		if name != "" && !n.Like(name) {
			continue
		}
		asked := p.importedLike(n.Like)
		switch {
		case name == "" && len(asked) > 0, name != "" && len(asked) > 0 && !slices.Contains(asked, name):
			return asked[0], "; " + n.Instead
		case name != "":
			return name, "; " + n.Instead
		}
	}
	return name, ""
}

// importedLike returns the packages that the program imports and whose names match.
func (p Program) importedLike(like func(string) bool) (names []string) {
	for _, i := range p.Imports {
		if asked, ok := deps.Split(i.Specifier); ok && like(asked.Name) {
			names = append(names, asked.Name)
		}
	}
	return names
}

// mentioned returns the first package of npm of which a text names a file, as it is
// called on all systems, or "".
func mentioned(p *install.Prepared, text string) string {
	first, name := len(text), ""
	for _, dir := range p.Dirs {
		if at := strings.Index(text, dir+string(filepath.Separator)); at >= 0 && at < first {
			first, name = at, packageIn(dir)
		}
	}
	return install.Platform.ReplaceAllString(name, "")
}

// packageIn returns the name of the package in a directory of Deno's cache.
func packageIn(dir string) string {
	above := filepath.Dir(dir)
	name := filepath.Base(above)
	if scope := filepath.Base(filepath.Dir(above)); strings.HasPrefix(scope, "@") {
		name = scope + "/" + name
	}
	return name
}
