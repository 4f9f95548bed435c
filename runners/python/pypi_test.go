package python

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"coderunner/cache"
	"coderunner/internal/fetch"
	"coderunner/internal/sample"
	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// registryRunner is a runner on the shared cache and the configured index. It
// skips the test when that cannot be reached, except where CI is set.
func registryRunner(t *testing.T) *Runner {
	t.Helper()
	c := pyodidetest.Cache(t)
	fetchTools(t, c)
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

// greenletProgram switches back and forth, ends greenlets in three ways and shares
// the caller's variables.
const greenletProgram = `import contextvars, greenlet
from greenlet import getcurrent
v = contextvars.ContextVar("v")
ended = []
def count(n):
    for i in range(n): getcurrent().parent.switch(i)
    return "end"
def fail(): raise ValueError("x")
def wait():
    v.set("shared")
    try: getcurrent().parent.switch()
    except greenlet.GreenletExit: ended.append("killed")
g = greenlet.greenlet(count)
got = [g.switch(2), g.switch(), g.switch()]
try: greenlet.greenlet(fail).switch()
except ValueError: ended.append("caught")
w = greenlet.greenlet(wait)
w.gr_context = getcurrent().gr_context
w.switch()
w.throw()
got, ended, g.dead and w.dead, v.get(None)
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

// orjsonProgram writes and reads what json does not, or does otherwise.
const orjsonProgram = `import dataclasses, datetime, orjson
@dataclasses.dataclass
class P: x: int; y: list
try: orjson.dumps({1: 2})
except TypeError as e: why = str(e)
(orjson.dumps({"a": P(1, [2.5, 1e-7, float("nan")]), "d": datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC)}), orjson.loads('{"b": "é"}'.encode()), why,
 orjson.dumps([1], option=orjson.OPT_INDENT_2), orjson.dumps({"f": orjson.Fragment(b"[1]")}))
`

// hypothesisProgram has a failing test and one of text, and compares what is known of a
// codec with what the package finds out by trying some characters.
const hypothesisProgram = `from types import SimpleNamespace
from hypothesis import given, strategies as st
from hypothesis.internal import charmap
@given(st.text())
def test_text(s): assert s.encode().decode() == s
test_text()
@given(st.lists(st.integers()))
def test_unique(xs): assert len(set(xs)) == len(xs)
try: test_unique()
except AssertionError as e: why = "".join(e.__notes__).split("\n")[1].strip(" ,")
known = charmap.intervals_from_codec
tried = [c.cell_contents for c in known.__wrapped__.__closure__ if hasattr(c.cell_contents, "__wrapped__")][0]
charmap.sys = SimpleNamespace(maxunicode=0xE100)
why, *([[(lo, min(hi, 0xE100)) for lo, hi in i.intervals] for i in known(c)] == [list(i.intervals) for i in tried(c)] for c in ("utf-8", "ascii"))
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
		{"psutil", "import psutil, subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'input()'], stdin=-1)\np, c = psutil.Process(), psutil.Process().children()[0]\nbefore = p.cpu_times().user\nwhile p.cpu_times().user == before: pass\nc.terminate()\npsutil.virtual_memory().total >> 20, p.status(), c.name(), c.wait(60), psutil.pids(), psutil.disk_usage('/').total >> 20, psutil.users(), list(psutil.net_if_addrs()), psutil.cpu_percent() <= 100, len(p.as_dict()) > 20", nil, "(512, 'running', 'python3', <Negsignal.SIGTERM: -15>, [42], 512, [], ['lo'], True, True)"},
		{"levenshtein", "import Levenshtein as L\na, b = ['newspaper', 'litter bin', 'tinny', 'antelope'], ['caribou', 'sausage', 'gorn', 'woody']\nL.distance('kitten', 'sitting'), L.ratio('hello', 'hallo'), round(L.seqratio(a, b), 6), round(L.setratio(a, b), 6), L.setmedian(['abc', 'abd', 'ab']), L.median(['xbc', 'abx', 'axc'])", nil, "(3, 0.8, 0.215179, 0.281845, 'abc', 'abc')"},
		{"zstandard", "import io, zstandard as z\nd = b'abc' * 999\nc = z.ZstdCompressor(level=5, threads=-1)\nb, w = io.BytesIO(), io.BytesIO()\nwith c.stream_writer(b, closefd=False) as f:\n  f.write(d[:9]); f.flush(); f.write(d[9:])\no = z.ZstdDecompressor().decompressobj()\nwith z.open('f.zst', 'wt') as f: f.write('text')\nc.copy_stream(io.BytesIO(d), w)\nz.decompress(c.compress(d)) == o.decompress(b.getvalue()) == z.ZstdDecompressor().stream_reader(w.getvalue()).read() == d, o.eof, z.open('f.zst', 'rt').read()", nil, "(True, True, 'text')"},
		{"coverage", "import coverage, io\nc = coverage.Coverage()\nc.start()\nimport argparse\ndef f(): return argparse.ArgumentParser('x')\nf()\nc.stop()\nc.save(); list(c.get_data().measured_files())", nil, "['/home/user/main.py']"},
		{"hypothesis", hypothesisProgram, nil, "('xs=[0, 0]', True, True)"},
		{"inflect", "import inflect\np = inflect.engine()\ntry:\n  p.plural(5)\nexcept Exception as e:\n  x = type(e).__name__\np.plural('mouse'), x", nil, "('mice', 'TypeCheckError')"},
		{"blake3", "from blake3 import blake3\nd = bytes(i % 251 for i in range(5000))\nblake3(b'').hexdigest()[:16], blake3(d).hexdigest()[:16], blake3(d, key=d[:32]).update(d).hexdigest(4, seek=61), blake3(d, derive_key_context='x').hexdigest()[:16]", nil, "('af1349b9f5f9a1a6', 'ee78d92070de3df1', '7a4e6c63', 'c8dd70a0f8c3d210')"},
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
		{"greenlet", greenletProgram, nil, "([0, 1, 'end'], ['caught', 'killed'], True, 'shared')"},
		{"trio", trioProgram, nil, "(['a', 'b'], b'hi\\n', True)"},
		{"astroid", "import astroid\n[astroid.MANAGER.ast_from_module_name(n)[f].name for n, f in (('os', 'getcwd'), ('json', 'loads'))]", nil, "['getcwd', 'loads']"},
		{"bcrypt", "import bcrypt\nbcrypt.hashpw(b'Kk4DQuMMfZL9o', b'$2b$04$cVWp4XaNU8a4v1uMRum2SO'), bcrypt.checkpw(b'x', bcrypt.hashpw(b'x', bcrypt.gensalt(4)))", nil, "(b'$2b$04$cVWp4XaNU8a4v1uMRum2SO026BWLIoQMD/TXg5uZV.0P.uO8m3YEm', True)"},
		{"orjson", orjsonProgram, nil, `(b'{"a":{"x":1,"y":[2.5,1e-7,null]},"d":"2024-01-02T00:00:00+00:00"}', {'b': 'é'}, 'Dict key must be str', b'[\n  1\n]', b'{"f":[1]}')`},
		{"ujson", "import ujson\nujson.dumps({'a': [1, 'x/y']}), ujson.loads('[1.5]')", nil, `('{"a":[1,"x\\/y"]}', [1.5])`},
		{"rpds", "import rpds\nm = rpds.HashTrieMap(a=1)\nm.insert('b', 2), m, rpds.Queue([1]).enqueue(2), list(rpds.Stack([1, 2]).push(3)), rpds.HashTrieSet([1]).discard(2)", []string{"rpds-py"}, "(HashTrieMap({'a': 1, 'b': 2}), HashTrieMap({'a': 1}), Queue([1, 2]), [3, 2, 1], HashTrieSet({1}))"},
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
		r.fetch = fetch.New(c, fetch.Options{Offline: offline, HTTP: &http.Client{Transport: counted}})
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
