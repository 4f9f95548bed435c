package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestBundleBesideBinary makes a bundle, and runs programs from it for somebody who has no
// network and no cache yet.
func TestBundleBesideBinary(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: fetches and compiles the runtimes")
	}
	need(t, "npx", "python3")
	r := releaseOfThis(t)
	name, dir := r.platforms[0].executable(), t.TempDir()
	binary, bundle := filepath.Join(dir, name), filepath.Join(dir, "coderunner-bundle")
	if err := os.Link(filepath.Join(r.out, "bin", runtime.GOOS+"_"+runtime.GOARCH, name), binary); err != nil {
		t.Fatal(err)
	}
	output(t, binary, "bundle", bundle, "attrs", "npm:zod@4")
	before := digestsOf(t, bundle)
	u := newUser(t) // whose environment switches fetching off
	for _, args := range [][]string{
		{"--language", "python", "-c", "import attrs; print(6 * 7)"},
		{"--language", "typescript", "-c", `import { z } from "npm:zod@4"; console.log(z.number().parse(42))`},
		{"--language", "bash", "-c", "python3 -c 'print(6 * 7)'"},
	} {
		if out := u.output(t, binary, append([]string{"run"}, args...)...); out != "42\n" {
			t.Errorf("%q: %s", args, out)
		}
	}
	if !slices.Equal(before, digestsOf(t, bundle)) {
		t.Error("the bundle was written to")
	}
	output(t, binary, "bundle", bundle, "attrs") // again, on what is there
	testPrepared(t, r, bundle)
}

// testPrepared installs packages with the runtimes in them, on an empty machine without a
// network, and wants a program's first output within three seconds of processor time.
func testPrepared(t *testing.T, made *release, bundle string) {
	r := *made
	r.out, r.bundle = t.TempDir(), bundle
	for _, step := range []func(context.Context) error{r.npm, r.wheels} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	programs := [][]string{
		{"run", "--language", "python", "-c", "import attrs; print(6 * 7)"},
		{"run", "--language", "typescript", "-c", "console.log(6 * 7)"},
	}
	first := func(u *user, name string, args ...string) {
		t.Helper()
		begun, cmd := time.Now(), u.command(t, name, args...)
		var errs strings.Builder
		cmd.Stderr = &errs
		out, err := cmd.Output()
		if err != nil || string(out) != "42\n" {
			t.Fatalf("%s %q: %v\n%s%s", name, args, err, out, &errs)
		}
		busy := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		t.Logf("%s %q: %v, of the processor %v", filepath.Base(name), args, time.Since(begun), busy)
		if busy > 3*time.Second {
			t.Errorf("%s %q takes %v of the processor", name, args, busy)
		}
	}
	registry, index := serveNPM(t, filepath.Join(r.out, "npm")), servePyPI(t, filepath.Join(r.out, "pypi"), r.PyPI)
	for _, program := range programs {
		u := newUser(t, "NPM_CONFIG_REGISTRY="+registry, "NPM_CONFIG_UPDATE_NOTIFIER=false", "NPM_CONFIG_AUDIT=false")
		u.output(t, "npx", "-y", r.NPM, "--version") // fetches the packages
		u.env = append(u.env, "NPM_CONFIG_OFFLINE=true")
		first(u, "npx", append([]string{"-y", r.NPM}, program...)...)
		u = newUser(t, "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_CONFIG_FILE="+os.DevNull) // no PIP_INDEX_URL, which programs' packages would come from, too
		env := filepath.Join(u.home, "env")
		u.output(t, "python3", "-m", "venv", env)
		bin := filepath.Join(env, r.platforms[0].scripts())
		u.output(t, filepath.Join(bin, "python"), "-m", "pip", "install", "--index-url", index, r.PyPI)
		first(u, filepath.Join(bin, r.platforms[0].executable()), program...)
	}
}
