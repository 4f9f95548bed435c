package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"coderunner/internal/testchild"
)

func TestMain(m *testing.M) {
	testchild.Ordinary()
	code := m.Run()
	if made.dir != "" {
		_ = os.RemoveAll(made.dir)
	}
	os.Exit(code)
}

const testVersion = "1.2.3"

// made is a release of this platform that tests share: with the flags of go test, whose
// compiled packages are there already.
var made struct {
	once sync.Once
	dir  string
	r    *release
	err  error
}

func releaseOfThis(t *testing.T) *release {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a release")
	}
	made.once.Do(func() {
		if made.dir, made.err = os.MkdirTemp("", "release"); made.err != nil {
			return
		}
		ctx := context.Background()
		if made.r, made.err = newRelease(ctx, testVersion, filepath.Join(made.dir, "dist"), "this"); made.err == nil {
			if os.Getenv("CODERUNNER_LONG") == "" {
				made.r.goFlags, made.r.goEnv = nil, nil
			}
			made.err = made.r.make(ctx)
		}
	})
	if made.err != nil {
		t.Fatal(made.err)
	}
	return made.r
}

// releaseOfAll is a release of all platforms whose binaries are short texts, for what
// only names them.
func releaseOfAll(t *testing.T) *release {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	r, err := newRelease(t.Context(), "v1.2.3-rc.4", t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.platforms {
		r.binaries[p] = []byte("the binary for " + p.String())
	}
	for _, step := range r.steps()[1:] {
		if step.name == "lists of parts" { // which reads the binaries
			continue
		}
		if err := step.do(t.Context()); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
	}
	return r
}

func TestNames(t *testing.T) {
	err := owner.check()
	if err == nil {
		t.Fatal("the placeholders are taken for names")
	}
	for field := range reflect.TypeFor[names]().Fields() {
		if !strings.Contains(err.Error(), "  "+field.Name+" is ") {
			t.Errorf("%v: lacks %s", err, field.Name)
		}
	}
	mine := names{"github.com/a/b", "@a/b", "b", "ghcr.io/a/b", "io.github.a/b", "A", "https://b.dev", "https://b.dev/releases", "https://b.dev/latest", "a/tap"}
	if err := mine.check(); err != nil {
		t.Error(err)
	}
}

func TestRefused(t *testing.T) {
	out := filepath.Join(t.TempDir(), "dist")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-publish", "1.2.3"}, "nothing is published: these names are placeholders"},
		{[]string{"1.2"}, "not of the form"},
		{[]string{"1.2.3-beta"}, "not of the form"},
		{[]string{"01.2.3"}, "not of the form"},
		{[]string{"-only", "plan9/amd64", "1.2.3"}, `"plan9/amd64"`},
		{nil, "name one version"},
	} {
		err := run(t.Context(), append([]string{"-out", out}, tt.args...))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("release %v: %v, want %q", tt.args, err, tt.want)
		}
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := run(t.Context(), []string{"-out", out, "1.2.3"}); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Error(err)
	}
	if _, err := os.Stat(out); err == nil {
		t.Errorf("%s was made", out)
	}
}

// TestReproducible builds this platform's release twice, from two directories and with
// two caches of compiled packages, and wants the same files.
func TestReproducible(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: compiles everything twice")
	}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var digests [2][]string
	for i, dir := range []string{root, filepath.Join(t.TempDir(), "elsewhere")} {
		if dir != root {
			if err := os.CopyFS(dir, os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			t.Setenv("GOCACHE", t.TempDir())
			t.Setenv("LC_ALL", "C")
			t.Setenv("TZ", "Asia/Kolkata")
		}
		t.Chdir(dir)
		out := filepath.Join(t.TempDir(), "dist")
		if err := run(t.Context(), []string{"-out", out, "-only", "this", "-images=false", testVersion}); err != nil {
			t.Fatal(err)
		}
		digests[i] = digestsOf(t, out)
	}
	if !slices.Equal(digests[0], digests[1]) {
		t.Errorf("two builds differ:\n%s\n\n%s", strings.Join(digests[0], "\n"), strings.Join(digests[1], "\n"))
	}
}

// digestsOf returns a line for each file of a directory.
func digestsOf(t *testing.T, dir string) (lines []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dir, path)
		lines = append(lines, fmt.Sprintf("%x %s", sha256.Sum256(data), filepath.ToSlash(rel)))
		return err
	})
	if err != nil || len(lines) < 5 {
		t.Fatalf("%s has %d files: %v", dir, len(lines), err)
	}
	return lines
}

// TestBinaryKnowsItsRelease: its version and day, and it needs no loader.
func TestBinaryKnowsItsRelease(t *testing.T) {
	r := releaseOfThis(t)
	binary := filepath.Join(r.out, "bin", runtime.GOOS+"_"+runtime.GOARCH, r.platforms[0].executable())
	if got, want := output(t, binary, "--version"), "coderunner version 1.2.3\n"; got != want {
		t.Errorf("--version: %q, want %q", got, want)
	}
	if got, want := output(t, binary, "version"), "coderunner 1.2.3 ("+r.date.Format("2006-01-02")+")\n"; !strings.HasPrefix(got, want) {
		t.Errorf("version: %q, want %q", got, want)
	}
	if info := output(t, "go", "version", "-m", binary); os.Getenv("CODERUNNER_LONG") != "" &&
		(!strings.Contains(info, "CGO_ENABLED=0") || !strings.Contains(info, "-trimpath=true") || strings.Contains(info, "vcs.")) {
		t.Errorf("it was built by other settings: %s", info)
	}
	if size := len(r.binaries[r.platforms[0]]); os.Getenv("CODERUNNER_LONG") != "" && size > 30e6 {
		t.Errorf("the binary has %d bytes; RATIONALE.md says where they are", size)
	}
}

func output(t *testing.T, command string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", command, args, err, out, &errs)
	}
	return string(out)
}

// TestManifests wants package managers' manifests to be well formed, with the digests of
// the archives that are there.
func TestManifests(t *testing.T) {
	r := releaseOfAll(t)
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	sums := string(read("download/SHA256SUMS"))
	digest := func(system string) string {
		for line := range strings.Lines(sums) {
			sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
			if strings.Contains(name, "_"+strings.Replace(system, "/", "_", 1)+".") {
				data := sha256.Sum256(read("download/" + name))
				if hex.EncodeToString(data[:]) != sum {
					t.Errorf("SHA256SUMS: %s is another file", name)
				}
				return sum
			}
		}
		t.Fatalf("SHA256SUMS has no %s:\n%s", system, sums)
		return ""
	}
	var scoop struct {
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(read("scoop/coderunner.json"), &scoop); err != nil {
		t.Fatal(err)
	}
	if a := scoop.Architecture; len(a) != 2 || a["64bit"].Hash != digest("windows/amd64") || a["arm64"].Hash != digest("windows/arm64") ||
		a["64bit"].URL != r.Downloads+"/v1.2.3-rc.4/coderunner_1.2.3-rc.4_windows_amd64.zip" {
		t.Errorf("Scoop: %+v", a)
	}
	var winget struct {
		Installers []struct{ Architecture, InstallerURL, InstallerSha256 string }
	}
	for _, name := range []string{"", "locale.en-US.", "installer."} {
		var any map[string]any
		text := read("winget/Example.coderunner." + name + "yaml")
		if err := yaml.Unmarshal(text, &any); err != nil || any["PackageVersion"] != "1.2.3-rc.4" || any["ManifestType"] == nil {
			t.Errorf("winget %s: %v, %v", name, any, err)
		}
		if err := yaml.Unmarshal(bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("InstallerSha"), []byte("installersha")), []byte("Installers"), []byte("installers")), &winget); err != nil {
			t.Error(err)
		}
	}
	if i := winget.Installers; len(i) != 2 || i[1].InstallerSha256 != digest("windows/arm64") {
		t.Errorf("winget: %+v", i)
	}
	formula := string(read("homebrew/coderunner.rb"))
	for _, system := range []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64"} {
		if strings.Count(formula, `sha256 "`+digest(system)+`"`) != 1 {
			t.Errorf("Homebrew lacks %s:\n%s", system, formula)
		}
	}
	if _, err := exec.LookPath("ruby"); err == nil {
		output(t, "ruby", "-c", filepath.Join(r.out, "homebrew/coderunner.rb"))
	}
	script := string(read("download/install.ps1"))
	for _, system := range []string{"windows/amd64", "windows/arm64"} {
		if !strings.Contains(script, "$want = '"+digest(system)+"'") {
			t.Errorf("install.ps1 lacks %s:\n%s", system, script)
		}
	}
}

// TestArm64 runs the binary for the other processor of Linux under an emulator.
func TestArm64(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" || here().String() != "linux/amd64" {
		t.Skip("long: compiles everything")
	}
	need(t, "qemu-aarch64-static")
	r, err := newRelease(t.Context(), testVersion, t.TempDir(), "linux/arm64")
	if err == nil {
		err = r.build(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	u, binary := newUser(t), filepath.Join(r.out, "bin/linux_arm64/coderunner")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"version"}, "coderunner 1.2.3 ("},
		{[]string{"run", "--language", "bash", "-c", "seq 4 | paste -sd+ | bc"}, "10\n"},
		{[]string{"doctor", "--json"}, `"platform": "linux/arm64"`},
	} {
		// Its languages fail without a network, and its report is there.
		if out, _ := u.command(t, "qemu-aarch64-static", append([]string{binary}, tt.args...)...).Output(); !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: %s", tt.args, out)
		}
	}
	u.answers(t, "qemu-aarch64-static", binary)
}
