package deno

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
	"coderunner/runners/deno/install"
	"coderunner/runners/deno/jsparse"
	"coderunner/runners/deno/npm"
	"coderunner/runners/deno/process"
	"coderunner/runners/deno/stacktrace"
)

// unloaded matches the messages of packages whose machine code could not be loaded.
// Many list the places where they looked, or blame the installation.
var unloaded = regexp.MustCompile(`^(Could not locate the bindings file|Failed to load native (binding|module)|Cannot load addon '|No native build was found|(Error: )?Cannot find native binding|` +
	`Could not load the "sharp" module|The Node\.js native addon module|Node Sass does not yet support|Requires ffi access to "|Cannot find module '[^'\n]*(\.node|/build/(Release|Debug)/[^'\n]*)')`)

// refusedNative matches a cause of an error. Loaders of native packages catch it and blame
// the installation.
var refusedNative = regexp.MustCompile(`(?m)^Caused by .*\bRequires ffi access`)

const noEsbuild = "esbuild starts a program, which the permissions of this server do not include (--allow-run); esbuild-wasm does the same without"

// unstarted matches the messages of esbuild whose process could not be started.
var unstarted = regexp.MustCompile(`^The service (was stopped|is no longer running)|reading 'unref'|^spawn(Sync)? \S*esbuild`)

// unfound matches the messages of packages about one with machine code that they load by
// its name, and that nothing has installed.
var unfound = regexp.MustCompile(`^(?:(Knex: run)\b.*\n\$ npm install |Please install |Cannot find module ')((?:better-)?sqlite3|pg-native)\b`)

// machineCode replaces the message about a package whose machine code could not be
// loaded by one line with its name and what does without.
func machineCode(p *install.Prepared, e *runners.Error, program *jsparse.Program) {
	if unstarted.MatchString(e.Message) && p.Has("esbuild") {
		restate(e, noEsbuild)
		return
	}
	if m := unfound.FindStringSubmatch(e.Message); m != nil {
		name := m[2]
		if m[1] != "" {
			name = "knex's client " + name
		}
		restate(e, name+" needs machine code, which is not installed here"+instead(m[2]))
		return
	}
	if !unloaded.MatchString(e.Message) && !refusedNative.MatchString(e.Traceback) {
		return
	}
	text := e.Message + "\n" + e.Traceback
	name, instead := nativeName(p, text, program)
	if name == "" {
		return
	}
	has, needs := name+" has machine code", name
	if from := needing(p, name, program); from != "" {
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
func needing(p *install.Prepared, name string, program *jsparse.Program) string {
	imported := importedLike(program, func(string) bool { return true })
	if slices.Contains(imported, name) {
		return ""
	}
	needs := map[string][]string{}
	for _, dir := range p.Dirs {
		var about struct{ Dependencies, PeerDependencies, OptionalDependencies map[string]string }
		if process.ReadJSON(filepath.Join(dir, install.ManifestName), &about) == nil {
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
func nativeName(p *install.Prepared, text string, program *jsparse.Program) (name, instead string) {
	name = mentioned(p, text)
	for _, n := range npm.Known().Natives {
		if name != "" && !n.Like(name) {
			continue
		}
		asked := importedLike(program, n.Like)
		switch {
		case name == "" && len(asked) > 0, name != "" && len(asked) > 0 && !slices.Contains(asked, name):
			return asked[0], "; " + n.Instead
		case name != "":
			return name, "; " + n.Instead
		}
	}
	return name, ""
}

// importedLike returns the packages that a program imports and whose names match.
func importedLike(program *jsparse.Program, like func(string) bool) (names []string) {
	for _, i := range program.Imports {
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
