package process

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"coderunner/internal/recent"
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

// The bootstraps in the base directory: for each name a main module, NAME.js, and the text that
// it compiles, NAME.txt. Each process reads all of its own.
const (
	aloneName    = "bootstrap"
	packagesName = "bootstrap-packages"
	sessionName  = "bootstrap-session"
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

// parts returns the scripts that a bootstrap is made of.
func parts(name string) (all [][]byte) {
	add := func(names ...string) {
		for _, name := range names {
			all = append(all, source(name))
		}
	}
	add("tests", "display", "host", "network", "sites", "likenode", "builtins", "blame", "paths")
	if name != aloneName {
		add("early", "tools")
		all = append(all, standins.Sources()...)
	}
	if name == sessionName {
		add("session", "modules")
	}
	add("bootstrap")
	return all
}

// digests are what digest has returned, by name.
var digests recent.Map[string, string]

// digest returns a digest of a bootstrap's parts.
func digest(name string) string {
	if known, ok := digests.Get(name); ok {
		return known
	}
	sum := sha256.New()
	for _, text := range parts(name) {
		sum.Write(text)
	}
	return digests.Update(name, func(string) string { return hex.EncodeToString(sum.Sum(nil)) })
}

// bootstrapText returns the text of a bootstrap: what is compiled at once, and after a NUL the
// functions that are compiled late.
func bootstrapText(name string) []byte {
	var s sorted
	s.rest.Grow(64 << 10) // to grow later would take longer than all else
	s.late.Grow(128 << 10)
	for _, text := range parts(name) {
		s.add(text)
	}
	return slices.Concat([]byte(`return (async () => { "use strict"; `), s.now.Bytes(), s.rest.Bytes(), []byte("})();\x00"), s.late.Bytes())
}

// atOnce are the functions that a process needs for every program.
var atOnce = strings.Fields(`defineTests defineDisplay machine codeURLs answerDialogs endServers mendFetch explainDNS siteAny formatNumbers
	hearErrors holdSignals patchRealm patchModules ownPaths ownPathsDeno read readFrame prepareCall hasNode hearEnd give over reportServers reportQuestion report writeAll`)

// sorted are the parts of a bootstrap, by when V8 compiles them: what is in now is in
// parentheses, by which V8 knows that it is called soon, and does not look through it before
// it compiles it. It looks through rest.
type sorted struct{ now, rest, late bytes.Buffer }

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

// bootstrap returns the paths of a bootstrap's main module and its text.
func (f *runDirs) bootstrap(name string) (main, text string) {
	path := filepath.Join(f.Path, name)
	return path + ".js", path + ".txt"
}

// writeBootstrap writes the bootstrap of a variant, unless it is there.
func (f *runDirs) writeBootstrap(v Variant) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	name := bootstrapName(v)
	if slices.Contains(f.written, name) {
		return nil
	}
	main, text := f.bootstrap(name)
	module := bytes.ReplaceAll(source("load"), []byte("NAME"), []byte(name))
	if err := errors.Join(os.WriteFile(text, bootstrapText(name), 0o600), os.WriteFile(main, module, 0o600)); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f.written = append(f.written, name)
	return nil
}

// scripts returns the paths of what every process runs.
func (f *runDirs) scripts() (all []string) {
	for _, name := range []string{aloneName, packagesName, sessionName} {
		main, text := f.bootstrap(name)
		all = append(all, main, text)
	}
	return all
}
