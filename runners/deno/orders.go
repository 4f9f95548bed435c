package deno

import (
	"bytes"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"coderunner/runners"
	"coderunner/runners/deno/deps"
)

// orders are sent to the bootstrap when there is a program.
type orders struct {
	Main    string   `json:"main"`  // the program's URL
	Path    string   `json:"path"`  // its path
	Shown   string   `json:"shown"` // its name in messages
	Args    []string `json:"args,omitempty"`
	Argv    bool     `json:"argv"`          // the program looks at process.argv
	Workers bool     `json:"workers"`       // and may start Workers
	Threads bool     `json:"threads"`       // by node:worker_threads
	OS      bool     `json:"os"`            // it may use node:os
	Names   bool     `json:"names"`         // and so may packages, by the names of its functions, or they mock fetch, or find plugins by theirs
	Process bool     `json:"process"`       // and node:process, or what Deno drops where there is none
	Turn    bool     `json:"turn"`          // it may ask for ticks or immediates in its first turn
	Module  bool     `json:"module"`        // and is a module of Node, too
	Reads   bool     `json:"reads"`         // and reads files in it
	Any     bool     `json:"any"`           // it calls Promise.any
	Sockets bool     `json:"sockets"`       // it connects by Node's modules
	HTTP    bool     `json:"http"`          // it may have servers of node:http
	Request bool     `json:"requests"`      // it may send requests by node:http
	Deaf    bool     `json:"deaf"`          // it listens to signals, and nothing sends it one
	Codes   bool     `json:"codes"`         // it may look at the code of the error of a URL
	URL     bool     `json:"url"`           // and uses node:url
	Deep    bool     `json:"deep"`          // it has packages
	Fetch   bool     `json:"fetch"`         // it fetches, and may not reach everything
	Causes  bool     `json:"causes"`        // and looks at the causes of its errors
	Numbers bool     `json:"numbers"`       // it formats numbers by %d
	Mocks   bool     `json:"mocks"`         // it uses those of node:test
	Seals   bool     `json:"seals"`         // its decorators may seal their classes
	Exits   bool     `json:"exits"`         // it listens to Node's "exit" or "uncaughtException"
	Lines   bool     `json:"lines"`         // it uses node:readline, or a package of questions does
	Net     bool     `json:"net"`           // it connects or looks names up by Node's modules, and may not reach everything
	Above   bool     `json:"above"`         // packages look for the directories above the working directory
	Sharp   bool     `json:"sharp"`         // sharp is to use its WebAssembly
	Esbuild bool     `json:"esbuild"`       // esbuild is to use its WebAssembly, in this process
	Sqlite  bool     `json:"sqlite"`        // better-sqlite3 and sqlite3 are to use node:sqlite
	Run     string   `json:"run,omitempty"` // what to say of other programs, where it names them and may start none
	Room    int64    `json:"room"`          // most characters of the result
	Tell    bool     `json:"tell"`          // report when it is over
	Load    bool     `json:"load"`          // load the program and evaluate nothing

	Sqlite3 string            `json:"sqlite3,omitempty"` // the address of the module that sqlite3 needs for that
	Cold    []string          `json:"cold,omitempty"`    // what is loaded before the program, if Deno knows nothing of the packages' modules
	Temp    string            `json:"temp,omitempty"`    // what stands for /tmp, if the program names that
	Kept    []string          `json:"kept,omitempty"`    // but not in these directories
	Files   []string          `json:"files,omitempty"`   // functions of node:fs that are replaced and that it may use
	Aliases map[string]string `json:"aliases,omitempty"` // what require finds by other names

	*sessionOrders
}

// sessionOrders are the orders of a session's program.
type sessionOrders struct {
	Code    string `json:"code"`
	Script  string `json:"script"`  // its URL in stacks
	Nonce   string `json:"nonce"`   // to report its end with
	Typed   bool   `json:"typed"`   // it is TypeScript
	Value   bool   `json:"value"`   // it ends with an expression
	Written bool   `json:"written"` // which returns how much was written

	// Defaults are the packages whose default, if they have none, is all that they export,
	// "", or the export of a name.
	Defaults map[string]string `json:"defaults,omitempty"`
}

// mentions reports whether the program or its files contain a word.
func (j *job) mentions(word string) bool {
	return strings.Contains(j.req.Code, word) || slices.ContainsFunc(j.req.Files, func(f runners.File) bool {
		return bytes.Contains(f.Data, []byte(word))
	})
}

// What a program is told that starts another: runners/hint has the first two, too.
const (
	notRun     = "the program could not start another: the permissions of this server do not include --allow-run"
	ownRuns    = `the sandbox has processes of its own in language "bash" and in Python's subprocess`
	forkWorker = `new Worker("./child.js") of node:worker_threads runs a file of JavaScript beside the program, with postMessage for process.send`
)

// threads reports whether the program or its packages may start Workers.
func (j *job) threads() bool {
	return j.ready.uses.Workers || j.mentions("Worker") || j.mentions("worker_threads")
}

// imports reports whether the program or its files may import a module of Node.
func (j *job) imports(module string) bool {
	return slices.ContainsFunc([]string{`"` + module + `"`, `'` + module + `'`, "node:" + module}, j.mentions)
}

// later are the functions of node:fs that answer later than they are called, the
// object that has promises of the same, and those that likenode.js mends.
var later = []string{
	"access", "appendFile", "chmod", "closeSync", "copyFile", "copyFileSync", "cp", "cpSync", "createReadStream", "createWriteStream", "fsyncSync", "ftruncateSync",
	"link", "lstat", "mkdir", "mkdtemp", "open", "opendir", "promises", "readFile", "readdir", "readdirSync", "readlink", "realpath", "rename", "rm", "rmdir", "stat",
	"symlink", "truncate", "unlink", "unlinkSync", "utimes", "utimesSync", "writeFile", "writeSync",
}

var laterNames = regexp.MustCompile(`\b(?:` + strings.Join(later, "|") + `)\b`)

// answersLater returns those that the program or its files may use: each of them takes
// time to replace. What a session's later calls use is not known.
func (j *job) answersLater() []string {
	switch {
	case !j.imports("fs") && !j.imports("fs/promises"):
		return nil
	case j.req.Session != nil:
		return later
	}
	names := laterNames.FindAllString(j.req.Code, -1)
	for _, f := range j.req.Files {
		for _, name := range laterNames.FindAll(f.Data, -1) {
			names = append(names, string(name))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// defaults returns sessionOrders.Defaults, as destructured has them for other programs.
func (j *job) defaults() map[string]string {
	found := map[string]string{}
	for _, i := range j.program.Imports {
		if !i.Static || !deps.Fetched(i.Specifier) {
			continue
		}
		if name, members := j.program.Defaulted(i.Specifier); members {
			found[i.Specifier] = ""
		} else if name != "" {
			found[i.Specifier] = name
		}
	}
	return found
}

// ordersFor returns an instance's orders.
func (j *job) ordersFor(in *instance, tell, load bool) orders {
	main := filepath.Join(in.dir.work(), j.main)
	o := orders{
		Main: fileURL(main), Path: main, Shown: j.shown, Room: j.req.Limits.Output, Args: j.req.Args,
		Argv:    len(j.req.Args) > 0 || strings.Contains(j.req.Code, "argv"),
		Workers: j.threads(), Threads: j.ready.uses.Workers || j.imports("worker_threads"),
		OS: j.ready.uses.OS || j.imports("os"), Names: j.ready.uses.Names || j.ready.has("@mswjs/interceptors") || j.ready.has("prettier") && j.mentions("plugin"), Process: j.imports("process") || j.mentions("captureRejections"),
		Turn: j.program.Turn && !load, Module: j.module(), Reads: strings.Contains(j.req.Code, "readFile("),
		Codes: j.mentions("new URL(") && (j.mentions(".code") || j.mentions("ERR_INVALID_URL")), URL: j.imports("url"),
		Deep:    len(j.ready.dirs) > 0,
		Files:   j.answersLater(),
		Any:     j.mentions("Promise.any("),
		Sockets: slices.ContainsFunc([]string{"net", "tls", "http", "https"}, j.imports),
		Deaf:    j.req.Signals == nil && j.req.Session == nil && !in.policy().Run.Any() && j.mentions("SIG") && !j.mentions("kill"),
		HTTP:    j.serves() && (j.ready.uses.Net || j.imports("http") || j.imports("https")),
		Request: j.ready.uses.Net || j.imports("http") || j.imports("https"),
		Fetch:   !in.policy().Net.All && j.mentions("fetch("),
		Causes:  j.mentions("fetch(") && j.mentions("cause"),
		Numbers: j.mentions("%d"),
		Mocks:   j.mentions("node:test") && j.mentions("mock"),
		Seals:   j.program.Decorated && (j.mentions("Object.seal") || j.mentions("Object.freeze") || j.mentions("Object.preventExtensions")),
		Exits:   j.mentions("'exit'") || j.mentions(`"exit"`) || j.mentions("uncaughtException"),
		Lines:   j.imports("readline") || j.imports("readline/promises") || j.ready.has("enquirer") || j.ready.has("@inquirer/core"),
		Net:     !in.policy().Net.All && (j.ready.uses.Net || slices.ContainsFunc([]string{"net", "tls", "http", "https", "http2", "dns", "dns/promises"}, j.imports) || j.mentions("resolveDns")),
		Above:   j.ready.has("adm-zip"),
		Sharp:   j.ready.has(deps.SharpWasm),
		Esbuild: j.ready.has("esbuild-wasm") && !in.policy().Run.Any(),
		Sqlite:  (j.ready.has("better-sqlite3") || j.ready.has("sqlite3")) && !in.policy().FFI.Any(),
		Sqlite3: j.sqlite3(),
		Tell:    tell, Load: load,
	}
	if j.mentions("/tmp") && !grants(in.policy(), "/tmp") {
		o.Temp, o.Kept = in.dir.temp(), []string{in.runDirs.base + "/", in.cfg.Cache.Root() + "/"}
	}
	if in.cold && !load {
		o.Cold = append(j.deps.Specifiers(), o.Main)
	}
	if p := in.policy(); j.imports("child_process") && !(p.Run.Any() && !p.DenyRun.All) {
		o.Run = notRun + "; " + ownRuns
		if j.mentions("fork(") {
			o.Run = notRun + "; " + forkWorker
		}
	}
	for name, target := range j.aliases {
		if at, own := strings.CutPrefix(target, deps.Work); own {
			target = filepath.Join(in.dir.work(), filepath.FromSlash(at))
		}
		if o.Aliases == nil {
			o.Aliases = map[string]string{}
		}
		o.Aliases[name] = target
	}
	if in.variant.kept {
		o.sessionOrders = &sessionOrders{
			Code: j.program.Edited(), Script: fileURL(filepath.Join(in.dir.work(), j.script)), Nonce: j.nonce, Typed: typed(j.main),
			Value: j.program.Value, Written: j.program.Written, Defaults: j.defaults(),
		}
	}
	return o
}

// order sends the bootstrap its orders and starts to copy the program's stdin,
// which may block. It reports whether the orders were written.
func (j *job) order(in *instance, tell, load bool) bool {
	input := in.p.Stdin
	to := input.File
	if in.variant.kept {
		to = in.orders
	}
	// The process may end at any time.
	if err := writeFrame(to, j.ordersFor(in, tell, load)); err != nil {
		input.Close()
		return false
	}
	if load {
		input.Close()
		return true
	}
	go func() {
		defer input.Close()
		if in.drip != nil {
			in.drip.copy()
			return
		}
		j.stdin.copy(input)
	}()
	return true
}
