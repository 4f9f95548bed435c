package python

import (
	"slices"
	"strings"
	"sync"
	"time"

	"coderunner/internal/versions"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/hostdirs"
	"coderunner/runners/python/install"
	"coderunner/runners/python/process"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
	"coderunner/runners/python/snapshots"
)

// job is one run on its way. The stations of a run (analyse, install, lease, run,
// outcome) are its methods, each in the file of its station.
type job struct {
	r      *Runner
	engine *engine
	req    runners.Request
	reqs   []requirement.Requirement
	stdout *runners.Capture
	stderr *runners.Capture
	in     *pyodide.Interp // nil before start
	procs  *process.Table  // of the program, nil before start
	net    process.Network // what it may reach, nil before start

	suggestion string // the module that it may have meant
	uncalled   bool   // it listened, and nobody called

	pk       *install.Installer // of its packages
	pip      *install.Micropip  // what the running program may install
	sources  []pyodide.File     // of the project, that the program imports
	path     []string           // where pytest finds the project's modules, too
	brings   bool               // program has own modules, which may shadow packages'
	left     time.Duration      // of the time limit, after the analysis
	wanted   *snapshots.Recipe  // of the snapshot that makeSnapshot makes
	ahead    bool               // a later run has a snapshot of its imports, if they are fit for one
	snapshot *pyodide.Snapshot  // the snapshot to run on, nil for the plain one

	host    *hostdirs.Dirs // of the interpreter, unless it is live
	release func()         // releases snapshot and host

	// Of a session; continued is nil if there is none.
	continued    *runners.Continued
	live         *live             // its interpreter, nil if it is not there
	threadless   bool              // threads of earlier calls were ended with them
	saved        map[string]string // its interpreter on disk
	kept         <-chan bool       // whether the state to come has that, nil if there is none
	sessionFiles []runners.SessionFile

	shown        runners.Displays
	files        []runners.LeftFile // that the program left
	filesOmitted int
}

// ending is an outcome under construction.
type ending struct{ *runners.Outcome }

// job checks a request and finds the requirements that can be known before the
// program is parsed.
func (r *Runner) job(req runners.Request) (*job, error) {
	if req.Language != runners.Python {
		return nil, runners.BadArgument("language", "is %q, which Python does not run: use python.", req.Language)
	}
	req.Limits = req.Limits.WithDefaults()
	req.Progress = req.Progress.Serial()
	if err := req.Check(); err != nil {
		return nil, err
	}
	reqs, err := parseAll(req.Packages)
	if err != nil {
		return nil, err
	}
	script, err := requirement.ParseScript(req.Code)
	if err == nil {
		err = script.CheckPython(versions.CPythonVersion)
	}
	if err != nil {
		return nil, runners.BadArgument("code", "cannot be run: %v.", err)
	}
	for _, text := range script.Dependencies {
		d, err := requirement.Parse(text)
		if err != nil {
			return nil, runners.BadArgument("code", "has a script block with a dependency that cannot be read: %v.", err)
		}
		reqs = append(reqs, d)
	}
	locked, err := lockOf(req, script)
	if err != nil {
		return nil, err
	}
	files, err := requirement.ReadFiles(fileReader(req))
	if err != nil {
		return nil, runners.BadArgument("files", "have requirements that cannot be read: %v.", err)
	}
	pk := install.New(locked)
	if v := req.Project; v != nil && !v.Isolated() && len(files.Requirements)+len(files.Constraints) == 0 {
		pk.Advice = sync.OnceValue(func() []requirement.Requirement { return requirement.ReadAdvice(v, v.Dir) })
	}
	pk.Progress, pk.Code, pk.Files, pk.Timeout = req.Progress, req.Code, files, req.Limits.Timeout
	j := &job{r: r, req: req, reqs: reqs, pk: pk, pip: install.NewMicropip(pk), release: func() {}}
	j.stdout, j.stderr = req.Captures()
	return j, nil
}

// fileReader returns a function that returns the contents of a file, or nil.
func fileReader(req runners.Request) func(path string) []byte {
	return func(path string) []byte {
		if i := slices.IndexFunc(req.Files, func(f runners.File) bool { return f.Path == path }); i >= 0 {
			return append([]byte{}, req.Files[i].Data...)
		}
		if req.Session != nil {
			if i := slices.IndexFunc(req.Session.Files, func(f runners.SessionFile) bool { return f.Path == path }); i >= 0 {
				b, _ := req.Session.Files[i].Read() // populate reports the error
				return b
			}
		}
		return nil
	}
}

// lockOf returns the files that the request allows, nil if it allows all.
func lockOf(req runners.Request, script requirement.Script) (*resolver.Locked, error) {
	if !req.Locked {
		return nil, nil
	}
	if script.Lock == nil {
		return nil, runners.BadArgument("code", `has no lock: write one with "coderunner lock FILE".`)
	}
	locked := &resolver.Locked{By: "the program's lock", SHA256: map[string][]string{}}
	for _, l := range script.Lock {
		locked.SHA256[l.Name] = []string{l.SHA256}
	}
	return locked, nil
}

// dir returns the working directory below Home, "" for that itself.
func (j *job) dir() string {
	if v := j.req.Project; v != nil && v.Dir != "." {
		return v.Dir
	}
	return ""
}

// shownName returns the program's name in tracebacks, which is that of its file.
func shownName(req runners.Request) string {
	name := req.Filename
	if v := req.Project; v != nil && v.Program != "" {
		return v.Program
	}
	name = name[strings.LastIndexAny(name, `/\`)+1:]
	if name == "" || strings.ContainsRune(name, 0) {
		name = "main.py"
		if req.Project != nil {
			name = req.Project.Free(name)
		}
	}
	return name
}
