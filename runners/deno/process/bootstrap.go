package process

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/runners/deno/standins"
)

//go:embed bootstrap/*.js
var scripts embed.FS

// source returns the text of one of the scripts.
func source(name string) []byte {
	text, err := scripts.ReadFile("bootstrap/" + name + ".js")
	if err != nil {
		panic(err) // it is embedded
	}
	return text
}

// The bootstraps in the base directory. Each process reads all of its own, which for 30 KiB
// takes a millisecond.
const (
	aloneName    = "bootstrap.js"
	packagesName = "bootstrap-packages.js"
	sessionName  = "bootstrap-session.js"
)

// bootstrapName returns the name of a variant's bootstrap.
func bootstrapName(v Variant) string {
	switch {
	case v.Session:
		return sessionName
	case v.Ready.Dir != "":
		return packagesName
	}
	return aloneName
}

// bootstrapText returns a bootstrap: load.js with the texts that it compiles.
func bootstrapText(name string) []byte {
	var s sorted
	var text bytes.Buffer
	s.rest.Grow(64 << 10) // to grow later would take longer than all else
	s.late.Grow(128 << 10)
	text.Grow(192 << 10)
	add := func(names ...string) {
		for _, name := range names {
			s.add(source(name))
		}
	}
	add("tests", "display", "host", "network", "sites", "likenode", "builtins", "blame", "paths")
	if name != aloneName {
		add("early", "tools")
		for _, text := range standins.Sources() {
			s.add(text)
		}
	}
	if name == sessionName {
		add("session", "modules")
	}
	add("bootstrap")
	body := `return (async () => { "use strict"; ` + s.now.String() + s.rest.String() + "})();"
	rest := string(source("load"))
	for _, part := range []struct{ name, text string }{{"SOURCE", body}, {"LATE", s.late.String()}} {
		before, after, _ := strings.Cut(rest, part.name)
		text.WriteString(before + `"`)
		_, _ = quoted.WriteString(&text, part.text) // a Buffer takes everything
		text.WriteByte('"')
		rest = after
	}
	text.WriteString(rest)
	return text.Bytes()
}

// atOnce are the functions that a process needs for every program.
var atOnce = strings.Fields(`defineTests defineDisplay machine codeURLs answerDialogs endServers mendFetch explainDNS siteAny formatNumbers
	hearErrors holdSignals patchRealm patchModules ownPaths ownPathsDeno read readFrame prepareCall hasNode hearEnd give over reportServers reportQuestion report writeAll`)

// sorted are the parts of a bootstrap, by when V8 compiles them: what is in now is in
// parentheses, by which V8 knows that it is called soon, and does not look through it before
// it compiles it. It looks through rest.
type sorted struct{ now, rest, late strings.Builder }

// add adds a script without comments. Its functions, but for those of atOnce, are compiled when
// they are first called: to look through all of them takes V8 2 ms of each start, and a program
// calls few.
func (s *sorted) add(script []byte) {
	name, to, begin := "", &s.rest, 0
	for line := range bytes.Lines(script) {
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			continue
		}
		head, begins := bytes.CutPrefix(bytes.TrimPrefix(line, []byte("async ")), []byte("function "))
		if begins {
			head, _, _ = bytes.Cut(head, []byte("("))
			name, to, begin = string(head), &s.late, s.late.Len()
			if slices.Contains(atOnce, name) {
				to = &s.now
				fmt.Fprintf(to, "const %s=(", name)
			}
		}
		to.Write(line)
		if name == "" || !bytes.HasPrefix(line, []byte("}")) && !(begins && bytes.HasSuffix(line, []byte("}\n"))) {
			continue
		}
		if to == &s.now {
			s.now.WriteString(");")
		} else {
			fmt.Fprintf(&s.rest, "function %[1]s() { return apply(made.%[1]s ??= %[1]s = eval(lateText(%d, %d)), this, arguments); }\n", name, begin, s.late.Len())
		}
		name, to = "", &s.rest
	}
}

// quoted writes a text of ours as what is between the quotes of a string of JavaScript. It
// takes a third of the time of package json, which each start would spend.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`)

// bootstrap returns the path of a variant's main module.
func (f *runDirs) bootstrap(v Variant) string { return filepath.Join(f.Path, bootstrapName(v)) }

// writeBootstrap writes the bootstrap of a variant, unless it is there.
func (f *runDirs) writeBootstrap(v Variant) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := bootstrapName(v)
	if slices.Contains(f.written, name) {
		return nil
	}
	if err := os.WriteFile(filepath.Join(f.Path, name), bootstrapText(name), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f.written = append(f.written, name)
	return nil
}

// scripts returns the paths of what every process runs.
func (f *runDirs) scripts() []string {
	return []string{filepath.Join(f.Path, aloneName), filepath.Join(f.Path, packagesName), filepath.Join(f.Path, sessionName), f.Private()}
}
