package deno

import (
	"regexp"
	"strings"
	"time"

	"coderunner/internal/recent"
	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// prepared is what a run needs of its packages. It is never changed.
type prepared struct {
	dir      string // with map.json, packages.js, deno.lock, deno.json and uses; "" if none is needed
	locked   bool   // there is a deno.lock
	packages []runners.Package
	remote   bool // it has modules from URLs
	npm      bool // it has npm packages
	own      bool // the import map names files of the program
	config   bool // there is a deno.json
	uses     uses
	dirs     []string // directories of the npm packages
	copies   []string // package directories incl. peer-dependency copies
	set      string   // a digest of the packages in exactly these versions
	fresh    bool     // prepared by this very run

	// missing has the packages that cannot be installed, by the message that
	// import throws and by the name that require() does not find.
	missing map[string]runners.PackageError
}

// notFound matches the message of require() about a missing module.
var notFound = regexp.MustCompile(`^Cannot find module '([^']+)'`)

// notInstalled sets NotInstalled if the program ended by the error of importing a
// missing package.
func (p *prepared) notInstalled(o *runners.Outcome) {
	if o.Status != runners.Failed || o.Error == nil {
		return
	}
	name := o.Error.Message
	if m := notFound.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if missing, ok := p.missing[name]; ok {
		reason := missing.Name + ": " + missing.Reason
		o.Error.Traceback = strings.Replace(o.Error.Traceback, o.Error.Message, reason, 1)
		o.Error.Message = reason
		o.Status, o.Error.Type, o.Error.Packages = runners.NotInstalled, "NotInstalled", []runners.PackageError{missing}
	}
}

// The files of a prepared directory.
const (
	mapName    = "map.json"
	moduleName = "packages.js"
	lockName   = "deno.lock"
	configName = "deno.json"
	usesName   = "uses" // what its packages may use, a JSON object
)

// absences remembers for absentFor which targets could not be installed, so that
// optional ones do not delay each run.
type absences struct {
	recent.Map[string, absence] // by specifier
}

type absence struct {
	reason string
	until  time.Time
}

const absentFor = time.Minute

func (a *absences) note(failures []deps.Failure) {
	for _, f := range failures {
		a.Put(f.Target.Specifier, absence{f.Reason, time.Now().Add(absentFor)})
	}
}

// among returns the targets that are known to be absent and are not needed.
func (a *absences) among(targets []deps.Target) (failures []deps.Failure) {
	for _, t := range targets {
		if have, ok := a.Get(t.Specifier); ok && !t.Needed && time.Now().Before(have.until) {
			failures = append(failures, deps.Failure{Target: t, Reason: have.reason})
		}
	}
	return failures
}
