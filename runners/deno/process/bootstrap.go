package process

import (
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

// source returns the text of some of the scripts, one after the other.
func source(names ...string) string {
	var b strings.Builder
	for _, name := range names {
		text, err := scripts.ReadFile("bootstrap/" + name + ".js")
		if err != nil {
			panic(err) // it is embedded
		}
		b.Write(text)
	}
	return b.String()
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
	body := source("tests", "display", "host", "network", "sites", "likenode", "builtins", "blame", "paths")
	if name != aloneName {
		body += source("early", "tools") + standins.Source()
	}
	if name == sessionName {
		body += source("session", "modules")
	}
	var late strings.Builder
	body = `return (async () => { "use strict"; ` + postpone(&late, body+source("bootstrap")) + "})();"
	return []byte(strings.NewReplacer("SOURCE", `"`+quoted.Replace(body)+`"`, "LATE", `"`+quoted.Replace(late.String())+`"`).Replace(source("load")))
}

// atOnce are the functions that a process needs for every program.
var atOnce = strings.Fields(`defineTests defineDisplay machine codeURLs answerDialogs endServers mendFetch explainDNS siteAny formatNumbers
	hearErrors holdSignals patchRealm patchModules ownPaths ownPathsDeno read readFrame prepareCall hasNode over reportServers reportQuestion report writeAll`)

// postpone returns a script without comments, whose functions, but for those of atOnce, are
// compiled when they are first called: to look through all of them takes V8 2 ms of each start,
// and a program calls few. Their texts go to late.
func postpone(late *strings.Builder, script string) string {
	var text, function strings.Builder
	name := ""
	for line := range strings.Lines(script) {
		if strings.HasPrefix(strings.TrimSpace(line), "//") {
			continue
		}
		head, begins := strings.CutPrefix(strings.TrimPrefix(line, "async "), "function ")
		if begins {
			name, _, _ = strings.Cut(head, "(")
		}
		if name == "" || slices.Contains(atOnce, name) {
			text.WriteString(line)
		} else {
			function.WriteString(line)
		}
		if strings.HasPrefix(line, "}") || begins && strings.HasSuffix(line, "}\n") {
			if function.Len() > 0 {
				begin := late.Len()
				late.WriteString(function.String())
				fmt.Fprintf(&text, "function %[1]s() { return apply(made.%[1]s ??= %[1]s = eval(lateText(%d, %d)), this, arguments); }\n", name, begin, late.Len())
			}
			name = ""
			function.Reset()
		}
	}
	return text.String()
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
