package deno

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/sandbox"
	"coderunner/runners"
	"coderunner/runners/deno/process"
)

// TestLeaving closes a Runner while the processes of its programs still end, which go on making
// files until then. Nothing of them is left.
func TestLeaving(t *testing.T) {
	for range 5 {
		r := open(t, "", func(c *process.Config) { c.Leaving = true })
		o := run(t, r, runners.Request{Code: `new Worker("data:text/javascript,for (let i = 0;; i++) Deno.writeTextFileSync('f' + i, '')", { type: "module" });
			while (![...Deno.readDirSync(".")].some(({ name }) => name === "f0")) await new Promise((done) => setTimeout(done));
			globalThis.dispatchEvent(new Event("unload")); "done"; Deno.exit(0);`})
		if o.Status != runners.Succeeded {
			t.Errorf("%s: %+v", o.Status, o.Error)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(r.RunDirs.Path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", r.RunDirs.Path, err)
		}
		for begun := time.Now(); len(processes(t, r.RunDirs.Path)) > 0; {
			if time.Since(begun) > time.Minute {
				t.Fatal("the process lives on")
			}
		}
	}
}

// TestNoNetworks runs a program where it cannot have a network of its own.
func TestNoNetworks(t *testing.T) {
	const variable = "CODERUNNER_DENO_TEST_NETWORKS"
	if os.Getenv(variable) == "" {
		if testing.Short() {
			t.Skip("needs Deno")
		}
		if sandbox.OwnNetwork() != nil {
			t.Skip("needs a user namespace")
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoNetworks$", "-test.v")
		cmd.Env = append(os.Environ(), variable+"=0")
		mine := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: mine(os.Getuid()), GidMappings: mine(os.Getgid())}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err := os.WriteFile("/proc/sys/user/max_net_namespaces", []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
	r := open(t, "", func(c *process.Config) { c.Leaving = true })
	if o := run(t, r, runners.Request{Code: `Deno.listen({ port: 0 })`}); o.Error == nil || o.Error.Type != "NotCapable" {
		t.Errorf("%s: %+v", o.Status, o.Error)
	}
	if sandbox.OwnNetwork() == nil {
		t.Error("there is a network of its own")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
