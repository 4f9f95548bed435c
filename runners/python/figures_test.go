package python

import (
	"strings"
	"testing"
)

// drawing has what matplotlib's figures are shown by, in its shape.
var drawing = map[string]string{
	"matplotlib/__init__.py": "rcParams = rcParamsDefault = rcParamsOrig = {}\ndef use(backend): rcParams['backend'] = backend\n",
	"matplotlib/_pylab_helpers.py": `
class Gcf:
    figs = {}
    get_active = classmethod(lambda cls: list(cls.figs.values())[-1])
    get_all_fig_managers = classmethod(lambda cls: list(cls.figs.values()))
    destroy = classmethod(lambda cls, m: cls.figs.pop(m.num))
`,
	"matplotlib/backend_bases.py": `
import contextlib, os, warnings
class FigureCanvasBase:
    idle = True
    @contextlib.contextmanager
    def _idle_draw_cntx(self):
        self.idle = False
        yield
        self.idle = True
    def draw_idle(self):
        self.figure.drawn += self.idle
    def print_figure(self, out, **options):
        self.figure.drawn += 1
        if 99 in self.figure.lines: warnings.warn("odd", skip_file_prefixes=(os.path.dirname(__file__),))
        with open(out, "w") if isinstance(out, str) else contextlib.nullcontext(out) as f:
            f.write(str(self.figure.lines) if isinstance(out, str) else b"\x89PNG\r\n\x1a\n" + str(self.figure.lines).encode())
class FigureManagerBase: pass
class _Backend: pass
`,
	"matplotlib/pyplot.py": `
import matplotlib
from matplotlib.backend_bases import *
from matplotlib.backend_bases import _Backend
from matplotlib._pylab_helpers import Gcf
class Figure:
    stale, drawn = True, 0
    def __init__(self): self.lines, self.canvas = [], FigureCanvasBase(); self.canvas.figure = self
    def get_axes(self): return self.lines
    def get_children(self): return [self]
    def plot(self, n): self.lines.append(n); self.stale = True
def switch_backend(backend): matplotlib.rcParams["backend"] = backend
def gcf():
    if not Gcf.figs:
        m = Gcf.figs[1] = FigureManagerBase(); m.num, m.canvas = 1, Figure().canvas
    return Gcf.get_active().canvas.figure
def gca(): return gcf()
def plot(n): gca().plot(n)
def savefig(path): gcf().canvas.print_figure(path); gcf().canvas.draw_idle()
def show(): _Backend.show()
`,
}

// TestFigures shows each figure once for each state of it that is to be seen.
func TestFigures(t *testing.T) {
	x := newIndex(t)
	x.add(pure("matplotlib", "1.0", drawing))
	r := x.newRunner(base{}, false, t.TempDir())
	for _, test := range []struct{ code, stdout, shown string }{
		{"for i in 1, 2: plt.plot(i); plt.show()", "", "1 2"},
		{"plt.plot(1); plt.show(); print(plt.gca().lines, plt.gcf() is plt.gca())", "[1] True\n", "1"},
		{"plt.plot(1); plt.show(); plt.gca().plot(2)", "", "1 1,2"},
		{"plt.plot(1); plt.show(); plt.savefig('a'); print(open('a').read(), plt.gcf().drawn)", "[1] 2\n", "1"},
		{"plt.plot(1); plt.savefig('a'); plt.show()", "", ""},
		{"plt.plot(1); plt.savefig('a.pdf'); plt.show()", "", "1"},
		{"plt.plot(1); plt.savefig(__import__('io').BytesIO()); plt.show()", "", "1"},
		{"plt.plot(1); plt.savefig('a.pdf')", "", ""},
		{"plt.plot(1); plt.savefig('a'); plt.plot(2)", "", "1,2"},
		{"plt.plot(1); plt.savefig('/tmp/a')", "", "1"},
		{"plt.gcf()\nplt.show()", "", ""},
		{"import warnings\nwith warnings.catch_warnings(record=True) as w:\n  plt.plot(99); plt.savefig('a'); plt.plot(1); plt.show()\nprint(len(w), *{x.filename == show.__code__.co_filename for x in w for show in [lambda: 0]})", "1 True\n", "99,1"},
		{"import matplotlib\nfor name in 'TkAgg', 'svg', 'qt5agg':\n  matplotlib.use(name); print(matplotlib.rcParams['backend'])", "agg\nsvg\nagg\n", ""},
		{"plt.switch_backend('MacOSX'); print(plt.matplotlib.rcParams['backend'])", "agg\n", ""},
	} {
		o := run(t, r, "import matplotlib.pyplot as plt\n"+test.code)
		var shown []string
		for _, d := range o.Displays {
			_, lines, _ := strings.Cut(string(d.Data), "[")
			shown = append(shown, strings.ReplaceAll(strings.TrimSuffix(lines, "]"), " ", ""))
		}
		if o.Error != nil || o.Stdout != test.stdout || strings.Join(shown, " ") != test.shown {
			t.Errorf("%s\nprinted %q, showed %q, %+v; want %q, %q", test.code, o.Stdout, shown, o.Error, test.stdout, test.shown)
		}
	}
}

// TestValuesOfText has last expressions whose richest form is text: it is the result.
func TestValuesOfText(t *testing.T) {
	r := newIndex(t).newRunner(base{}, false, t.TempDir())
	const class = "class A:\n  def __repr__(self): return 'x**2'\n  def _repr_latex_(self): return '$x^2$'\n"
	value(t, run(t, r, class+"print('a', end='')\nA()"), "x**2")
	value(t, run(t, r, "from IPython.display import Markdown\nMarkdown('**b**')"), "**b**")
	if o := run(t, r, class+"display(A()); print('b')"); o.Stdout != "x**2\nb\n" || o.Result != nil || len(o.Displays) > 0 {
		t.Errorf("display: %+v", o)
	}
}
