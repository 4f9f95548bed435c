package python

import (
	"cmp"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/pyodide/pyodidetest"
	"coderunner/runners"
)

// scienceWheels returns a directory with an index of wheels of NumPy, pandas,
// matplotlib, Pillow and lxml in simple/, which no public index has for this ABI: the
// one that CODERUNNER_SCIENCE names, or shared/science beside the repository; "" if
// there is none.
func scienceWheels(t *testing.T) string {
	named := os.Getenv("CODERUNNER_SCIENCE")
	dir := cmp.Or(named, filepath.Join("..", "..", "..", "shared", "science"))
	if _, err := os.Stat(filepath.Join(dir, "simple", "numpy")); err == nil {
		return dir
	} else if named != "" {
		t.Fatal(err)
	}
	return ""
}

// scienceRunner returns a runner that has only the wheels of a directory.
func scienceRunner(t *testing.T, dir string) *Runner {
	index := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(index.Close)
	config := registryConfig(pyodidetest.Cache(t))
	config.Index, config.PackageBase = index.URL+"/simple/", "http://127.0.0.1:1/"
	r, err := New(config)
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

// TestIntegers has the program's own integers in NumPy, which have 64 bits, beside those
// of libraries. NumPy is a wheel of scienceWheels, else that of Pyodide's server; where
// neither can be had it skips, except where CI is set.
func TestIntegers(t *testing.T) {
	var r *Runner
	if dir := scienceWheels(t); dir != "" {
		r = scienceRunner(t, dir)
	} else {
		r = registryRunner(t)
		if o := run(t, r, "import numpy"); o.Status == runners.NotInstalled {
			if os.Getenv("CI") == "" {
				t.Skipf("%+v", o.Error)
			}
			t.Fatalf("%+v", o.Error)
		}
	}
	value(t, run(t, r, `import numpy as np
long, kinds = np.array([2**31 - 1, 5]), lambda *of: {str(x.dtype) for x in of}
assert kinds(long, np.arange(5), np.zeros(2, int), np.ones(2, dtype="int"), np.full((2, 2), 255), np.asarray([[1], [2]]), np.random.randint(9, size=3), np.eye(2).astype(int)) == {"int64"}
assert (long * 2).tolist() == [2**32 - 2, 10] and (np.arange(10) ** 10)[-1] == 9**10 and long @ long == (2**31 - 1) ** 2 + 25 and np.cumprod(np.arange(1, 21))[-1] == 2432902008176640000 and (2 ** np.arange(62))[61] == 2**61
assert (long * 1103515245 % 2**31).tolist() == [1043968403, 1222608929] and np.array([3e9]).astype(int)[0] == 3 * 10**9 and np.loadtxt(["3000000000"], dtype=int) == 3 * 10**9
primes = np.nonzero(np.arange(70000) > 65535)[0]
assert primes[0] ** 2 == 2**32 and kinds(primes, np.where([True])[0], np.where([True], 1, 0), np.argsort([2, 1]), *np.unique([1, 1], return_counts=True), np.random.choice([5, 6], 3)) == {"int64"}
assert kinds(np.where([True], np.int32(1), np.int32(0)), np.random.choice(np.array([1, 2], np.int32), 2), np.unique(np.array([1], np.int32))) == {"int32"}
# What says otherwise, and what is no plain integer, stays what it is.
narrow = np.array([1, 2], dtype=np.int32)
assert kinds(narrow, np.array(narrow), np.arange(3, dtype="i4"), np.array([narrow, narrow]), np.full(2, np.int32(1)), narrow * 2) == {"int32"} and kinds(np.array([True]), np.zeros(2, bool)) == {"bool"}
assert kinds(np.array([1, 2.5]), np.arange(3.0), np.zeros(2), np.full(2, 1.5)) == {"float64"} and kinds(np.array([]), np.array([[]])) == {"float64"} and np.array(["a"]).dtype.kind == "U"
assert repr(np.arange(3)) == repr(np.random.default_rng(0).integers(0, 1, 3) + [0, 1, 2]) == "array([0, 1, 2])" and type(np.random.randint(5)) is int and np.random.randint([1, 1], [2, 2]).tolist() == [1, 1]
i, floats = np.array([0, 2, 1]), np.arange(6.0)
floats.put(i, 9); np.put(floats, i[1:], [7, 8])
assert floats.tolist() == [9, 8, 7, 3, 4, 5] and np.choose(i, [i, i + 3, i + 6]).tolist() == i.choose([i, i + 3, i + 6]).tolist() == [0, 8, 4] and floats[:3].repeat(i).tolist() == [8, 8, 7] and np.add.reduceat(floats, i).tolist() == [17, 7, 27]
assert np.random.binomial(np.array([3, 5]), 1).tolist() == [3, 5] and np.int_(2**40) == np.where([True], 2**40, 0)[0] == 2**40
table = np.zeros(2, dtype=[("a", int), ("b", "i4"), ("c", float, (2,))])
assert [table.dtype[n].str for n in "ab"] == ["<i8", "<i4"] and table.dtype["c"].shape == (2,) and np.genfromtxt(["n 3000000000"[2:], "5"], dtype=None)[1] * 2**31 == 5 * 2**31
assert kinds(*np.unravel_index(floats.argmin(), (2, 3)), floats.argmax(), floats.argsort(), *np.triu_indices(3), np.mgrid[0:3, 0:3], *np.ogrid[0:3, 0:2], np.argpartition(floats, 2)) == {"int64"}
assert np.repeat([1.5, 2], long // 2**30).tolist() == [1.5] and np.zeros(long[1:]).shape == (5,) and np.bincount(np.array([1, 1])).tolist() == [0, 2]
np.random.seed(7)
np.random.randint(0, 100, 5).tolist()`), "[47, 68, 25, 67, 83]")
}

// TestScience runs NumPy, pandas, matplotlib, Pillow and lxml as programs use them,
// with the wheels that CODERUNNER_SCIENCE names: compiling them takes minutes.
func TestScience(t *testing.T) {
	if os.Getenv("CODERUNNER_SCIENCE") == "" {
		t.Skip("CODERUNNER_SCIENCE names no directory with wheels of NumPy, pandas, matplotlib, Pillow and lxml")
	}
	r := scienceRunner(t, scienceWheels(t))

	t.Run("show", func(t *testing.T) {
		o := run(t, r, "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()\nplt.get_backend().lower()")
		if value(t, o, "'agg'"); len(o.Displays) != 1 {
			t.Errorf("%d displays, want the figure", len(o.Displays))
		}
	})
	t.Run("formats", func(t *testing.T) {
		for _, code := range []string{
			"import matplotlib.pyplot as plt\nplt.savefig('a.webp')",
			"from PIL import Image\nImage.new('L', (1, 1)).save('a.webp')",
			"from PIL import Image\nImage.new('L', (1, 1)).save('a.jp2')",
		} {
			if o := run(t, r, code); o.Error == nil || !strings.Contains(o.Error.Message, "use PNG, JPEG,") {
				t.Errorf("%s\n%+v", code, o.Error)
			}
		}
	})
	t.Run("directory", func(t *testing.T) {
		value(t, run(t, r, "import matplotlib.pyplot, os\nos.listdir()"), "['main.py']")
	})
	t.Run("memory", func(t *testing.T) {
		o := run(t, r, "import numpy as np\nnp.zeros((1 << 14, 1 << 13))")
		if o.Status != runners.OutOfMemory || !strings.Contains(o.Error.Message, "more than its limit") {
			t.Errorf("%s: %+v, want out_of_memory", o.Status, o.Error)
		}
	})
	t.Run("shared memory", func(t *testing.T) {
		value(t, run(t, r, `x = None
import numpy as np
from multiprocessing import Process, shared_memory
def square(name, part):
    m = shared_memory.SharedMemory(name=name)
    a = np.ndarray(1000, np.int64, buffer=m.buf)
    a[part] **= 2
    del a
    m.close()
if __name__ == "__main__":
    m = shared_memory.SharedMemory(create=True, size=8000)
    a = np.ndarray(1000, np.int64, buffer=m.buf)
    a[:] = np.arange(1000)
    ps = [Process(target=square, args=(m.name, slice(i, None, 2))) for i in range(2)]
    for p in ps: p.start()
    for p in ps: p.join()
    x = bool((a == np.arange(1000) ** 2).all()), [p.exitcode for p in ps]
    del a
    m.close()
    m.unlink()
x`), "(True, [0, 0])")
	})
	t.Run("time zone", func(t *testing.T) {
		value(t, run(t, r, "import pandas as pd\nstr(pd.Timestamp('2024-01-01', tz='Europe/Berlin'))"), "'2024-01-01 00:00:00+01:00'")
	})
	t.Run("arithmetic", func(t *testing.T) {
		// Long enough for all ways through a loop that goes round several times at once.
		value(t, run(t, r, `import numpy as np
same = lambda a, b: bool(np.array_equal(a, b))
ok = []
for n in [0, 1, 3, 4, 5, 31, 32, 33, 127, 128, 129, 1000]:
    a = np.arange(n) * 7 % 13
    for t in ["i1", "i4", "i8", "f4", "f8"]:
        x, y = a.astype(t), a[::-1].astype(t)
        l, m = x.tolist(), y.tolist()
        ok.append(same((x + y).tolist(), [p + q for p, q in zip(l, m)]) and same((x < y).tolist(), [p < q for p, q in zip(l, m)])
            and same(x[::3].tolist(), l[::3]) and int(x.sum()) == sum(l) and same(np.where(x < y, x, y).tolist(), list(map(min, l, m)))
            and same(np.sort(x).tolist(), sorted(l)) and (t == "i1" or int(x @ y) == sum(p * q for p, q in zip(l, m))))
i = np.arange(40.)
m = np.outer(i, i) + 40 * np.eye(40)
ok.append(bool(np.allclose(np.linalg.inv(m) @ m, np.eye(40))))
all(ok), len(ok)`), "(True, 61)")
	})
	t.Run("linear algebra", func(t *testing.T) {
		value(t, run(t, r, `import numpy as np
def kind(f, *args):
    try: return str(f(*args))
    except np.linalg.LinAlgError as e: return e.args[0]
singular, nan, good = np.array([[1, 2], [2, 4]]), np.array([[np.nan, 1], [1, 1]]), np.diag([2., 4.])
assert kind(np.linalg.inv, good) == "[[0.5  0.  ]\n [0.   0.25]]" and kind(np.linalg.solve, good, [2, 4]) == "[1. 1.]"
assert kind(np.linalg.inv, np.stack([good, nan])).count("nan") == 4 and kind(np.linalg.inv, np.zeros((0, 2, 2))) == "[]"
assert kind(np.linalg.solve, good, [np.nan, 1]) == "[nan nan]" and kind(np.linalg.cond, singular, 1) == "inf"
{kind(np.linalg.inv, singular), kind(np.linalg.solve, singular, [1, 2]), kind(np.linalg.inv, np.stack([good, singular])), kind(np.linalg.matrix_power, singular, -1)}, \
kind(np.linalg.cholesky, -good), kind(np.linalg.svd, nan), kind(np.polyfit, [1, 2, np.nan], [1, 2, 3], 1)`),
			"({'Singular matrix'}, 'Matrix is not positive definite', 'SVD did not converge', 'SVD did not converge in Linear Least Squares')")
	})
	t.Run("sums", func(t *testing.T) {
		value(t, run(t, r, `import numpy as np
a, kind = np.arange(10**6), lambda x: (str(x.dtype), x.tolist())
assert np.sum(a) == a.sum() == np.ma.array(a).sum() == sum(range(10**6)) and np.prod([2] * 40) == np.full(40, 2).prod() == 1 << 40
assert np.cumsum([10**9] * 5).tolist()[-1] == 5 * 10**9 and a.reshape(2, -1).sum(axis=1).sum() == a.sum() and a.mean() == 499999.5
assert np.sum([[1, 2], [3, 4]], axis=0, keepdims=True).tolist() == [[4, 6]] and np.sum([]) == 0 and np.sum(np.array(["a", "b"], object)) == "ab" and np.sum([1.5]) == 1.5
out = np.zeros(1, "i4")
kind(np.uint8([255, 1]).sum()), kind(np.sum(np.int8([1, 2]), dtype="i2")), kind(np.sum(np.int8([[1], [2]]), axis=0, out=out)), kind((a > 5).sum()), kind(np.float32([1]).sum())`),
			"(('uint64', 256), ('int16', 3), ('int32', [3]), ('int64', 999994), ('float32', 1.0))")
	})
	t.Run("integers of pandas", func(t *testing.T) {
		value(t, run(t, r, `import numpy as np, pandas as pd
kinds = lambda *of: {str(x.dtype) for x in of}
s = pd.Series(["3000000000", "1"])
assert kinds(s.astype(int), s.astype("int"), pd.DataFrame({"a": np.arange(2)}).a, pd.Series(pd.to_datetime(["2024-01-05"])).astype(int)) == {"int64"}
assert str(pd.Series([1.0]).astype("int32").dtype) == "int32" and pd.read_csv(__import__("io").StringIO("a\n3000000000"), dtype={"a": int}).a[0] == 3 * 10**9
True`), "True")
	})
	t.Run("float errors", func(t *testing.T) {
		o := run(t, r, "import numpy as np\nnp.linalg.inv(np.eye(2))\nwith np.errstate(divide='raise'):\n    np.ones(2) / 0")
		want := "main.py:3: RuntimeWarning: WebAssembly has no floating-point exceptions"
		if !strings.Contains(o.Stderr, want) || strings.Count(o.Stderr, "RuntimeWarning") != 1 {
			t.Errorf("stderr %q, want %q once", o.Stderr, want)
		}
	})
	for _, module := range []string{"PIL.Image", "lxml.etree", "matplotlib.pyplot"} {
		t.Run(module, func(t *testing.T) {
			parent, name, _ := strings.Cut(module, ".")
			code := "import sys\nhad = '" + module + "' in sys.modules\nfrom " + parent + " import " + name + "\nhad"
			s := r.open.engine.snapshots
			s.Waits = false
			run(t, r, code)
			s.Builder.Wait()
			value(t, run(t, r, code), "True")
		})
	}
}
