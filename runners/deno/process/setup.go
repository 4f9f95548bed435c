package process

import (
	"slices"

	"coderunner/runners/deno/standins"
)

// setup is the bootstrap's configuration, sent when the process is started. All that
// follows from the policy and the packages is in it, so that it is done before there is a
// program.
type setup struct {
	Report string   `json:"report"` // the pipe for the report
	Revoke bool     `json:"revoke"` // revoke the permission to write there
	Hide   []string `json:"hide"`   // variables to unset
	Home   string   `json:"home"`   // the working directory
	Memory int64    `json:"memory"` // the limit, in bytes
	Run    bool     `json:"run"`    // it may start programs
	Net    bool     `json:"net"`    // it may reach everything
	Alone  bool     `json:"alone"`  // it has a network of its own
	Real   []string `json:"real"`   // what it may ask of the machine
	Tell   bool     `json:"tell"`   // report when the program is over
	Forked bool     `json:"forked"` // programs run in forks of the process

	Refused *refusals `json:"refused,omitempty"` // what errors say of other programs, if it may start none
	Temp    string    `json:"temp,omitempty"`    // what stands for /tmp, if the policy does not grant that
	Kept    []string  `json:"kept,omitempty"`    // directories below /tmp that are themselves

	Packages []string `json:"packages"`          // for which something stands; null if there are no packages
	Modules  []string `json:"modules,omitempty"` // of Node that packages import
	Early    bool     `json:"early,omitempty"`   // packages to load before there is a program follow
	Cold     []string `json:"cold,omitempty"`    // packages to load before the program, if Deno knows nothing of their modules
	SQLite3  string   `json:"sqlite3,omitempty"` // the address of the module that sqlite3 needs

	Session *sessionSetup `json:"session,omitempty"`
}

// What a program is told that starts another: runners/hint has the first two, too.
const (
	NotRun     = "the program could not start another: the permissions of this server do not include --allow-run"
	OwnRuns    = `the sandbox has processes of its own in language "bash" and in Python's subprocess`
	ForkWorker = `new Worker("./child.js") of node:worker_threads runs a file of JavaScript beside the program, with postMessage for process.send`
)

// refusals are the ends of messages.
type refusals struct {
	Run  string `json:"run"`
	Fork string `json:"fork"`
}

// sessionSetup is the configuration for a session.
type sessionSetup struct {
	Orders string `json:"orders"` // the pipe for its tasks
	Base   string `json:"base"`   // the working directory's URL
	Gen    string `json:"gen"`    // where Deno puts what it compiles
	Revoke bool   `json:"revoke"` // revoke the permission to inspect
}

// setup returns an instance's configuration.
func (in *Instance) setup() setup {
	p, ready := in.policy(), in.Variant.Ready
	_, hide := in.runEnv(p, in.OwnDir, in.Dir.Temp())
	report := in.Dir.Report()
	to := setup{
		// Revoking also revokes grants of all parent directories, which the program
		// keeps where the policy has them.
		Report: report, Revoke: !p.CanWrite(report), Hide: hide, Home: in.Dir.Work(), Memory: in.Variant.Memory,
		Run: p.Run.Any(), Net: p.Net.All, Alone: in.ownNetwork(), Real: sysKinds(p), Tell: !Unconfined(in.Config.Policy) || in.Variant.Session,
		Forked: in.Forked(),
	}
	if !p.Run.Any() || p.DenyRun.All {
		to.Refused = &refusals{Run: NotRun + "; " + OwnRuns, Fork: NotRun + "; " + ForkWorker}
	}
	if !grants(p, "/tmp") {
		to.Temp, to.Kept = in.Dir.Temp(), []string{in.RunDirs.Path + "/", in.Config.Cache.Root() + "/"}
	}
	if ready.Dir != "" {
		to.Packages, to.Modules = standins.For(p, ready.Has), ready.Uses.modules()
		if ready.Uses.Names {
			to.Packages = append(to.Packages, "os")
		}
		if to.Packages == nil {
			to.Packages = []string{}
		}
		if ready.Has("enquirer") || ready.Has("@inquirer/core") {
			to.Modules = append(to.Modules, "readline")
		}
		if slices.Contains(to.Packages, "sqlite3") {
			to.SQLite3 = standins.SQLite3()
		}
	}
	if to.Early = in.Variant.Early != nil; to.Early {
		to.Hide = append(to.Hide, auditVariable)
	}
	if in.cold() {
		to.Cold = ready.Specifiers
	}
	if in.Variant.Session {
		to.Session = &sessionSetup{Orders: in.Dir.orders(), Base: FileURL(in.Dir.Work()), Gen: in.compiled(), Revoke: !hasSys(in.policy(), inspector)}
	}
	return to
}
