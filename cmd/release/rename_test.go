package main

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGoInstall renames a copy of the module, and installs that by go install from a proxy,
// which is a directory: a module with replace directives is refused.
func TestGoInstall(t *testing.T) {
	if os.Getenv("CODERUNNER_LONG") == "" {
		t.Skip("long: compiles everything")
	}
	dir := filepath.Join(t.TempDir(), "clone")
	if err := os.CopyFS(dir, os.DirFS("../..")); err != nil {
		t.Fatal(err)
	}
	if err := rename(t.Context(), dir, owner.Module); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"gofmt -l .", "go vet . ./cmd/release", "go test -run TestImports ."} {
		args := strings.Fields(command)
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil || args[0] == "gofmt" && len(out) > 0 {
			t.Fatalf("%s of the renamed module: %v\n%s", command, err, out)
		}
	}
	// A version that go has not met: it remembers which files one has.
	version := fmt.Sprintf("v%s-test.%d", testVersion, time.Now().UnixNano())
	proxy := proxyOf(t, dir, owner.Module, version)
	others := strings.TrimSpace(output(t, "go", "env", "GOPROXY"))
	bin := t.TempDir()
	install := exec.CommandContext(t.Context(), "go", "install", owner.Module+"/cmd/coderunner@"+version)
	install.Dir = t.TempDir()
	install.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0", "GOFLAGS=-modcacherw", "GONOSUMDB="+owner.Module, "GOPROXY=file://"+filepath.ToSlash(proxy)+","+others)
	modules := strings.TrimSpace(output(t, "go", "env", "GOMODCACHE"))
	defer os.RemoveAll(filepath.Join(modules, "cache/download", filepath.FromSlash(owner.Module)))
	defer os.RemoveAll(filepath.Join(modules, filepath.FromSlash(owner.Module)+"@"+version))
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("go install: %v\n%s", err, out)
	}
	if got, want := output(t, filepath.Join(bin, here().executable()), "--version"), "coderunner version "+version+"\n"; got != want {
		t.Errorf("it is %q, want %q", got, want)
	}
	u := newUser(t)
	if report := u.output(t, filepath.Join(bin, here().executable()), "doctor"); !strings.Contains(report, "installed by go install") {
		t.Errorf("doctor: %s", report)
	}
}

// proxyOf returns a directory that serves a module as a proxy does.
func proxyOf(t *testing.T, dir, module, version string) string {
	t.Helper()
	proxy := t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(module), "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	err = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if d.IsDir() {
			if _, err := os.Stat(filepath.Join(name, "go.mod")); err == nil && rel != "." || d.Name() == ".git" {
				return fs.SkipDir // another module
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		w, err := z.Create(module + "@" + version + "/" + filepath.ToSlash(rel))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	})
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{version + ".mod": readFile(t, filepath.Join(dir, "go.mod")), version + ".info": `{"Version":"` + version + `"}`, "list": version + "\n"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}
