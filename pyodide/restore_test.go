package pyodide_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"coderunner/pyodide"
	"coderunner/pyodide/pyodidetest"
)

// worn is a package that has used, while it was imported, whatever keeps
// something between uses. numpy is a stand-in: it records what is asked of the
// generator, which is all that a restored interpreter does with the real one.
func worn() []pyodide.Mount {
	return []pyodide.Mount{{Dir: pyodide.SitePackages, Key: "worn 1", Tree: fstest.MapFS{
		"worn.py": {Data: []byte(`
import asyncio, gc, getpass, importlib, locale, logging, os, random, secrets, signal, socket, sys, tempfile, threading, time, uuid
import numpy.random
own = random.Random()
fixed = random.Random(42)
before = [random.random(), own.random(), fixed.random(), uuid.uuid1(), uuid.uuid4(), uuid.uuid7(), secrets.token_hex(), tempfile.mktemp()]
when = [time.time(), time.monotonic(), time.perf_counter(), time.process_time()]
importlib.invalidate_caches()
try:
    import later
except ImportError:
    pass
local = threading.local()
local.mark = 1
asyncio.run(asyncio.sleep(0))
`)},
		"numpy/__init__.py":        {},
		"numpy/random/__init__.py": {Data: []byte("seeded = []\ndef seed(*a):\n    seeded.append(a)\n")},
	}}}
}

// restored is what a program finds in its surroundings.
const restored = `
import asyncio, gc, importlib, json, locale, logging, os, random, secrets, signal, sys, tempfile, threading, time, uuid
worn = sys.modules.get("worn")
numpy = sys.modules.get("numpy.random")
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
def raises(f):
    try:
        return repr(f())
    except Exception as e:
        return type(e).__name__
async def loop_time():
    return asyncio.get_running_loop().time()
descriptors = [n for n in range(64) if is_open(n)]
u1 = uuid.uuid1()
import later
open("own.py", "w").write("x = 1")
importlib.invalidate_caches()
import own
umask = os.umask(0)
json.loads(json.dumps({
    "random": random.random(), "randbytes": random.randbytes(8).hex(), "sample": random.sample(range(1000), 3),
    "package's generator": worn and worn.own.random(), "package's fixed generator": worn and worn.fixed.random(),
    "numpy": numpy and len(numpy.seeded),
    "uuid1_node": u1.node, "uuid1_sequence": u1.clock_seq, "uuid1_time": u1.time, "uuid4": str(uuid.uuid4()),
    "uuid7": str(uuid.uuid7()), "secrets": secrets.token_hex(), "urandom": os.urandom(8).hex(), "SystemRandom": random.SystemRandom().random(),
    "tempfile": tempfile.mkstemp()[1], "tempdir": tempfile.gettempdir(),
    "time": time.time(), "time_ns": time.time_ns(), "monotonic": time.monotonic(), "perf_counter": time.perf_counter(),
    "process_time": time.process_time(), "loop": asyncio.run(loop_time()),
    "since import": worn and [now - then for now, then in zip([time.time(), time.monotonic(), time.perf_counter()], worn.when)],
    "log start": logging._startTime / 1e9,
    "environ": {k: os.environ[k] for k in ("HOME", "MARK")}, "getenv": os.getenv("MARK"), "environb": os.environb.get(b"MARK", b"").decode(),
    "argv": sys.argv, "isatty": [os.isatty(n) for n in (0, 1, 2)], "line buffering": sys.stdout.line_buffering,
    "stdin": input(), "descriptors": descriptors, "cwd": os.getcwd(), "listdir": sorted(os.listdir()), "umask": umask,
    "later": later.mark, "own": own.x, "path": sys.path[:2],
    "tzname": time.tzname, "timezone": time.timezone, "local": time.strftime("%Y-%m-%d %H %Z", time.localtime(1767225600)),
    "hash": hash("a"), "hash bytes": hash(b"xyz"), "set": list({"a", "b", "c", "d"}), "id": id(sys),
    "gc": [gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.garbage, gc.get_debug()],
    "threads": [threading.active_count(), threading.current_thread() is threading.main_thread(), threading.get_ident() == threading.main_thread().ident],
    "thread local": worn and worn.local.mark, "event loop": raises(asyncio.get_running_loop), "current loop": raises(asyncio.get_event_loop),
    "locale": [locale.getlocale(), locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding()],
    "signals": [str(signal.getsignal(n)) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGPIPE)], "alarm": signal.getitimer(signal.ITIMER_REAL),
    "excepthook": sys.excepthook is sys.__excepthook__, "recursion": sys.getrecursionlimit(), "trace": str(sys.gettrace()),
    "exc_info": str(sys.exc_info()), "last": hasattr(sys, "last_exc"), "warnings": len(__import__("warnings").filters), "pid": os.getpid(),
}))
`

// surroundings are those of one of two interpreters.
func surroundings(n int) pyodide.Options {
	zones := []*time.Location{time.FixedZone("AAA", 3600), time.FixedZone("BBB", -5*3600)}
	return pyodide.Options{
		Stdin:    strings.NewReader(fmt.Sprintf("input %d\n", n)),
		Env:      map[string]string{"MARK": fmt.Sprint(n)},
		Location: zones[n],
	}
}

// found is what one of two interpreters of a snapshot has come upon, between two
// moments.
type found struct {
	values        map[string]any
	before, after time.Time
}

func find(t *testing.T, from *pyodide.Snapshot, n int) found {
	t.Helper()
	f := found{before: time.Now()}
	o := surroundings(n)
	o.From = from
	in, err := pyodidetest.Runtime(t).New(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := in.WriteFile("later.py", fmt.Appendf(nil, "mark = %d", n)); err != nil {
		t.Fatal(err)
	}
	res, err := in.Run(context.Background(), pyodide.Program{Code: restored, Args: []string{fmt.Sprint("arg", n)}, ResultLimit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if res.Value == nil || json.Unmarshal(res.Value.JSON, &f.values) != nil {
		t.Fatalf("%+v %+v", res.Value, res.Exception)
	}
	f.after = time.Now()
	return f
}

// seconds is a value that is a number of seconds.
func (f found) seconds(t *testing.T, name string) float64 {
	v, ok := f.values[name].(float64)
	if !ok {
		t.Fatalf("%s is %v", name, f.values[name])
	}
	return v
}

// TestRestore compares two interpreters of the same snapshot: one that has only
// booted, and one whose package has left its traces. What they must not share
// differs; what a program was given is its own; everything else is as in an
// interpreter that was never put away.
func TestRestore(t *testing.T) {
	frozen, err := pyodidetest.Runtime(t).Snapshot(context.Background(), []string{"worn"}, worn())
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	for name, z := range map[string]*pyodide.Snapshot{"base": nil, "package": frozen} {
		a, b := find(t, z, 0), find(t, z, 1)
		t.Run(name, func(t *testing.T) {
			differ(t, a, b, z != nil)
			given(t, a, b)
			usual(t, a, b, z != nil)
			t.Run("clocks", func(t *testing.T) { clocks(t, a); clocks(t, b) })
		})
	}
}

// differ checks what two interpreters must not have in common.
func differ(t *testing.T, a, b found, worn bool) {
	names := strings.Split("random randbytes sample uuid1_node uuid1_sequence uuid1_time uuid4 uuid7 secrets urandom SystemRandom tempfile time", " ")
	if worn {
		names = append(names, "package's generator")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			v, w := a.values[name], b.values[name]
			if v == nil || cmp.Equal(v, w) {
				t.Errorf("both have %v", v)
			}
		})
	}
}

// given checks what each interpreter was handed.
func given(t *testing.T, a, b found) {
	for name, want := range map[string][2]any{
		"environ":  {map[string]any{"HOME": "/home/user", "MARK": "0"}, map[string]any{"HOME": "/home/user", "MARK": "1"}},
		"getenv":   {"0", "1"},
		"environb": {"0", "1"},
		"argv":     {[]any{"main.py", "arg0"}, []any{"main.py", "arg1"}},
		"stdin":    {"input 0", "input 1"},
		"later":    {0., 1.},
		"tzname":   {[]any{"AAA", "AAA"}, []any{"BBB", "BBB"}},
		"timezone": {-3600., 5 * 3600.},
		"local":    {"2026-01-01 01 AAA", "2025-12-31 19 BBB"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, [2]any{a.values[name], b.values[name]}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// usual checks what is the same everywhere. That the seed of str's hash is, and
// where objects lie, is our policy: see RATIONALE.md.
func usual(t *testing.T, a, b found, worn bool) {
	wanted := map[string]any{
		"isatty":         []any{false, false, false},
		"descriptors":    []any{0., 1., 2.},
		"cwd":            "/home/user",
		"listdir":        []any{"later.py", "own.py"},
		"umask":          float64(0o22),
		"own":            1.,
		"tempdir":        "/tmp",
		"path":           []any{"/home/user", "/lib/python314.zip"},
		"gc":             []any{true, []any{2000., 10., 0.}, []any{}, []any{}, 0.},
		"threads":        []any{1., true, true},
		"event loop":     "RuntimeError",
		"current loop":   "RuntimeError",
		"locale":         []any{[]any{"C", "UTF-8"}, "C.UTF-8;C;C;C;C;C", "UTF-8", "utf-8"},
		"signals":        []any{"<built-in function default_int_handler>", "0", "0", "4294967294"},
		"alarm":          []any{0., 0.},
		"line buffering": true,
		"excepthook":     true,
		"recursion":      1000.,
		"trace":          "None",
		"exc_info":       "(None, None, None)",
		"last":           false,
		"pid":            42.,
		// The same in both, whatever they are.
		"hash": a.values["hash"], "hash bytes": a.values["hash bytes"], "set": a.values["set"], "id": a.values["id"],
		"warnings": a.values["warnings"],
	}
	if worn {
		wanted["numpy"] = 1.
		wanted["thread local"] = 1.
		wanted["package's fixed generator"] = secondOf42
	}
	for name, want := range wanted {
		t.Run(name, func(t *testing.T) {
			if want == nil {
				t.Error("not found out")
			}
			for _, f := range []found{a, b} {
				if diff := cmp.Diff(want, f.values[name]); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// secondOf42 is the second number that Python draws after random.seed(42).
const secondOf42 = 0.025010755222666936

// clocks checks that an interpreter's clocks go on from where they were, and
// tell the time of day.
func clocks(t *testing.T, f found) {
	begin, end := float64(f.before.UnixMicro())/1e6-0.001, float64(f.after.UnixMicro())/1e6+0.001
	if now := f.seconds(t, "time"); now < begin || now > end {
		t.Errorf("the time is %f, not between %f and %f", now, begin, end)
	}
	if start := f.seconds(t, "log start"); start < begin || start > end {
		t.Errorf("logging began at %f, not between %f and %f", start, begin, end)
	}
	monotonic := f.seconds(t, "monotonic")
	for name, d := range map[string]float64{
		"perf_counter": f.seconds(t, "perf_counter") - monotonic, "asyncio": f.seconds(t, "loop") - monotonic,
		"process_time": f.seconds(t, "process_time"),
	} {
		if d < 0 || d > monotonic+end-begin {
			t.Errorf("%s is %f, at %f of the monotonic clock", name, d, monotonic)
		}
	}
	since, _ := f.values["since import"].([]any)
	for i, d := range since {
		if d, ok := d.(float64); !ok || d < 0 {
			t.Errorf("clock %d shows %v since the import", i, d)
		}
	}
}

// TestEnvironmentOfPackages has packages that look at the environment while
// they are imported, and that add to it.
// TestProcessorsOfPackages: a snapshot whose import asked for the number of processors is
// one for that number.
func TestProcessorsOfPackages(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	frozen, err := rt.Snapshot(context.Background(), []string{"probe"}, tree("import os; n = os.cpu_count()"))
	if err != nil {
		t.Fatal(err)
	}
	defer frozen.Close()
	if frozen.Asked(nil) {
		t.Error("the snapshot does not suit the machine that it was made on")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1))
	if !frozen.Asked(nil) {
		t.Error("the snapshot suits a machine with another number of processors")
	}
}

func TestEnvironmentOfPackages(t *testing.T) {
	rt := pyodidetest.Runtime(t)
	for body, want := range map[string][3]bool{ // asked for MARK, for OTHER, if there is nothing
		"import os; os.environ['SET'] = 'yes'":                       {false, false, false},
		"import os; os.environ['SET'] = os.getenv('MARK', 'yes')":    {true, false, false},
		"import os; os.environ['SET'] = 'yes'; all = {**os.environ}": {true, true, false},
	} {
		frozen, err := rt.Snapshot(context.Background(), []string{"probe"}, tree(body))
		if err != nil {
			t.Fatal(err)
		}
		got := [3]bool{frozen.Asked(map[string]string{"MARK": ""}), frozen.Asked(map[string]string{"OTHER": ""}), frozen.Asked(nil)}
		if got != want {
			t.Errorf("%s: asked %v, want %v", body, got, want)
		}
		res, _, _ := run(t, pyodide.Options{From: frozen, Env: map[string]string{"MARK": "1"}}, pyodide.Program{Code: "import os\nos.environ['SET'], os.environ['MARK'], type(os.environ._data)"})
		if res.Value == nil || res.Value.Repr != "('yes', '1', <class 'dict'>)" {
			t.Errorf("%s: %+v %+v", body, res.Value, res.Exception)
		}
		if err := frozen.Close(); err != nil {
			t.Error(err)
		}
	}
}
