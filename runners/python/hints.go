package python

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"coderunner/internal/userland/shell"
	"coderunner/pyodide"
	"coderunner/runners"
	"coderunner/runners/python/imports"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/resolver"
)

// Programs are written for a Python with an operating system. Where one fails
// because of a difference, the outcome's error has a hint what to do, since
// Python's own message does not know of it.

var (
	plainModule = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	noModule    = regexp.MustCompile(`^No module named '([A-Za-z0-9_.]+)'$`)
	lacks       = regexp.MustCompile(`^(?:No module named|module|cannot import name '(\w+)' from) '((\w+)[\w.]*)'(?: has no attribute '(\w+)')?[^\n]*$`)
	serves      = regexp.MustCompile(`\bserve_forever\(|\brun_simple\(|\buvicorn\.run\(|\.run\([^)\n]*\b(?:debug|host|port)=|\b(?:app|server|socketio)\.run\(`)
	variable    = regexp.MustCompile(`^'[A-Za-z_][A-Za-z0-9_]*'$`)
	elsewhere   = regexp.MustCompile(`'/(?:mnt/data|content|kaggle)/`) // where other sandboxes have files
	lacking     = regexp.MustCompile(`(?:\b[Ii]nstall\s+(?:(?:-\S+|the)\s+)*["']?|No module named '|\bDo you have )([A-Za-z][\w.-]*)`)
	noFile      = regexp.MustCompile(`^\[Errno \d+\] No such file or directory: '([\w.+-]+)'$`)
	audioop     = regexp.MustCompile(`^No module named '(?:py)?audioop'$`)
	starting    = regexp.MustCompile(`\b(?:subprocess|Popen|check_call|check_output|create_subprocess_exec|run)\b`)
	nested      = regexp.MustCompile(`^(?:\S+ cannot be called from a running event loop|This event loop is already running|Cannot run the event loop while another loop is running)$`)
	noFormat    = regexp.MustCompile(`^(?:'(WEBP|AVIF)'|unknown file extension: \.(webp|avif)|(?:en|de)coder (\w+) not available)$`)
	noMovie     = regexp.MustCompile(`^(?:unknown file extension: \.(?:mp4|m4v|mov|avi|mkv|webm)|Requested MovieWriter \(ffmpeg\w*\) not available)$`)
	saysPip     = regexp.MustCompile(`(?i)\b(?:pip|conda) install\b|\b(?:using|use) pip\b|\bDo you have [\w.-]+ installed\?`)
)

// notHere are modules of Python's library that this runtime does not have, and why.
var notHere = map[string]string{
	"curses": noWindows, "idlelib": noWindows, "tkinter": noWindows, "turtle": noWindows, "turtledemo": noWindows,
	"ensurepip": noEnvironment, "venv": noEnvironment,
	"msvcrt": onlyWindows, "nt": onlyWindows, "winreg": onlyWindows, "winsound": onlyWindows,
}

const (
	giveIt         = "name it in the argument packages (--package on the command line)"
	ownFile        = "Another version or package goes into the argument packages (--package on the command line), a file of your own into files (--file)."
	noThreads      = "A program may have 256 threads at a time beside the main one, whose stacks count as its memory: use a pool (concurrent.futures.ThreadPoolExecutor)."
	noPip          = "There is no pip here. Packages are installed by importing them; for one that the program does not import, " + giveIt + "."
	noInput        = "The program's standard input has ended: give it in the argument stdin (a pipe on the command line)."
	noVariable     = "Programs do not see the variables of the server's environment: --allow-env=%s on the server shows them this one, and CODE_RUNNER_SECRETS has it sent to one host without being seen."
	noLoop         = "Python makes no event loop here since 3.14: use asyncio.run(main()), or asyncio.new_event_loop()."
	noTask         = "An event loop runs here only while the program awaits: put it into an async function and await that, or call asyncio.run(main())."
	oneLoop        = "An event loop runs here already, since something awaits: write await main() instead of running it."
	tasksEnd       = "A call's tasks end with it: await them in the call that makes them."
	noLocale       = "There is only the locale C: write numbers with f\"{x:,.2f}\", or use the package babel."
	noServer       = "Only this program reaches its servers: start it in a thread and call it at 127.0.0.1, or call the app with its test client (Flask: app.test_client(); ASGI: httpx.ASGITransport(app))."
	threadless     = "Threads that earlier calls of the session started ended with those calls: a server has to be started in the call that asks it."
	noClient       = "The test client needs a package that is not installed: " + giveIt + "."
	noUpload       = "This is another sandbox: files come in the argument files, into the working directory, and what the program writes there comes back."
	noImage        = "There is no browser here: fig.show() and fig.write_html() work; for an image file draw it with matplotlib."
	noBrowser      = "There is no browser here: fetch pages with requests or httpx, and read them with bs4 or html.parser."
	noCorpus       = "NLTK's data are no package, and nltk.download() needs network access: use what needs none (nltk.tokenize.wordpunct_tokenize, nltk.stem.PorterStemmer), or send nltk_data in the argument files."
	noSolver       = "There are no solvers' programs here: use scipy.optimize (linprog, milp), or write the search in Python."
	formats        = "PNG, JPEG, GIF, BMP or TIFF without compression (matplotlib has SVG and PDF, too)."
	noVideo        = "There are no programs for video here: save the animation as .gif (writer=\"pillow\")."
	noGit          = "There is no program git here: the package dulwich reads and writes repositories."
	noNames        = "There is no name server here: socket.getaddrinfo resolves names, where network access is allowed."
	noFont         = "There are no fonts of a system here: ImageFont.load_default(20) draws in any size; a font's file goes into the argument files."
	noDot          = "There is no program dot here: the graph's text is graph.source (pydot: graph.to_string()); for a picture draw it with networkx and matplotlib."
	noParser       = `Use the parser "html.parser".`
	noWindows      = "It is part of Python's library, but not in this runtime, which has no terminal and no windows: draw with matplotlib or Pillow, read input() from the argument stdin."
	onlyWindows    = "Python has it on Windows only."
	noEnvironment  = "No environment is needed here: packages are installed by importing them, or by pip."
	noInterpreters = "There are no subinterpreters in this runtime: use processes (concurrent.futures.ProcessPoolExecutor, multiprocessing) or threads."
	small          = "A size has 32 bits here: nothing may have more than 2 GiB, and a program only as much memory as its limit."
	wide           = "Addresses have 32 bits here: Python's own integers have no bound, but len(), indexes and C's functions take at most sys.maxsize, 2147483647; NumPy takes more with dtype=np.int64."
	narrow         = "NumPy's default integer has 32 bits here: give arrays dtype=np.int64."
	onlySpawn      = "A process cannot be copied here: the start method is spawn, which is set, and imports the program's file in each process. Have what starts them under if __name__ == \"__main__\"."
)

// hint returns what to do about an error, or "".
func (j *job) hint(e *runners.Error) string {
	for _, find := range []func(*runners.Error) string{j.namesake, programHint, plainHint, j.runHint} {
		if text := find(e); text != "" {
			return text
		}
	}
	return ""
}

// plainHints are errors whose hint depends on nothing else: the type ("" is any),
// what the message is like (nil: anything), and the hint.
var plainHints = []struct {
	kind string
	like func(message string) bool
	text string
}{
	{"", begins("The starlette.testclient module requires"), noClient},
	{"FeatureNotFound", begins("Couldn't find a tree builder"), noParser},
	{"FileNotFoundError", elsewhere.MatchString, noUpload},
	{"", begins("Failed to initialize: Bad git executable"), noGit},
	{"ImportError", begins("cannot import name 'InterpreterPoolExecutor'"), noInterpreters},
	{"RuntimeError", has("can't start new thread"), noThreads},
	{"OverflowError", is("cannot fit 'int' into an index-sized integer"), small},
	{"OverflowError", begins("Python int too large to convert to C"), wide},
	{"ValueError", has("<= sys.maxsize"), wide},
	{"OverflowError", ends("out of bounds for int32"), narrow},
	{"TypeError", has("from dtype('int64') to dtype('int32') according to the rule 'safe'"), "Indexes and counts have 32 bits here: give NumPy x.astype(np.intp)."},
	{"ValueError", begins("cannot find context for"), onlySpawn},
	{"RuntimeError", begins("There is no current event loop"), noLoop},
	{"RuntimeError", is("no running event loop"), noTask},
	{"Error", is("unsupported locale setting"), noLocale},
	{"EOFError", is(""), noInput},
	{"EOFError", begins("EOF when reading"), noInput},
	{"", has("requires the Kaleido package"), noImage},
	{"", has("make sure the Graphviz executables"), noDot},
	{"", has(`"dot" not found in path`), noDot},
	{"NoResolverConfiguration", nil, noNames},
	{"NoSuchDriverException", nil, noBrowser},
	{"PulpSolverError", nil, noSolver},
	{"AttributeError", has("'actualSolve'"), noSolver}, // PuLP's default solver is None
	{"", noMovie.MatchString, noVideo},
	{"LookupError", has("nltk.download("), noCorpus},
	{"MissingCorpusError", nil, noCorpus}, // TextBlob's
	{"ModuleNotFoundError", is("No module named 'rtmidi'"), "There are no MIDI ports here: mido and music21 write files."},
	{"ImportError", begins("no pq wrapper available"), "There is no libpq here: use " + postgres + "."},
}

func is(text string) func(string) bool {
	return func(message string) bool { return message == text }
}

func has(text string) func(string) bool {
	return func(message string) bool { return strings.Contains(message, text) }
}

func begins(text string) func(string) bool {
	return func(message string) bool { return strings.HasPrefix(message, text) }
}

func ends(text string) func(string) bool {
	return func(message string) bool { return strings.HasSuffix(message, text) }
}

func plainHint(e *runners.Error) string {
	for _, h := range plainHints {
		if (h.kind == "" || h.kind == e.Type) && (h.like == nil || h.like(e.Message)) {
			return h.text
		}
	}
	return ""
}

// runHint returns a hint that depends on the run or on the line that raised, or "".
func (j *job) runHint(e *runners.Error) string {
	switch {
	case e.Type != "SyntaxError" && serving(e.Traceback):
		return noServer
	case e.Type == "ModuleNotFoundError" && strings.Contains(e.Traceback, " google.colab"):
		return noUpload
	case e.Type == "ModuleNotFoundError" && audioop.MatchString(e.Message):
		return audioopHint(e.Traceback, j.engine.lock.ByImport)
	case e.Type == "ModuleNotFoundError":
		return j.moduleHint(e.Message)
	case e.Type == "MemoryError" && e.Message == "", strings.HasPrefix(e.Message, "Unable to allocate "):
		return fmt.Sprintf("A program has %d MiB of memory here (CODE_RUNNER_MEMORY on the server), and nothing in it more than 2 GiB.", j.req.Limits.Memory>>20)
	case e.Type == "RuntimeError" && nested.MatchString(e.Message) && strings.Count(e.Traceback, "asyncio.run(") < 2:
		return oneLoop // else it is the program's own
	case e.Type == "KeyError" && variable.MatchString(e.Message) && strings.Contains(lastFrame(e.Traceback), "environ["):
		if name := strings.Trim(e.Message, "'"); !j.r.cfg.Policy.HostEnv(name) {
			return fmt.Sprintf(noVariable, name)
		} // else the server has none
	case e.Type == "CancelledError" && j.req.Session != nil:
		return tasksEnd
	case e.Type == "ZoneInfoNotFoundError" && !j.pk.present(timeZones):
		if why := j.pk.whyNot(timeZones); why != "" {
			return "Time zones are in the package tzdata, which cannot be installed: " + why
		}
		return "Time zones are in the package tzdata: " + giveIt + "."
	case e.Type == "OSError" && e.Message == "cannot open resource" && strings.Contains(e.Traceback, "truetype("):
		return noFont
	case noFormat.MatchString(e.Message):
		m := noFormat.FindStringSubmatch(e.Message)
		return "This build of Pillow has no " + strings.ToUpper(cmp.Or(m[1], m[2], m[3])) + ": use " + formats
	case saysPip.MatchString(e.Message):
		return j.pipHint(e.Message + "\n" + e.Traceback)
	}
	return ""
}

// besides matches where a traceback goes on with other threads and tasks.
var besides = regexp.MustCompile(`(?m)^(?:Thread|Task)s? .*\(most recent call last\):$`)

// serving reports whether a traceback ends where the program has a library serve: a
// method run of its own would have lines, too.
func serving(traceback string) bool {
	if at := besides.FindStringIndex(traceback); at != nil {
		traceback = traceback[:at[0]]
	}
	return serves.MatchString(lastFrame(traceback))
}

// lastFrame returns the end of a traceback, from the line that raised.
func lastFrame(traceback string) string {
	return traceback[max(strings.LastIndex(traceback, "\n  File \""), 0):]
}

// programHint returns what to use for a program that is not here, or "".
func programHint(e *runners.Error) string {
	m := noFile.FindStringSubmatch(e.Message)
	if e.Type != "FileNotFoundError" || m == nil || !starting.MatchString(e.Traceback) {
		return ""
	}
	hint := shell.Instead(m[1])
	if hint == "" {
		return ""
	}
	return "There is no program " + m[1] + " here: " + hint + "."
}

// pipHint returns what to do where a message asks for packages.
func (j *job) pipHint(text string) string {
	for _, m := range lacking.FindAllStringSubmatch(text, -1) {
		r, err := requirement.Parse(strings.TrimRight(m[1], "."))
		if err != nil {
			continue
		}
		if why := j.pk.whyNot(r.Name); why != "" {
			return refusal(r.Name, why)
		}
	}
	return noPip
}

// refusal returns why a package cannot be installed and what to use instead.
func refusal(project, why string) string {
	text := "The package " + project + " cannot be installed: " + why
	name := wanting(project, why)
	if other := instead[name]; other != "" {
		text += "\nInstead of " + name + ", use " + other + "."
	}
	return text
}

// moduleHint returns why a module is missing and what to do, or "".
func (j *job) moduleHint(message string) string {
	m := noModule.FindStringSubmatch(message)
	if m == nil {
		return "" // not Python's plain message
	}
	top, _, _ := strings.Cut(m[1], ".")
	if why := notHere[top]; why != "" {
		return why
	}
	if top == "_interpreters" {
		return noInterpreters
	}
	if why := imports.Gone(m[1]); why != "" {
		return top + " is not here: " + why + "."
	}
	if file := j.fileOf(top); file != "" && !j.pk.present(m[1]) {
		return "A file of the program could be it, " + file + ": put its directory on sys.path. For a package of this name, " + giveIt + "."
	}
	project := imports.Project(m[1], j.engine.lock.ByImport).Name
	if why := j.pk.whyNot(project); why != "" {
		return refusal(project, why)
	}
	if project == "" || j.pk.present(m[1]) {
		return "" // a submodule that its package lacks
	}
	if p, have := j.pk.has(project); have {
		text := "The package " + project + " is here, but has no module of that name"
		if modules := topModules(p.Tree); len(modules) > 0 {
			text += "; it has " + strings.Join(modules, ", ")
		}
		return text + ". " + ownFile
	}
	if other := instead[project]; other == postgres || other == mysql {
		return "Instead of " + project + ", use " + other + "." // it needs a library in C
	}
	if j.suggestion != "" {
		return didYouMean(j.suggestion) + " If a package has it, " + giveIt + "."
	}
	return "If a package has it, " + giveIt + "; it is most likely " + project + "."
}

func didYouMean(module string) string { return "Did you mean: '" + module + "'?" }

// namesake returns what to do where a line of the program wants of a module what that
// lacks, if the module is in a package only because the program imports its name: it
// may have meant a file that was not sent. Otherwise it returns "".
func (j *job) namesake(e *runners.Error) string {
	m := lacks.FindStringSubmatch(e.Message)
	if m == nil || e.Type != "ImportError" && e.Type != "ModuleNotFoundError" && e.Type != "AttributeError" {
		return ""
	}
	wanted := cmp.Or(m[1], m[4], m[2])
	if lines := strings.LastIndex(e.Traceback, e.Message); lines < 0 || !strings.Contains(e.Traceback[:lines], wanted) {
		return "" // a line of the package wants it
	}
	p, ok := j.pk.guess(m[3])
	if !ok {
		return ""
	}
	return m[3] + " is the package " + p.Name + " " + p.Version + " here. " + ownFile
}

// fileOf returns the path of a request's file that could be the module or its
// package, or "".
func (j *job) fileOf(module string) string {
	files := j.sources
	for _, f := range j.req.Files {
		files = append(files, pyodide.File{Path: f.Path})
	}
	for _, f := range files {
		path := "/" + f.Path
		if strings.HasSuffix(path, "/"+module+".py") || strings.Contains(path, "/"+module+"/") && strings.HasSuffix(path, ".py") {
			return f.Path
		}
	}
	return ""
}

// unmet returns the uninstalled package whose import ended the program. It trusts
// the installer's record, not the message.
func (j *job) unmet(e *runners.Error) *runners.NotInstalledError {
	m := noModule.FindStringSubmatch(e.Message)
	if e.Type != "ModuleNotFoundError" || m == nil {
		return nil
	}
	r := imports.Project(m[1], j.engine.lock.ByImport)
	why := j.pk.whyNot(r.Name)
	if why == "" {
		return nil
	}
	missing := &runners.NotInstalledError{}
	missing.Add(r.String(), why)
	return missing
}

// topModules returns up to a few modules that a package's tree has.
func topModules(tree string) []string {
	const most = 10
	list, err := os.ReadDir(tree)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range list {
		name := e.Name()
		if !e.IsDir() {
			name, _, _ = strings.Cut(name, ".")
		}
		if plainModule.MatchString(name) && !slices.Contains(names, name) && len(names) < most {
			names = append(names, name)
		}
	}
	return names
}

// explain appends the hint to the message and the traceback, as Python does with
// notes. If a package is missing, the outcome is NotInstalled.
func (j *job) explain(ctx context.Context, o ending) {
	e := o.Error
	if missing := j.unmet(e); missing != nil {
		o.Status, o.Error = runners.NotInstalled, missing.Outcome().Error
		o.Error.Traceback, o.Error.Line = e.Traceback, e.Line
		j.advise(ctx, o.Error)
		p := o.Error.Packages[0]
		slip := strings.HasPrefix(p.Reason, resolver.NoSuchPackage) || strings.HasPrefix(p.Name, j.suggestion) || strings.HasPrefix(j.suggestion, p.Name)
		if j.suggestion != "" && o.Error.Hint == "" && slip {
			o.Error.Hint = didYouMean(j.suggestion)
		}
		return
	}
	hint := j.hint(e)
	if hint == "" {
		return
	}
	e.Message = strings.TrimRight(e.Message, "\n") + "\n" + hint
	if e.Traceback != "" {
		e.Traceback = strings.TrimRight(e.Traceback, "\n") + "\n" + hint + "\n"
	}
}
