package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Programs that use a compiled package in a loop, in the way of [cpuFiles].
//
//go:embed testdata/wheels
var wheelFiles embed.FS

// wheelPackage is a compiled package, by the name that it is imported by.
type wheelPackage struct {
	module string
	want   string // the answer of its program
	// slow is for one whose machine code takes minutes: it is installed once.
	slow bool
}

var wheelPackages = []wheelPackage{
	{module: "msgpack", want: "RESULT msgpack 9733116"},
	{module: "pydantic", want: "RESULT pydantic 200319920"},
	{module: "pymupdf", want: "RESULT pymupdf 100", slow: true},
}

const (
	usualWheelRuns = 1
	wheelPatience  = 10 * time.Minute
	maxWheels      = 100 // of one package with all that it needs
)

// The cases of a package. The names are what -only selects by.
const (
	wheelCold  = "cold"
	wheelWarm  = "warm"
	wheelStdio = "stdio"
	wheelHot   = "hot"
)

const (
	nameUnpacking = "Pyodide on Deno, unpacking"
	nameMounted   = "Pyodide on Deno, unpacked before"
)

// wheelCases are, for each package, its installation, its import as a process
// and over stdio, and a loop.
func wheelCases(h *hosts) ([]benchCase, error) {
	var cases []benchCase
	for _, p := range wheelPackages {
		loop, err := wheelFiles.ReadFile("testdata/wheels/" + p.module + ".py")
		if err != nil {
			return nil, err
		}
		w := &wheelHost{hosts: h, module: p.module, imports: "import_" + p.module + ".py", loop: "loop_" + p.module + ".py"}
		if err := errors.Join(h.writeFile(w.imports, []byte(importing(p.module))), h.writeFile(w.loop, loop)); err != nil {
			return nil, err
		}
		for _, c := range w.cases(p.want) {
			c.topic, c.name = "wheels", p.module+"/"+c.name
			c.usual, c.patience = usualWheelRuns, wheelPatience
			if p.slow && c.name == p.module+"/"+wheelCold {
				c.atMost = 1
			}
			cases = append(cases, c)
		}
	}
	return cases, nil
}

// wheelHost runs the programs of one package.
type wheelHost struct {
	*hosts
	module        string
	imports, loop string // names of files

	wheels   []string // files of the package and what it needs, once they are known
	unpacked string   // a folder with what is in them, once it is there
}

func (w *wheelHost) cases(want string) []benchCase {
	hot := func(stdout string, s *sample) (err error) {
		s.Answer, s.Own, err = readElapsed(stdout)
		return err
	}
	run := func(file string) func() command {
		return func() command { return w.coderunner.with("run", "--timeout", "10m", w.file(file)) }
	}
	mounted := func(file string, check func(string, *sample) error) contender {
		return w.having(asProcess(nameMounted, another, func() command { return w.onDeno("mounted", w.file(file), w.unpacked) },
			check, w.denoErr, w.pyodideErr), w.unpack)
	}
	return []benchCase{
		{name: wheelCold, title: "cold install", contenders: []contender{
			w.installing(), w.unpacking(w.imports, readPrepared)}},
		{name: wheelWarm, title: "warm import, a process", warm: 3, contenders: []contender{
			w.having(asProcess(nameOurs, ours, run(w.imports), prints(hello.Stdout)), nil),
			w.unpacking(w.imports, readPrepared), mounted(w.imports, prints(hello.Stdout))}},
		{name: wheelStdio, title: "warm import, over stdio", warm: 3, factor: 3, contenders: []contender{
			w.having(w.overStdio("coderunner serve", "python", importing(w.module), hello), nil), w.fresh()}},
		{name: wheelHot, title: "hot loop, own clock", want: want, contenders: []contender{
			w.having(asProcess(nameOurs, ours, run(w.loop), hot), nil), w.unpacking(w.loop, hot), mounted(w.loop, hot)}},
	}
}

// having makes sure that our cache has the package, and of ready if that is
// not nil, before a contender is opened.
func (w *wheelHost) having(c contender, ready func(context.Context) error) contender {
	open := c.open
	c.open = func(ctx context.Context) (*opened, error) {
		if err := w.find(ctx); err != nil {
			return nil, err
		}
		if ready != nil {
			if err := ready(ctx); err != nil {
				return nil, err
			}
		}
		return open(ctx)
	}
	return c
}

// unpacking is the peer: an interpreter without packages that unpacks them.
func (w *wheelHost) unpacking(file string, check func(string, *sample) error) contender {
	return w.having(asProcess(nameUnpacking, peer, func() command {
		return w.onDeno("wheels", w.file(file)).with(w.wheels...)
	}, check, w.denoErr, w.pyodideErr), nil)
}

// fresh is the peer that stays up: for each call an interpreter from Pyodide's
// own snapshot, with the wheels unpacked into it.
func (w *wheelHost) fresh() contender {
	return w.having(w.pyodideLoop(nameSnapshot, peer, func() command {
		return w.onDeno("fresh", w.snapshot).with(w.wheels...)
	}, importing(w.module), hello, w.snapshotErr), nil)
}

// unpack has Pyodide unpack the wheels into a folder, once.
func (w *wheelHost) unpack(ctx context.Context) error {
	if w.unpacked != "" {
		return nil
	}
	if err := errors.Join(w.denoErr, w.pyodideErr); err != nil {
		return err
	}
	dir := filepath.Join(w.dir, "unpacked-"+w.module)
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if _, _, err := w.onDeno("unpack", dir).with(w.wheels...).run(ctx); err != nil {
		return fmt.Errorf("unpack the wheels: %w", err)
	}
	w.unpacked = dir
	return nil
}

// outcome is the part of what `run --json` prints that matters here.
type outcome struct {
	Status, Stdout string
	Error          *struct{ Type, Message string }
	Packages       []struct {
		Name, SHA256 string
		Cached       bool
	}
	Usage struct {
		PrepareMS float64 `json:"prepare_ms"`
	}
}

// readOutcome fails for a program that has not printed its hello.
func readOutcome(stdout string) (outcome, error) {
	var o outcome
	if err := json.Unmarshal([]byte(stdout), &o); err != nil {
		return o, fmt.Errorf("%w: no outcome: %w", errWrong, err)
	}
	if o.Error != nil {
		return o, fmt.Errorf("run: %s: %s: %s", o.Status, o.Error.Type, o.Error.Message)
	}
	if !(o.Usage.PrepareMS >= 0 && o.Usage.PrepareMS < 1e7) {
		return o, fmt.Errorf("%w: prepare_ms %v is no time", errWrong, o.Usage.PrepareMS)
	}
	return o, said{Stdout: o.Stdout}.check(hello)
}

// allNew fails if a package, or all of them, needed no installation.
func (o outcome) allNew() error {
	for _, p := range o.Packages {
		if p.Cached {
			return fmt.Errorf("%w: %s was in the cache before", errWrong, p.Name)
		}
	}
	if len(o.Packages) == 0 {
		return fmt.Errorf("%w: no packages", errWrong)
	}
	return nil
}

// find installs the package in the user's cache, if need be, and notes where
// its wheels are.
func (w *wheelHost) find(ctx context.Context) error {
	if w.wheels != nil {
		return nil
	}
	stdout, _, err := w.coderunner.with("run", "--json", "--timeout", "10m", w.file(w.imports)).run(ctx)
	if err != nil {
		return fmt.Errorf("install %s: %w", w.module, err)
	}
	o, err := readOutcome(stdout)
	if err != nil {
		return fmt.Errorf("install %s: %w", w.module, err)
	}
	w.wheels, err = wheelPaths(w.cache.Root(), o)
	return err
}

// wheelPaths gives the downloads of an outcome's packages in a cache.
func wheelPaths(root string, o outcome) ([]string, error) {
	if len(o.Packages) == 0 || len(o.Packages) > maxWheels {
		return nil, fmt.Errorf("%w: %d packages", errWrong, len(o.Packages))
	}
	var paths []string
	for _, p := range o.Packages {
		if len(p.SHA256) != 64 {
			return nil, fmt.Errorf("%w: package %.80q has the digest %.80q", errWrong, p.Name, p.SHA256)
		}
		path := filepath.Join(root, "blobs", "sha256", p.SHA256[:2], p.SHA256)
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("find the wheel of %s: %w", p.Name, err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// readPrepared takes the time that guest/pyodide.mjs took to unpack, which is
// in the last line.
func readPrepared(stdout string, s *sample) error {
	printed, line, ok := strings.Cut(stdout, "PREPARED_MS ")
	v, err := strconv.ParseFloat(strings.TrimSpace(line), 64)
	if !ok || err != nil || !(v > 0 && v < 1e7) {
		return fmt.Errorf("%w: PREPARED_MS %.20q is no time", errWrong, line)
	}
	s.Own = time.Duration(v * float64(time.Millisecond))
	return said{Stdout: printed}.check(hello)
}

// writeWheels shows all packages in one table.
func writeWheels(w io.Writer, results []*result) error {
	_, err := fmt.Fprint(w, "\nwheels: compiled packages (medians in ms; n: ours/peer's runs; of the peer's time: ratio of the medians)\n")
	if err != nil {
		return err
	}
	t := table{head: []string{"", "coderunner", "peer", "n", "of the peer's time", "unpacked before", "of its time"}}
	wall, own := metric{of: (*row).wall}, metric{of: (*row).own}
	for _, res := range results {
		c := res.benchCase
		module, kind, _ := strings.Cut(c.name, "/")
		m := wall
		if kind == wheelHot {
			m = own
		}
		t.rows = append(t.rows, wheelRow(module+": "+c.title, res, m))
		if kind == wheelCold {
			t.rows = append(t.rows, wheelRow(module+": of it preparing", res, own))
		}
	}
	if err := t.write(w); err != nil {
		return err
	}
	const notes = `cold install: ours with a cache of the runtimes only: resolve, download, verify, compile, import (preparing: prepare_ms).
  What compiles for a minute or more (pymupdf) is installed once, whatever -n is.
  The peer is a process that loads Pyodide, unpacks the same wheels from files, and imports: no network (preparing: unpacking).
warm import, a process: from its start to its end. The peer keeps nothing and does the same as for the cold install;
  "unpacked before" has the wheels unpacked in a folder that it mounts, and may keep bytecode there.
warm import, over stdio: a fresh interpreter for each call. The peer's is from its own snapshot, which has no packages, in a
  process that is up; it unpacks the wheels each time.
`
	if _, err := io.WriteString(w, notes); err != nil {
		return err
	}
	return errors.Join(writeWrong(w, results), writeFailures(w, results))
}

// wheelRow is one line: ours, the peer, and the third if there is one.
func wheelRow(name string, res *result, m metric) []string {
	our, beside := res.rows[0], res.first(peer)
	cells := []string{name, matrixCell(our, m), matrixCell(beside, m),
		fmt.Sprintf("%d/%d", m.of(our).N, m.of(beside).N), times(speed(beside, our, m)), "", ""}
	if third := res.first(another); third != nil {
		cells[5], cells[6] = matrixCell(third, m), times(speed(third, our, m))
	}
	return cells
}
