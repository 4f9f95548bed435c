//go:build linux

package hostile

import (
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/sample"
)

// impostors are what this test's binary does under the name of a Deno: a script
// would not do, since the kernel's confinement starts no interpreter.
var impostors = map[string]func(){
	"deno-crashes": func() { _ = syscall.Kill(os.Getpid(), syscall.SIGSEGV); time.Sleep(time.Hour) },
	"deno-exits":   func() { os.Exit(3) },
	"deno-babbles": func() {
		for {
			fmt.Println("babble")
		}
	},
	"deno-hangs": func() {
		signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		for {
			time.Sleep(time.Hour)
		}
	},
}

// impersonate is a process that was started as a Deno.
func impersonate(act func()) {
	if len(os.Args) > 1 && os.Args[1] == "--version" {
		fmt.Println("deno 2.9.5 (impostor)")
		os.Exit(0)
	}
	act()
}

// impostor is the path of one.
func impostor(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := copyInto(os.Args[0], filepath.Dir(path), false); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(filepath.Dir(path), filepath.Base(os.Args[0])), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDeno has a Deno that is none.
//
// Row 64.
func TestDeno(t *testing.T) {
	needsServer(t)
	t.Parallel()
	script := func(text string) string {
		name := filepath.Join(t.TempDir(), "deno")
		if err := os.WriteFile(name, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for name, path := range map[string]string{
		"missing": "/nonexistent/deno", "no program": places.secret, "a directory": "/usr", "another program": "/bin/true",
		"old": script("echo deno 1.0.0"), "crashes": script("kill -SEGV $$"), "floods": script("yes deno"),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := launch(t, settings{env: []string{"CODE_RUNNER_DENO=" + path}})
			if err == nil {
				s.stop()
				t.Fatal("it starts")
			}
			if !strings.Contains(err.Error(), path) {
				t.Errorf("it does not name %s: %v", path, err)
			}
		})
	}
	for _, name := range sample.Of(t, 2, slices.Sorted(maps.Keys(impostors))) {
		t.Run(name+" at every start", func(t *testing.T) {
			s := start(t, settings{env: []string{"CODE_RUNNER_DENO=" + impostor(t, name)}})
			calls := 2
			if name == "deno-hangs" {
				calls = 1 // each waits for half a minute
			}
			for range calls {
				o, text, err := s.run(arguments{Language: javascript, Code: "1", Timeout: 1})
				if err == nil && o.Status == "succeeded" || !strings.Contains(text, "Deno") && name != "deno-babbles" {
					t.Errorf("%+v, %q, %v", o, text, err)
				}
			}
			if err := s.probe(python); err != nil {
				t.Error(err)
			}
			if _, err := s.stop(); err != nil {
				t.Error(err)
			}
			if left := tree(s.temp, nil); left != nil {
				t.Errorf("left: %q", left)
			}
		})
	}
}
