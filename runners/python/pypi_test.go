package python

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/sample"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
	"coderunner/runners/python/requirement"
	"coderunner/runners/python/standins"
)

// registryRunner is a runner on the shared cache and the configured index. It
// skips the test when that cannot be reached, except where CI is set.
func registryRunner(t *testing.T) *Runner {
	t.Helper()
	c := pyodidetest.Cache(t)
	r, err := New(registryConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func registryConfig(c *cache.Cache) Config {
	return Config{
		Cache: c, Index: os.Getenv("PIP_INDEX_URL"), PackageBase: os.Getenv("PYODIDE_PACKAGE_BASE_URL"),
		NPMRegistry: os.Getenv("NPM_CONFIG_REGISTRY"),
	}
}

// pydanticProgram uses models, their schema and an error with five parts.
const pydanticProgram = `from datetime import date
from pydantic import BaseModel, ValidationError
class M(BaseModel):
    a: int
    b: str
    c: float
    d: list[int]
    e: date
try:
    M(a="x", b=1, c="y", d=["z"], e="?")
except ValidationError as e:
    n = e.error_count()
n, list(M.model_json_schema()["properties"]), M.model_validate_json('{"a": 1, "b": "x", "c": 2.5, "d": [1], "e": "2026-01-03"}')
`

// trioProgram waits for a socket, a process and a deadline.
const trioProgram = `import subprocess, trio
async def main():
    a, b = trio.socket.socketpair()
    got = []
    async def take():
        while data := await b.recv(1): got.append(data.decode())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(take)
        for data in b"a", b"b": await a.send(data); await trio.sleep(0.01)
        a.close()
    done = await trio.run_process(["echo", "hi"], capture_stdout=True)
    with trio.move_on_after(0.01) as scope: await trio.sleep(60)
    return got, done.stdout, scope.cancelled_caught
trio.run(main)
`

// hypothesisProgram has a failing test.
const hypothesisProgram = `from hypothesis import given, strategies as st
@given(st.lists(st.integers()))
def test_unique(xs): assert len(set(xs)) == len(xs)
try: test_unique()
except AssertionError as e: why = "".join(e.__notes__).split("\n")[1].strip(" ,")
why
`

// Packages as the index has them.
func TestRegistryPackages(t *testing.T) {
	r := registryRunner(t)
	for _, test := range sample.Of(t, 4, []struct {
		name, code string
		packages   []string
		want       string
	}{
		{"six", "import six; six.ensure_str(b'x')", nil, "'x'"},
		{"attrs", "import attr\n@attr.s(auto_attribs=True)\nclass P:\n  x: int = 3\nP()", nil, "P(x=3)"},
		{"rich's threads", "import io\nfrom rich.console import Console\nfrom rich.progress import track\nf = io.StringIO()\nlist(track(range(3), console=Console(file=f, width=40)))\n'100%' in f.getvalue()", nil, "True"},
		{"dask's threads", "import dask\ndask.compute(*(dask.delayed(abs)(-i) for i in range(3)), scheduler='threads')", nil, "(0, 1, 2)"},
		{"invoke's commands", "import invoke\ninvoke.run('echo a | tr a b; exit 3', hide=True, warn=True)", nil, "<Result cmd='echo a | tr a b; exit 3' exited=3>"},
		{"pexpect without a terminal", "import pexpect\nfrom pexpect.popen_spawn import PopenSpawn\ntry:\n  pexpect.spawn('cat')\nexcept OSError as e:\n  x = e.strerror\nc = PopenSpawn('cat')\nc.sendline('a')\nc.expect('a'), x", nil, "(0, 'there are no terminals here: start a program with subprocess.Popen, and talk to it by pipes')"},
		{"coverage", "import coverage, io\nc = coverage.Coverage()\nc.start()\nimport argparse\ndef f(): return argparse.ArgumentParser('x')\nf()\nc.stop()\nc.save(); list(c.get_data().measured_files())", nil, "['/home/user/main.py']"},
		{"hypothesis", hypothesisProgram, nil, "'xs=[0, 0]'"},
		{"inflect", "import inflect\np = inflect.engine()\ntry:\n  p.plural(5)\nexcept Exception as e:\n  x = type(e).__name__\np.plural('mouse'), x", nil, "('mice', 'TypeCheckError')"},
		{"rich", "import io\nfrom rich.console import Console\nfrom rich.table import Table\nt = Table(title='T'); t.add_column('name'); t.add_row('ada')\nc = Console(file=io.StringIO(), width=40); c.print(t)\n'ada' in c.file.getvalue()", nil, "True"},
		{"networkx", "import networkx as nx\nnx.shortest_path(nx.path_graph(5), 0, 4)", nil, "[0, 1, 2, 3, 4]"},
		{"sympy", "from sympy import symbols, integrate\nx = symbols('x')\nstr(integrate(x**2, x))", nil, "'x**3/3'"},
		{"beautifulsoup4", "from bs4 import BeautifulSoup\nBeautifulSoup('<p>a<b>c</b></p>', 'html.parser').b.text", nil, "'c'"},
		{"python-dateutil", "from dateutil.parser import parse\nparse('3 Jan 2026').isoformat()", nil, "'2026-01-03T00:00:00'"},
		{"jinja2", "from jinja2 import Template\nTemplate('{{ a|upper }} {{ b }}', autoescape=True).render(a='x', b='<')", nil, "'X &lt;'"},
		{"pyyaml", "import yaml\nyaml.safe_load('a: [1, 2]')", nil, "{'a': [1, 2]}"},
		{"requests", "import requests\ntry:\n  requests.get('https://index.invalid/')\nexcept requests.ConnectionError as e:\n  x = 'network access to index.invalid refused' in str(e)\nx", nil, "True"},
		{"extra", "import tabulate, wcwidth\ntabulate.WIDE_CHARS_MODE", []string{"tabulate[widechars]"}, "True"},
		{"range", "import six; six.__version__", []string{"six>=1.15,<1.16"}, "'1.15.0'"},
		{"marker", "import six; six.__version__", []string{"six==1.16.0; sys_platform == 'emscripten'", "colorama; sys_platform == 'win32'"}, "'1.16.0'"},
		{"msgpack", "import msgpack\nmsgpack.packb([1]), msgpack.Packer.__module__", nil, "(b'\\x91\\x01', 'msgpack._cmsgpack')"},
		{"simplejson", "import simplejson.encoder as e\ne.c_make_encoder.__module__", nil, "'simplejson._speedups'"},
		{"charset-normalizer", "import charset_normalizer.md as md, charset_normalizer as c\nmd.__file__.endswith('.so'), c.from_bytes('Всеки човек има право на образование.'.encode('cp1251')).best().encoding", nil, "(True, 'cp1251')"},
		{"jiter", "import jiter\njiter.from_json(b'{\"a\":[1,2,\"x', partial_mode=True)", nil, "{'a': [1, 2]}"},
		{"pydantic", pydanticProgram, nil, "(5, ['a', 'b', 'c', 'd', 'e'], M(a=1, b='x', c=2.5, d=[1], e=datetime.date(2026, 1, 3)))"},
		{"msgspec", "import msgspec\nclass U(msgspec.Struct):\n  n: int\nmsgspec.json.decode(b'{\"n\":3}', type=U)", nil, "U(n=3)"},
		{"uuid-utils", "import uuid_utils\nuuid_utils.uuid7().version", nil, "7"},
		{"chonkie-core", "import chonkie_core\nchonkie_core.Chunker.__name__", []string{"chonkie-core"}, "'Chunker'"},
		{"ctypes", "import ctypes\nf = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.POINTER(ctypes.c_int)] * 2)\na = (ctypes.c_int * 4)(5, 3, 9, 1)\nctypes.CDLL(None).qsort(a, 4, 4, f(lambda x, y: x[0] - y[0]))\nlist(a)", nil, "[1, 3, 5, 9]"},
		{"trio", trioProgram, nil, "(['a', 'b'], b'hi\\n', True)"},
		{"astroid", "import astroid\n[astroid.MANAGER.ast_from_module_name(n)[f].name for n, f in (('os', 'getcwd'), ('json', 'loads'))]", nil, "['getcwd', 'loads']"},
		{"micropip", "import micropip\nawait micropip.install('six==1.16.0')\nimport six\nsix.__version__", nil, "'1.16.0'"},
	}) {
		t.Run(test.name, func(t *testing.T) {
			o := run(t, r, test.code, test.packages...)
			value(t, o, test.want)
			for _, p := range o.Packages {
				if p.Version == "" || len(p.SHA256) != 64 || p.Source != "pypi" && p.Source != "pyodide" {
					t.Errorf("package %+v", p)
				}
			}
		})
	}
}

// Each stand-in does what its project does, in the index's newest version. One whose
// project has a wheel for this runtime is needed no more.
func TestStandIns(t *testing.T) {
	c := pyodidetest.Cache(t)
	cfg := registryConfig(c)
	cfg.PackageBase = "http://127.0.0.1:1/" // Pyodide's distribution has some of them
	r, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, project := range slices.Sorted(maps.Keys(standins.Known())) {
		about := standins.Known()[project]
		t.Run(project, func(t *testing.T) {
			code, err := os.ReadFile(filepath.Join("standins", project, "test.py"))
			if err != nil {
				t.Fatal(err)
			}
			o := run(t, r, string(code), project)
			value(t, o, about.Result)
			tried, _ := requirement.Parse(project + about.Versions)
			for _, p := range o.Packages {
				if p.Name == project && (p.Adapted != about.Compiled || !tried.Allows(p.Version)) {
					t.Errorf("%+v; the stand-in was tried with %s", p, about.Versions)
				}
			}
		})
	}
}

func TestRegistryRefuses(t *testing.T) {
	r := registryRunner(t)
	for _, test := range []struct {
		packages []string
		name     string
		reason   string
	}{
		{[]string{"coderunner-no-such-package-zq"}, "coderunner-no-such-package-zq", "no package of this name"},
		{[]string{"six>=99"}, "six>=99", "no version is >=99"},
		{[]string{"uwsgi"}, "uwsgi", "sdist"},
		{[]string{"tensorflow"}, "tensorflow", "manylinux"},
		{[]string{"requests==2.31.0", "idna==2.2"}, "idna==2.2", "conflict"},
	} {
		t.Run(test.name, func(t *testing.T) {
			refused(t, run(t, r, "1", test.packages...), test.name, test.reason)
		})
	}
}

// counter counts requests on their way.
type counter struct{ n atomic.Int64 }

func (c *counter) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// What was prepared once needs no network, in another process or without one.
func TestRegistryOnce(t *testing.T) {
	registryRunner(t) // skips
	const code = "import bs4, dateutil, jinja2, six\nsix.__version__ > '1'"
	counted := &counter{}
	for i, offline := range []bool{false, false, true} {
		c, err := cache.Open(pyodidetest.Cache(t).Root())
		if err != nil {
			t.Fatal(err)
		}
		cfg := registryConfig(c)
		cfg.Offline = offline
		r, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		r.fetch = fetch.New(c, fetch.Options{Offline: offline, Transport: counted})
		o, err := r.Run(context.Background(), runners.Request{Language: runners.Python, Code: code})
		if err != nil {
			t.Fatal(err)
		}
		value(t, o, "True")
		if n := counted.n.Swap(0); i > 0 && n > 0 {
			t.Errorf("run %d made %d requests", i+1, n)
		}
		for _, p := range o.Packages {
			if i > 0 && !p.Cached {
				t.Errorf("run %d fetched %s", i+1, p.Name)
			}
		}
		if err := errors.Join(r.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	}
}
