package python

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"coderunner/internal/sample"
	"coderunner/runners"
	"coderunner/runners/python/wheel/wheeltest"
)

// backend is a build backend that comes with its sdist. The wheel's module has
// what the backend saw; an attempt at the beginning may do worse.
const backend = `
import base64, hashlib, os, zipfile
def get_requires_for_build_wheel(settings=None):
    return REQUIRES
def build_wheel(directory, settings=None, metadata=None):
    seen = {}
    ATTEMPT
    name = NAME
    info = "-".join(name.split("-")[:2]) + ".dist-info/"
    project, version = name.split("-")[:2]
    files = {
        project + ".py": f"seen = {seen!r}\n",
        info + "METADATA": f"Metadata-Version: 2.1\nName: {project}\nVersion: {version}\nRequires-Dist: alpha\n",
        info + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        f"{n},sha256={base64.urlsafe_b64encode(hashlib.sha256(t.encode()).digest()).rstrip(b'=').decode()},{len(t)}\n" for n, t in files.items()
    )
    with zipfile.ZipFile(os.path.join(directory, name), "w") as z:
        for n, t in {**files, info + "RECORD": record + info + "RECORD,,\n"}.items():
            z.writestr(n, t)
    return name
`

// sdist publishes an sdist whose backend comes with it.
func (x *index) sdist(name, version, attempt string, requires ...string) []byte {
	wheel := fmt.Sprintf("%s-%s-py3-none-any.whl", name, version)
	text := strings.NewReplacer("NAME", fmt.Sprintf("%q", wheel), "ATTEMPT", attempt, "REQUIRES", "['"+strings.Join(requires, "','")+"'] if "+fmt.Sprint(len(requires))+" else []").Replace(backend)
	return x.archive(name, version, map[string]string{
		"backend.py":     text,
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
	})
}

// archive publishes an sdist of files.
func (x *index) archive(name, version string, files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for path, text := range files {
		h := &tar.Header{Name: name + "-" + version + "/" + path, Mode: 0o644, Size: int64(len(text))}
		if err := w.WriteHeader(h); err != nil {
			x.t.Fatal(err)
		}
		_, _ = w.Write([]byte(text))
	}
	_, _ = w.Close(), z.Close()
	x.addBytes(name+"-"+version+".tar.gz", b.Bytes())
	return b.Bytes()
}

// A version that has only an sdist is built once, and pinned by the sdist.
func TestBuild(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.module("tool", "1.0")
	body := x.sdist("delta", "1.0", "import tool; seen = tool.version", "tool")
	dir := t.TempDir()
	b := newBase(t, nil)
	r := x.newRunner(b, false, dir)
	const code = "import delta, alpha\ndelta.seen"
	o := run(t, r, code)
	value(t, o, "'1.0'")
	if len(o.Packages) != 2 || o.Packages[1].SHA256 != wheeltest.SHA256(body) {
		t.Errorf("%+v", o.Packages)
	}
	locked, err := r.Lock(t.Context(), runners.Request{Language: runners.Python, Code: code})
	if err != nil || !strings.Contains(locked.Text, wheeltest.SHA256(body)) {
		t.Fatalf("%+v, %v", locked, err)
	}
	x.sdist("two_words", "1.0", "seen = 2")
	value(t, run(t, r, "import two_words\ntwo_words.seen"), "2")
	// Elsewhere, nothing is there yet.
	there := x.newRunner(base{}, false, t.TempDir())
	o, err = there.Run(t.Context(), runners.Request{Language: runners.Python, Code: locked.Text, Locked: true})
	if err != nil {
		t.Fatal(err)
	}
	value(t, o, "'1.0'")
	// What was built once is there without the index.
	x.asked()
	value(t, run(t, x.newRunner(b, true, dir), code), "'1.0'")
	if asked := x.asked(); asked != nil {
		t.Errorf("the index was asked for %v", asked)
	}
}

// A build has nothing of the host, and what it makes is checked.
func TestBuildIsConfined(t *testing.T) {
	x := newIndex(t)
	x.module("alpha", "1.0")
	x.sdist("look", "1.0", `seen = [sorted(os.environ), os.path.exists("/etc"), os.path.exists("/root")]
    import socket
    try: socket.create_connection(("192.0.2.1", 80))
    except OSError as e: seen.append("network" in str(e))`)
	for name, attempt := range map[string]string{
		"other":    `return [open(os.path.join(directory, n), "w") for n in ["alpha-1.0-py3-none-any.whl"]]`,
		"nothing":  `return "x"`,
		"exits":    `os._exit(0)`,
		"compiles": `raise RuntimeError("command 'cc' failed: No such file or directory; cannot compile")`,
		"fails":    `raise SystemExit("Python 2 is needed\n for this")`,
		"memory":   `x = [bytes(1 << 24) for _ in range(1000)]`,
		"broken":   `return [open(os.path.join(directory, n), "w").write("PK") for n in ["broken-1.0-py3-none-any.whl"]]`,
		"again":    "import _coderunner\n    for _ in range(9): _coderunner.call('build.require', [])",
		"greedy":   "import _coderunner\n    _coderunner.call('build.require', ['alpha'] * 51)",
		"calls":    "import _coderunner\n    _coderunner.call('micropip.install', {'requirements': ['alpha'], 'deps': True})",
	} {
		x.sdist(name, "1.0", attempt)
	}
	x.sdist("lacks", "1.0", "pass", "nowhere")
	x.archive("rust", "1.0", map[string]string{"pyproject.toml": "[build-system]\nrequires = ['maturin']\nbuild-backend = 'maturin'\n"})
	x.archive("empty", "1.0", map[string]string{"README": ""})
	x.addBytes("junk-1.0.tar.gz", []byte("junk"))
	x.addBytes("compiled-2.0-cp314-cp314-win_amd64.whl", []byte("x"))
	x.sdist("compiled", "1.0", "")
	x.module("fallback", "1.0")
	x.sdist("fallback", "2.0", "raise OSError('x')")
	r := x.newRunner(base{}, false, t.TempDir())
	value(t, run(t, r, "import look\nlook.seen[1:]"), "[False, False, True]")
	value(t, run(t, r, "import fallback\nfallback.version"), "'1.0'")
	reasons := map[string]string{
		"other":    `its build made "alpha-1.0`,
		"nothing":  "its build made 0 files",
		"exits":    "its build made 0 files",
		"compiles": "wants a compiler",
		"fails":    "SystemExit: Python 2 is needed for this",
		"memory":   "its build ended badly",
		"broken":   "too short to be a zip file",
		"again":    "again and again",
		"greedy":   "51 requirements",
		"calls":    "micropip.install",
		"lacks":    "what its build needs cannot be installed: nowhere: there is no package of this name",
		"rust":     "its build (maturin) wants a compiler",
		"empty":    "neither pyproject.toml nor setup.py",
		"junk":     "its build fails: ReadError",
		"compiled": "only wheels for win",
	}
	for _, name := range sample.Of(t, 3, slices.Sorted(maps.Keys(reasons))) {
		refused(t, run(t, r, "1", name), name, reasons[name])
	}
	refused(t, run(t, r, "1", "compiled==1.0"), "compiled==1.0", "not built: other versions have compiled wheels")
}

// Projects that have nothing but sdists, of every backend in use.
func TestRegistryBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("asks the index")
	}
	r := registryRunner(t)
	for _, test := range []struct{ name, code, want string }{
		{"wordninja", "import wordninja\nwordninja.split('derekanderson')", "['derek', 'anderson']"},
		{"docopt", "import docopt\ndocopt.docopt('Usage: x [--a=<n>]', ['--a=1'])", "{'--a': '1'}"},
		{"wikipedia", "import wikipedia\nwikipedia.summary.__name__", "'summary'"},
		{"pyperclip", "import pyperclip\npyperclip.PyperclipException.__name__", "'PyperclipException'"},
		{"crcmod", "import crcmod\nhex(crcmod.predefined.mkCrcFun('crc-32')(b'123456789'))", "'0xcbf43926'"}, // its extension is optional
		{"easydict", "from easydict import EasyDict\nEasyDict({'a': {'b': 1}}).a.b", "1"},
		{"srt", "import srt, datetime\nlist(srt.parse('1\\n00:00:01,000 --> 00:00:02,000\\nhi\\n'))[0].content", "'hi'"},
		{"docx2txt", "import docx2txt\ndocx2txt.process.__name__", "'process'"},
		{"odfpy", "from odf.opendocument import OpenDocumentText\nOpenDocumentText().mimetype", "'application/vnd.oasis.opendocument.text'"},
		{"langdetect", "import langdetect\nlangdetect.DetectorFactory.seed = 0\nlangdetect.detect('War doesn\\'t show who\\'s right, just who\\'s left.')", "'en'"},
		{"untangle", "import untangle\nuntangle.parse('<a><b c=\"1\"/></a>').a.b['c']", "'1'"},
		{"sgmllib3k", "import sgmllib\nsgmllib.SGMLParser.__name__", "'SGMLParser'"},
	} {
		t.Run(test.name, func(t *testing.T) { value(t, run(t, r, test.code, test.name), test.want) })
	}
}
