package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"coderunner/runners"
)

// TestAssets: what a pattern matches is data, unless the program names it or may run it.
func TestAssets(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.py": "import c\nopen('d.py')", "b.py": "import six", "c.py": "", "d.py": "", "notes.txt": "",
		"lib/u.js": "import 'left-pad'; import './v.js'", "lib/v.js": "", "lib/w.json": "", "lib/p.py": "",
		"x.js": "import './z.js'", "y.js": "import 'left-pad'", "z.js": "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ name, code, program, assets string }{
		{"main.py", "import re, glob\nx = re.compile('x')\nfor f in glob.glob('[a-b].py'): open(f)", "", "a.py b.py c.py d.py"},
		{"main.py", "import a\nfor f in Path('.').glob('*.py'): f.read_text()", "a.py c.py d.py", "b.py"},
		{"main.py", "for f in Path('.').glob('*.py'): f.read_text()\nopen('b.py')", "b.py", "a.py c.py d.py"},
		{"main.py", "import importlib\nfor f in glob('[ab].py'): importlib.import_module(f[:-3])", "a.py b.py c.py d.py", ""},
		{"main.py", "for f in glob('[ab].py'): exec(open(f).read())", "a.py b.py c.py d.py", ""},
		{"main.py", "import subprocess\nfor f in glob('b*.py'): subprocess.run(['python', f])", "b.py", ""},
		{"main.py", "open('notes.txt'); open('a.py')", "a.py c.py d.py notes.txt", ""},
		{"main.js", "const m = /x/.exec('x'); globSync('*.js')", "", "x.js y.js z.js"},
		{"main.js", "import x from './x'; globSync('*.js')", "x.js z.js", "y.js"},
		{"main.js", "for (const f of globSync('*.js')) await import('./' + f)", "x.js y.js z.js", ""},
		{"main.js", "for (const f of globSync('*.js')) require(f)", "x.js y.js z.js", ""},
		{"main.js", "const tags = ['lib', 'x'].length", "lib/p.py lib/w.json", "lib/u.js lib/v.js"},
		{"main.js", "import './x.js'; readdirSync('lib')", "lib/p.py lib/w.json x.js z.js", "lib/u.js lib/v.js"},
		{"main.js", "import u from './lib/u'; readdirSync('lib')", "lib/p.py lib/u.js lib/v.js lib/w.json", ""},
		{"main.js", "const u = require('./lib')", "lib/p.py lib/u.js lib/v.js lib/w.json", ""},
		{"main.js", "for (const f of readdirSync('lib')) await import(`./lib/${f}`)", "lib/p.py lib/u.js lib/v.js lib/w.json", ""},
		{"main.py", "os.listdir('lib')", "lib/p.py lib/w.json", "lib/u.js lib/v.js"},
		{"main.sh", "ls lib", "lib/p.py lib/u.js lib/v.js lib/w.json", ""},
		{"main.sh", "for f in [ab].py; do python $f; done", "a.py b.py c.py d.py", ""},
	} {
		l := runners.ParseLanguage(filepath.Ext(tt.name)[1:])
		if err := os.WriteFile(filepath.Join(dir, tt.name), []byte(tt.code), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := filesFor(runOptions{}, filepath.Join(dir, tt.name), false, tt.code, l, nil, new(strings.Builder))
		var program, assets []runners.File
		for _, f := range files {
			if f.Asset {
				assets = append(assets, f)
			} else {
				program = append(program, f)
			}
		}
		if paths(program) != tt.program || paths(assets) != tt.assets || err != nil {
			t.Errorf("%s: %q and assets %q, %v, want %q and %q", tt.code, paths(program), paths(assets), err, tt.program, tt.assets)
		}
		if err := os.Remove(filepath.Join(dir, tt.name)); err != nil {
			t.Fatal(err)
		}
	}
}
