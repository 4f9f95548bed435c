//go:build linux

package hostile

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// canary is a word that no server may ever say.
const canary = "c4n4ry-s3cr3t"

var (
	binary     string // the server
	suiteCache string // a copy of the tests' cache, to do with as we like
	suiteTemp  string
)

func TestMain(m *testing.M) {
	if act := impostors[filepath.Base(os.Args[0])]; act != nil {
		impersonate(act)
		return
	}
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playRole(role))
	}
	flag.Parse()
	if testing.Short() {
		os.Exit(m.Run())
	}
	code := func() int {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "prepare the suite:", err)
			return 1
		}
		defer os.RemoveAll(suiteTemp)
		return m.Run()
	}()
	os.Exit(code)
}

// prepare builds the server, makes sure that the tests' cache is warm, and
// copies it.
func prepare() error {
	var err error
	if suiteTemp, err = os.MkdirTemp("", "hostile-"); err != nil {
		return err
	}
	if binary = os.Getenv("CODERUNNER_SERVER"); binary == "" {
		binary = filepath.Join(suiteTemp, "coderunner")
		build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", testcache.Flags, "-o", binary, "coderunner/cmd/coderunner")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	shared := testcache.Dir()
	warm := exec.Command(binary, "warm", "six", "npm:zod@3")
	warm.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+shared)
	if out, err := warm.CombinedOutput(); err != nil {
		return fmt.Errorf("warm: %w\n%s", err, out)
	}
	suiteCache = filepath.Join(suiteTemp, "cache")
	return copyTree(shared, suiteCache)
}

// copyTree makes a cache that is like another one, without what the suite does not use: a cache
// that other tests share may have very many packages. What never changes in place are links to
// the same files; Deno's own cache and the rest are copies.
func copyTree(from, to string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for _, name := range []string{"CACHEDIR.TAG", "size", "files"} {
		if err := copyInto(filepath.Join(from, name), to, name == "files"); err != nil {
			return err
		}
	}
	return errors.Join(copyTrees(filepath.Join(from, "trees"), filepath.Join(to, "trees")),
		copyDeno(filepath.Join(from, "deno"), filepath.Join(to, "deno")))
}

// copyDeno copies Deno's own cache, of its packages one.
func copyDeno(from, to string) error {
	paths, err := filepath.Glob(filepath.Join(from, "npm", "*", "zod"))
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		if e.Name() != "npm" && e.Name() != "gen" {
			paths = append(paths, filepath.Join(from, e.Name()))
		}
	}
	for _, path := range paths {
		rel, _ := filepath.Rel(from, path)
		dir := filepath.Join(to, filepath.Dir(rel))
		if err = errors.Join(err, os.MkdirAll(dir, 0o700)); err == nil {
			err = copyInto(path, dir, false)
		}
	}
	return err
}

// copyTrees copies the trees of unpacked archives and what was made of them.
func copyTrees(from, to string) error {
	paths, err := filepath.Glob(filepath.Join(from, "*", "*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		kind := filepath.Base(filepath.Dir(path))
		if kind == "deno-graph" || kind == "deno-code" || kind == "wheel" && !usedWheel(path) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(to, kind), 0o700); err != nil {
			return err
		}
		if err := copyInto(path, filepath.Join(to, kind), true); err != nil {
			return err
		}
	}
	return nil
}

// usedWheel reports whether a tree is of the package that the suite installs, or
// of a tool that installs packages.
func usedWheel(path string) bool {
	for _, name := range []string{"six.py", "micropip", "packaging"} {
		if exists(filepath.Join(path, "data", name)) {
			return true
		}
	}
	return false
}

// copyInto copies a file or directory into a directory, by links if they may be. What
// goes meanwhile, such as the journal of one of Deno's databases, is left out.
func copyInto(path, dir string, link bool) error {
	ways := [][]string{{"-al"}, {"-a", "--remove-destination"}} // another file system has no links
	if !link {
		ways = ways[1:]
	}
	var out []byte
	var err error
	for _, way := range ways {
		cmd := exec.Command("cp", append(way, path, dir)...)
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		if out, err = cmd.CombinedOutput(); err == nil || onlyWent(string(out), path) {
			return nil
		}
	}
	return fmt.Errorf("copy the cache: %w\n%s", err, out)
}

// onlyWent reports whether a copy failed for nothing but files that went, or that
// others took the place of.
func onlyWent(out, path string) bool {
	for line := range strings.Lines(out) {
		went := strings.HasSuffix(line, ": No such file or directory\n") || strings.HasSuffix(line, "as it was replaced while being copied\n")
		if !went || !strings.Contains(line, "'"+path) {
			return false
		}
	}
	return true
}

// startOnMain starts a process from a thread that does not end: the kernel
// would take its end for ours.
func startOnMain(cmd *exec.Cmd) error {
	result := make(chan error)
	starterOnce <- func() { result <- cmd.Start() }
	return <-result
}

var starterOnce = func() chan func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
}()

const roleVariable = "CODERUNNER_HOSTILE_ROLE"

// What becomes another process does so on the first thread: the kernel gives a
// clock to no other one.
func init() {
	if os.Getenv(roleVariable) != "" {
		runtime.LockOSThread()
	}
}

// playRole is this test's process as somebody else.
func playRole(role string) int {
	switch role {
	case "poor": // becomes a server that has to do without something
		err := bePoor(os.Args[1:])
		fmt.Fprintln(os.Stderr, "be poor:", err)
		return 1
	case "network": // is the only machine of a network
		if err := beNetwork(); err != nil {
			fmt.Fprintln(os.Stderr, "be a network:", err)
			return 1
		}
	case "client": // starts a server, calls it, and waits to be killed
		cmd := exec.Command(os.Args[len(os.Args)-1])
		in, err := cmd.StdinPipe()
		if err != nil {
			return 1
		}
		cmd.Stdout = os.Stdout
		if err := cmd.Start(); err != nil {
			return 1
		}
		fmt.Fprintln(os.Stderr, cmd.Process.Pid)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"javascript","code":"for(;;);","timeout_seconds":600}}}`)
		fmt.Fprintln(in, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python","code":"while True: pass","timeout_seconds":600}}}`)
		time.Sleep(5 * time.Minute) // the test kills us
	}
	return 0
}
