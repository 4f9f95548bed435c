//go:build unix

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"coderunner/runners"
)

// A program in a directory full of other people's files gets what its text
// names, and nothing else.
func TestFilesBeside(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "downloads")
	write := func(name, content string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"data.csv", "other.csv", ".env", ".ssh/id", "../secret", "huge/a", "deep/data/a.json", "deep/b.json", "with space.txt",
		"pkg/__init__.py", "pkg/sub/mod.py", "pkg/notes.txt", "pkg/.hidden.py", "unused.py",
		"ts/index.ts", "view.tsx", "lib/plugin.py", "templates/base.html", "templates/.draft.html", "node_modules/x/a.js",
	} {
		write(name, name)
	}
	write("helper.py", "import second\nopen('fromhelper.txt')")
	write("second.py", "x = 1")
	write("conf.py", "DIR = 'deep'")
	write("deno.json", `{"imports": {"@/": "./ts/", "util": "./util.ts", "above": "../secret", "zod": "npm:zod"}}`)
	write("tsconfig.json", `{"compilerOptions": {"baseUrl": "./deep", "paths": {"@lib/*": ["../lib/*"], "js": ["../unused"]}}}`)
	write("lib/math.ts", "")
	write("fromhelper.txt", "")
	write("lib.sh", "cat fromhelper.txt")
	write("util.ts", "import './view.js'")
	write("list.json", `{"a": "./data.csv", "dataDir": "deep", "b": ["ts", ".env", "out", "up/secret", "../secret", "big.bin", "huge"]}`)
	write("big.bin", "")
	if err := os.Truncate(filepath.Join(dir, "big.bin"), 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "big.bin"), filepath.Join(dir, "huge", "big.bin")); err != nil {
		t.Fatal(err)
	}
	write("big.bin", "")
	if err := os.Truncate(filepath.Join(dir, "big.bin"), 1<<30); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"linked.py": "../secret", "out": "../secret", "abs": "/etc/passwd", "in": "data.csv", "up": "..", "sly": ".env"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, code string
		want       string // paths, sorted
		warning    string
	}{
		{"a.py", "print(1)", "", ""},
		{"a.py", "open('data.csv'); open(\"with space.txt\"); x = 'a.py'", "data.csv with space.txt", ""},
		{"a.py", "import helper, os.path as p", "fromhelper.txt helper.py second.py", ""},
		{"a.py", "import unused\r\nimport second\r\n", "second.py unused.py", ""},
		{"a.sh", "cat helper.py\r\ncat data.csv\r\n", "data.csv fromhelper.txt helper.py second.py", ""},
		{"a.py", "try:\n  from pkg.sub import (mod,\n   other)\nexcept ImportError: import unused", "pkg/__init__.py pkg/sub/mod.py unused.py", ""},
		{"a.py", "import pkg\nresources.files(pkg).joinpath('notes.txt'); open('.hidden.py')", "pkg/__init__.py pkg/notes.txt pkg/sub/mod.py", "coderunner: pkg/.hidden.py: is hidden"},
		{"a.py", "app = Flask(__name__)", "templates/base.html", ""},
		{"a.py", "importlib.import_module('unused')", "unused.py", ""},
		{"a.py", "sys.path.insert(0, 'lib')\nimport plugin", "lib/math.ts lib/plugin.py", ""},
		{"a.py", "Path(__file__).parent / 'deep' / 'data' / 'a.json'", "deep/b.json deep/data/a.json", ""},
		{"a.py", "open(f'deep/{name}.json'); open('ts/%s' % x); open(f'{pkg}/x')", "deep/b.json deep/data/a.json ts/index.ts", ""},
		{"a.sh", "cat deep/data/$1.json # ts/$1", "deep/data/a.json", ""},
		{"a.py", "import linked", "", "coderunner: linked.py: leads out of its directory, so the program does not see it (--file "},
		{"a.py", "isdir('deep'); open('*.csv'); x['huge']", "deep/b.json deep/data/a.json", ""},
		{"a.py", "name = f'da{x:02d}.csv'; tree.walk()", "data.csv", ""},
		{"a.py", "print(f'{a}.{b} {x:.2f}', f'{a}.{b}', f'{n:.2f}', f'see {n}.csv')", "", ""},
		{"a.py", "os.listdir('deep'); deep.glob('*'); iglob('*.csv')", "data.csv deep/b.json deep/data/a.json other.csv", ""},
		{"a.py", "os.listdir('deep'); glob('*'); iglob('*.csv')", "data.csv deep/b.json deep/data/a.json other.csv", "coderunner: the program sees the files of its directory that its text names"},
		{"a.py", "os.listdir('.ssh'); os.walk('up'); Path('node_modules').rglob('*.js'); walk('../')", "", "coderunner: up: leads out of its directory, so the program does not see it (--dir "},
		{"a.py", "os.listdir()", "", "coderunner: the program sees the files of its directory that its text names, and lists no others"},
		{"a.py", "root = Path('.').resolve()\nfor p in root.rglob('*'): pass", "", "coderunner: the program sees the files of its directory that its text names"},
		{"a.py", "root = sys.argv[1] if sys.argv[1:] else '.'\nos.walk(root)", "", "coderunner: the program sees the files of its directory that its text names"},
		{"a.py", "root = Path(__file__).parent / 'results'\nroot.rglob('*')\nhere = '.'\nos.walk(root)", "", ""},
		{"l.js", "const root: string = process.cwd()\nfs.readdirSync(root)", "deno.json tsconfig.json", "coderunner: the program sees the files of its directory that its text names"},
		{"a.py", "root = Path(__file__).resolve().parent.parent; open(root / 'secret')", "", "coderunner: the program sees nothing above its directory: run it from there (cd "},
		{"a.py", "parts = [p for p in parts if p != '..']", "", ""},
		{"a.py", "from .pkg import x\nfrom downloads import y", "", "coderunner: the program sees nothing above its directory"},
		{"l.js", "import x from '../secret'", "deno.json tsconfig.json", "coderunner: the program sees nothing above its directory"},
		{"l.js", "import x from '../nothing'", "deno.json tsconfig.json", ""},
		{"a.ts", "import x from './up/secret'; import y from './up/x'", "deno.json tsconfig.json", "coderunner: up: leads out of its directory, so the program does not see it (--dir "},
		{"l.js", "fs.readdirSync('ts'); glob.globSync('deep/*.json')", "deep/b.json deno.json ts/index.ts tsconfig.json", ""},
		{"a.py", "open('.env'); open('.ssh/id')", "", "coderunner: .env: is hidden, so the program does not see it (--file "},
		{"a.py", "open('../secret'); open('/etc/passwd'); open('up/secret'); open('pkg/../../secret')", "", "coderunner: up: leads out"},
		{"a.py", "open('out'); open('in')", "in", "coderunner: out: leads out of its directory"},
		{"a.py", "open('sly')", "", "coderunner: sly: is hidden"},
		{"a.py", "open('abs')", "", "coderunner: abs: leads out of its directory"},
		{"a.py", "open('fifo'); open('data.csv')", "data.csv", "coderunner: fifo: is not a regular file"},
		{"a.py", "open('big.bin')", "", "coderunner: big.bin: is too large"},
		{"a.ts", "import x from './util'; import './ts'", "deno.json ts/index.ts tsconfig.json util.ts view.tsx", ""},
		{"a.ts", "import '@lib/math'; import 'js'", "deno.json lib/math.ts tsconfig.json", ""},
		{"a.ts", "import '@/index'; import x from 'util'; import 'above'; import 'zod'", "deno.json ts/index.ts tsconfig.json util.ts view.tsx", ""},
		{"a.ts", "new URL('./data.csv', import.meta.url); import 'node_modules'", "data.csv deno.json tsconfig.json", ""},
		{"a.sh", "awk -F, '{print $1}' other.csv; file=${1:-data.csv} # see unused.py.", "data.csv other.csv unused.py", ""},
		{"a.sh", "while read -r l; do :; done < data.csv; source lib.sh", "data.csv fromhelper.txt lib.sh", ""},
		{"a.sh", ". \"$(dirname \"$0\")/lib.sh\"; cat $HERE/other.csv ${HERE}/in", "fromhelper.txt in lib.sh other.csv", ""},
		{"a.sh", "wc -l \"$dir\"/*.csv", "data.csv other.csv", ""},
		{"a.sh", "cat deep/*.json [do]*.csv", "data.csv deep/b.json other.csv", ""},
		{"a.sh", "cd deep; cat data/*", "deep/data/a.json", ""},
		{"a.sh", "cat * */* .* $((a * b)) ${f%.*} ${f##*/}; [ $x = [a-z]* ]; find / -type f; echo '*.csv'", "", ""},
		{"a.sh", "cat **/*.json; find . -name '*.csv'; grep -r --include=n*.txt x .", "data.csv deep/b.json deep/data/a.json deno.json list.json other.csv pkg/notes.txt tsconfig.json", "coderunner: the program sees the files of its directory that its text names, and lists no others"},
		{"a.sh", "ls | wc -l", "", "coderunner: the program sees the files of its directory that its text names, and lists no others"},
		{"a.sh", "cd /tmp; ls", "", ""},
		{"a.sh", "D=deep; find $D -type f # of ts", "deep/b.json deep/data/a.json", ""},
		{"a.sh", "find .ssh up; ls node_modules", "", "coderunner: up: leads out of its directory, so the program does not see it (--dir "},
		{"a.py", "glob('**/*.json', recursive=True); glob('../*'); glob('/etc/*.conf'); glob('**/id'); glob('u*/*.x')", "deep/b.json deep/data/a.json deno.json list.json tsconfig.json", ""},
		{"a.py", "Path('.').rglob('b.*'); Path('deep').rglob('a.j*')", "deep/b.json deep/data/a.json", "coderunner: the program sees"},
		{"a.py", "import conf; os.listdir(conf.DIR)", "conf.py deep/b.json deep/data/a.json", ""},
		{"l.js", "globSync('{deep,ts}/*.{ts,json}')", "deep/b.json deno.json ts/index.ts tsconfig.json", ""},
		{"a.py", "load_dotenv()", "", "coderunner: .env: is hidden, so the program does not see it (--file "},
		{"a.sh", "ls .ssh/* .e*; cat .ssh/nothing ../sec* /etc/pass*", "", ""},
		{"a.sh", "cat node_modules/*/a.js", "", ""},
		{"a.sh", "source .env", "", "coderunner: .env: is hidden, so the program does not see it (--file "},
		{"a.sh", "cat ../secret /etc/passwd up/secret", "", "coderunner: up: leads out"},
		{"l.js", "fs.existsSync(`${year}-oth${n}er.csv`) || fs.readFileSync(`oth${n}.csv`)", "deno.json other.csv tsconfig.json", ""},
		{"a.py", "open(name + '.csv'); open('%s.bin' % name); Path(x).with_suffix('.txt'); x + '.py, y.'", "data.csv fromhelper.txt other.csv with space.txt", ""},
		{"l.js", "fs.readFileSync(`./${name}.csv`); './da' + n + 'ta.csv'", "data.csv deno.json other.csv tsconfig.json", ""},
		{"a.sh", "cat $x.csv \"$here/deep/$E.json\" > ${y}.bin", "data.csv deep/b.json deep/data/a.json other.csv", ""},
		{"a.py", "json.load(open('list.json'))", "data.csv deep/b.json deep/data/a.json list.json", ""},
	} {
		write(tt.name, tt.code)
		var warnings strings.Builder
		files, err := filesFor(runOptions{}, filepath.Join(dir, tt.name), false, tt.code, runners.ParseLanguage(filepath.Ext(tt.name)[1:]), nil, &warnings)
		if got := paths(files); err != nil || got != tt.want {
			t.Errorf("%s: files %q, %v, want %q", tt.code, got, err, tt.want)
		}
		if !strings.HasPrefix(warnings.String(), tt.warning) || tt.warning == "" && warnings.Len() > 0 {
			t.Errorf("%s: warned %q, want %q", tt.code, warnings.String(), tt.warning)
		}
	}
}

func paths(files []runners.File) string {
	names := map[string]bool{}
	for _, f := range files {
		names[f.Path] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), " ")
}

// What the command line names has the path that the program would use.
func TestNamedFiles(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"src/data.txt", "src/.env", "data/x.csv", "data/.git/config", "data/d/y.csv", "other/z", "many/node_modules/a", "most/a", "big/a", "mods/__init__.py", "mods/a.py", "mods/b.txt"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../../other/z", filepath.Join(top, "data/d/link")); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"out": "..", "sly": "src/.env"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range runners.MaxFiles {
		if err := os.WriteFile(filepath.Join(top, "most", strconv.Itoa(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(top, "big", "huge"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(top, "big", "huge"), 1<<30); err != nil {
		t.Fatal(err)
	}
	t.Chdir(top)
	var warnings strings.Builder
	args := []string{"", "./", "..", "data/x.csv", "--in=./other/z", "many", "many/node_modules", "data/.git", "out", "big", "most", "sly", "src/.env", "nothing", "../" + filepath.Base(top) + "/other/z", filepath.Join(top, "src/data.txt"), "data/d/link"}
	given, err := filesFor(runOptions{}, "src/p.py", false, "", runners.Python, args, &warnings)
	if got, want := paths(given), "data/d/link data/x.csv other/z"; err != nil || got != want {
		t.Errorf("files of arguments %q, %v, want %q", got, err, want)
	}
	if got := warnings.String(); !regexp.MustCompile(`^coderunner: \./: the program does not see what is in this directory \(--dir \./\)\ncoderunner: big: huge is too large.*--dir.*\ncoderunner: most: 99\d is one too many.*--dir.*\n$`).MatchString(got) {
		t.Errorf("warned %q", got)
	}
	warnings.Reset()
	given, err = filesFor(runOptions{}, "src/p.py", false, "", runners.Python, []string{"--in=data/", "src"}, &warnings)
	if got, want := paths(given), "data/d/y.csv data/x.csv src/data.txt"; err != nil || got != want {
		t.Errorf("files of arguments %q, %v, want %q", got, err, want)
	}
	warnings.Reset()
	given, err = filesFor(runOptions{}, "src/p.py", false, "", runners.Python, []string{"**/*.csv", "src/*", "data/.git/*", "../*/other/z", "o*", "nothing*"}, &warnings)
	if got, want := paths(given), "data/d/y.csv data/x.csv src/data.txt"; err != nil || got != want || warnings.Len() > 0 {
		t.Errorf("files of patterns %q, %v, %q, want %q", got, err, warnings.String(), want)
	}
	// A program below the current directory names files from there, too.
	for code, want := range map[string]string{
		"open('data/x.csv'); open('data.txt'); open('.env')":  "data.txt data/x.csv",
		"os.listdir('data'); glob('o*/z')":                    "data/d/y.csv data/x.csv other/z",
		"import other, data; open('out'); open('../other/z')": "",
		"sys.path.append('..'); import mods.a; import zlib":   "mods/__init__.py mods/a.py",
		"open('sly'); open('data/.git/config')":               "",
	} {
		given, err = filesFor(runOptions{}, "src/p.py", false, code, runners.Python, nil, &warnings)
		if got := paths(given); err != nil || got != want {
			t.Errorf("%s: files %q, %v, want %q", code, got, err, want)
		}
	}
	warnings.Reset()
	o := runOptions{files: []string{"src/.env", "./src/data.txt", filepath.Join(top, "other/z")}, dirs: []string{"data"}}
	files, err := filesFor(o, "src/p.py", false, "", runners.Python, nil, &warnings)
	if got, want := paths(files), ".env data.txt data/d/y.csv data/x.csv z"; err != nil || got != want {
		t.Errorf("files %q, %v, want %q", got, err, want)
	}
	if !strings.HasPrefix(warnings.String(), "coderunner: data/d/link: is not a regular file in data") {
		t.Errorf("warned %q", warnings.String())
	}
	if _, err := filesFor(runOptions{files: []string{"/dev/zero"}}, "-", false, "", runners.Python, nil, &warnings); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("--file /dev/zero: %v", err)
	}
	if _, err := filesFor(runOptions{files: []string{"nothing"}}, "-", false, "", runners.Python, nil, &warnings); err == nil {
		t.Error("--file of nothing")
	}
}
