//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
	"coderunner/internal/testcache"
)

// TestDamagedCache damages every kind of file in a cache that is in use, and
// lets the real binary run what needs it. The answer must be the right one, and
// the file repaired; or, where the file matters to nobody, left alone. It prints
// its table. A sixth of the kinds are damaged in one way, those of one family that takes
// long to repair all together; with CODERUNNER_LONG=1 each by itself and in each way,
// which takes half an hour.
func TestDamagedCache(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	d := newDamaged(t)
	kinds := d.kinds()
	if len(kinds) < 20 {
		t.Fatalf("only %d kinds of files: %q", len(kinds), slices.Sorted(maps.Keys(kinds)))
	}
	if sample.All {
		for _, kind := range inOrder(kinds) {
			for _, way := range damages {
				if _, err := os.Lstat(kinds[kind]); err != nil && isFingerprint(kind) {
					break // made again when the entry is two seconds old
				}
				d.damage(kind, kinds[kind], way)
				d.judge(kinds, kind)
			}
		}
	} else {
		main := slices.DeleteFunc(inOrder(kinds), isMinor)
		for _, kind := range sample.Of(t, 6, slices.DeleteFunc(slices.Clone(main), isSlow)) {
			d.damage(kind, kinds[kind], damages[len(d.ways)%len(damages)])
			d.judge(kinds, kind)
		}
		families := sample.Of(t, 2, slowFamilies[2:]) // compiling CPython takes longest
		slow := slices.DeleteFunc(main, func(kind string) bool {
			return !slices.ContainsFunc(families, func(family string) bool { return strings.HasPrefix(kind, family) })
		})
		for _, kind := range slow {
			d.damage(kind, kinds[kind], damages[len(d.ways)%len(damages)])
		}
		d.judge(kinds, slow...)
	}
	for _, row := range d.rows {
		t.Log(row)
	}
}

// inOrder has the fingerprints first: they go when an entry is made anew.
func inOrder(kinds map[string]string) []string {
	return slices.SortedFunc(maps.Keys(kinds), func(a, b string) int {
		if isFingerprint(a) != isFingerprint(b) {
			return map[bool]int{true: -1, false: 1}[isFingerprint(a)]
		}
		return strings.Compare(a, b)
	})
}

// isMinor is about what only a full test looks at, since others of its entries
// are damaged, too.
func isMinor(kind string) bool {
	return slices.Contains([]string{
		"deno/npm *", "deno/npm *.cjs", "deno/npm *.cts", "deno/npm *.ts", "deno/npm *.md", "trees/wheel *", "trees/wheel *.txt", "trees/deno-graph *.js",
	}, kind) || strings.HasSuffix(kind, "-shm") || strings.HasSuffix(kind, "-wal")
}

// damages are the ways to damage a file.
var damages = []damage{
	{"first byte", func(b []byte) []byte { b[0] ^= 4; return b }},
	{"middle", func(b []byte) []byte { b[len(b)/2] ^= 4; return b }},
	{"last byte", func(b []byte) []byte { b[len(b)-1] ^= 4; return b }},
	{"cut", func(b []byte) []byte { return b[:len(b)/2] }},
	{"emptied", func([]byte) []byte { return nil }},
	{"longer", func(b []byte) []byte { return append(b, 'x') }},
}

type damage struct {
	name   string
	change func([]byte) []byte
}

// slowFamilies take seconds to make again: CPython's compilation, what it is compiled
// from, and the runtimes.
var slowFamilies = []string{"files/machine-code", "files/module", "files/stdlib", "trees/npm", "trees/deno-binary"}

func isSlow(kind string) bool {
	return slices.ContainsFunc(slowFamilies, func(family string) bool { return strings.HasPrefix(kind, family) })
}

// idle are kinds that no run reads, as long as what was made of them is there,
// or whose loss only makes something slower.
func idle(kind string) bool {
	return kind == "CACHEDIR.TAG" || kind == "size" || strings.HasPrefix(kind, "blobs/") || strings.HasPrefix(kind, "files/wanted") || strings.HasPrefix(kind, "files/compiled") || strings.HasPrefix(kind, "trees/bytecode") || strings.HasPrefix(kind, "deno/") && !strings.HasPrefix(kind, "deno/npm *") ||
		isFingerprint(kind)
}

func isFingerprint(kind string) bool { return strings.HasSuffix(kind, " fingerprint") }

// The programs, and what they print.
var damagePrograms = map[string]struct{ code, want string }{
	"p.py": {"import msgpack, six\nprint(msgpack.Packer.__module__, sum(msgpack.unpackb(msgpack.packb(list(range(1000))))), six.PY3)\n", "msgpack._cmsgpack 499500 True\n"},
	"j.ts": {"import { z } from 'npm:zod@3'\nconsole.log(z.string().parse('right'), [3, 1, 2].sort().join())\n", "right 1,2,3\n"},
}

// damaged is a cache that is used and damaged.
type damaged struct {
	t     *testing.T
	cache string
	work  string
	was   map[string][]byte // damaged files, as they were
	now   map[string][]byte // and as they were left
	ways  map[string]string // the last one, by kind
	rows  []string
}

// newDamaged makes a cache that has what the programs use, and nothing else. It
// shares its files with the one that tests share, by links; so they are
// replaced here, never written.
func newDamaged(t *testing.T) *damaged {
	t.Helper()
	shared := testcache.Dir()
	d := &damaged{t: t, cache: filepath.Join(t.TempDir(), "cache"), work: t.TempDir(), was: map[string][]byte{}, now: map[string][]byte{}, ways: map[string]string{}}
	for name, p := range damagePrograms {
		if err := os.WriteFile(filepath.Join(d.work, name), []byte(p.code), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(d.cache, 0o700); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-13 * time.Hour) // what is used since is marked
	for _, kind := range slowFamilies {
		from, to := filepath.Join(shared, kind), filepath.Join(d.cache, kind)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if exec.Command("cp", "-al", from, to).Run() != nil {
			_ = exec.Command("cp", "-a", from, to).Run() // what is missing will be made
		}
		entries, _ := filepath.Glob(filepath.Join(to, "*"))
		for _, e := range entries {
			_ = os.Chtimes(e, long, long)
		}
	}
	for range 3 { // the second makes a snapshot, the third uses it
		for name := range damagePrograms {
			if problem := d.run(name); problem != "" {
				t.Fatal(problem)
			}
		}
	}
	entries, _ := filepath.Glob(filepath.Join(d.cache, "*", "*", "*"))
	for _, e := range entries {
		if info, err := os.Lstat(e); err == nil && time.Since(info.ModTime()) > 12*time.Hour && !strings.HasPrefix(e, filepath.Join(d.cache, "deno")) {
			if err := os.RemoveAll(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d
}

// run runs one of the programs and says what is wrong with what it printed.
func (d *damaged) run(name string) (problem string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "coderunner", "run", name)
	cmd.Dir = d.work
	cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+d.cache, "CODE_RUNNER_TIMEOUT=60s")
	var out, text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &text
	err := cmd.Run()
	switch {
	case err != nil && cmd.ProcessState.ExitCode() == codeOurFault:
		return "refused: " + text.String()
	case err != nil:
		return fmt.Sprintf("%s: %v: %s%s", name, err, out.String(), text.String())
	case out.String() != damagePrograms[name].want:
		return fmt.Sprintf("%s: WRONG ANSWER %q", name, out.String())
	}
	return ""
}

// kinds returns a file of each kind, the largest, by its kind.
func (d *damaged) kinds() map[string]string {
	kinds, sizes := map[string]string{}, map[string]int64{}
	err := filepath.WalkDir(d.cache, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(d.cache, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		kind := kindOf(filepath.ToSlash(rel))
		if err == nil && kind != "" && info.Size() > sizes[kind] && d.relevant(path) {
			kinds[kind], sizes[kind] = path, info.Size()
		}
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return kinds
}

// relevant leaves out the tools that install packages: what is installed does
// not need them.
func (d *damaged) relevant(path string) bool {
	rel, _ := filepath.Rel(d.cache, path)
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if parts[0] != "trees" || parts[1] != "wheel" {
		return true
	}
	for _, name := range []string{"six.py", "msgpack"} {
		if _, err := os.Lstat(filepath.Join(d.cache, "trees", "wheel", parts[2], "data", name)); err == nil {
			return true
		}
	}
	return false
}

// kindOf names the kind of a file by where it is and how its name ends.
func kindOf(rel string) string {
	parts := strings.Split(rel, "/")
	base := parts[len(parts)-1]
	switch parts[0] {
	case "locks", "processes":
		return ""
	case "trees", "files", "records":
		if len(parts) == 4 && base != "data" {
			return strings.Join(parts[:2], "/") + " " + base // manifest, fingerprint
		}
		kind := parts[1]
		if kind == "npm" {
			kind += " " + parts[2][:strings.LastIndexByte(parts[2], '-')]
		}
		return parts[0] + "/" + kind + " *" + filepath.Ext(base)
	case "deno":
		if parts[1] == "npm" {
			if base == "registry.json" {
				return "deno/npm " + base
			}
			return "deno/npm *" + filepath.Ext(base)
		}
	case "blobs", "python":
		return parts[0] + "/" + parts[1]
	}
	return rel
}

// damage changes a file, and notes what it was.
func (d *damaged) damage(kind, path string, way damage) {
	d.t.Helper()
	d.ways[kind] = way.name
	b, err := os.ReadFile(path)
	for range 3 { // an entry that is damaged goes as a whole, and later runs make it anew
		if err == nil {
			break
		}
		for name := range damagePrograms {
			if problem := d.run(name); problem != "" {
				d.t.Fatal(problem)
			}
		}
		b, err = os.ReadFile(path)
	}
	if err != nil || len(b) == 0 {
		d.t.Fatalf("read %s: %d bytes, %v", path, len(b), err)
	}
	d.was[path] = b
	d.now[path] = way.change(bytes.Clone(b))
	d.replace(path, d.now[path])
}

// replace puts a new file with the same time of modification in the place of
// one.
func (d *damaged) replace(path string, b []byte) {
	d.t.Helper()
	mode, when := fs.FileMode(0o444), time.Now()
	if info, err := os.Stat(path); err == nil {
		mode, when = info.Mode().Perm(), info.ModTime()
	}
	for _, err := range []error{
		os.MkdirAll(filepath.Dir(path), 0o700),
		os.WriteFile(path+".new", b, mode),
		os.Chtimes(path+".new", when, when),
		os.Rename(path+".new", path),
	} {
		if err != nil {
			d.t.Fatal(err)
		}
	}
}

// judge runs the programs on what was damaged and notes what came of it.
func (d *damaged) judge(kinds map[string]string, which ...string) {
	d.t.Helper()
	begun := time.Now()
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(damagePrograms)) {
		if !slices.ContainsFunc(which, func(kind string) bool { return strings.Contains(kind, "deno") == (name == "j.ts") }) {
			continue
		}
		if p := d.run(name); p != "" {
			problems = append(problems, p)
		}
	}
	took := time.Since(begun).Round(100 * time.Millisecond)
	for _, kind := range which {
		path, way := kinds[kind], d.ways[kind]
		left, err := os.ReadFile(path)
		verdict := "noticed, repaired"
		switch {
		case len(problems) > 0:
			verdict = strings.Join(problems, "; ")
			if !slices.ContainsFunc(problems, func(p string) bool { return !strings.HasPrefix(p, "refused: ") }) {
				verdict = "noticed, " + verdict
				break
			}
			d.t.Errorf("%s, %s: %s", kind, way, verdict)
		case err == nil && bytes.Equal(left, d.now[path]) && idle(kind):
			verdict = "harmless"
		case err == nil && bytes.Equal(left, d.now[path]):
			verdict = "NOT NOTICED"
			d.t.Errorf("%s, %s: it is not noticed", kind, way)
		case !bytes.Equal(left, d.was[path]):
			verdict = "noticed, made anew"
		}
		d.rows = append(d.rows, fmt.Sprintf("%-60s %-10s %6v  %s", kind, way, took, verdict))
		if !bytes.Equal(left, d.was[path]) {
			d.replace(path, d.was[path]) // for the next
		}
	}
}
