package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"coderunner/internal/procdir"
	"coderunner/internal/sandbox"

	"golang.org/x/sys/unix"
)

// fillVariable has a test binary fill its working directory instead of testing.
const fillVariable = "CODERUNNER_PROCESS_TEST_FILL"

// fillers put things into their working directory. What they keep open or hide
// stays so until they are killed, or their stdin ends.
var fillers = map[string]func() error{
	"little": func() error { return fill("a/b", 100<<20) },
	"much":   func() error { return fill("a", 1200<<20) },
	"unlinked": func() error {
		for i := range 4 {
			name := fmt.Sprint(i)
			if err := fill(name, 300<<20); err != nil {
				return err
			}
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			kept = append(kept, f)
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		return nil
	},
	"links": func() error { // one file of many names is one file
		if err := fill("a", 200<<20); err != nil {
			return err
		}
		for i := range 20 {
			if err := os.Link("a", fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	},
	"deep": func() error {
		for range 40 {
			name := strings.Repeat("d", 200)
			if err := os.Mkdir(name, 0o700); err != nil {
				return err
			}
			if err := os.Chdir(name); err != nil {
				return err
			}
		}
		return fill("a", 1200<<20)
	},
	"very deep": func() error {
		for range 5000 {
			if err := os.Mkdir("d", 0o700); err != nil {
				return err
			}
			if err := os.Chdir("d"); err != nil {
				return err
			}
		}
		return nil
	},
	"closed": func() error {
		if err := fill("d/e/a", 1200<<20); err != nil {
			return err
		}
		for _, dir := range []string{"d/e", "d"} {
			if err := os.Chmod(dir, 0o300); err != nil {
				return err
			}
		}
		return os.Chmod(".", 0)
	},
	"closed and little": func() error {
		if err := fill("d/e/a", 1<<20); err != nil {
			return err
		}
		return os.Chmod("d", 0)
	},
	"many": func() error {
		if err := fill("a", 1); err != nil {
			return err
		}
		for i := range maxDiskFiles + 10 {
			if err := os.Link("a", fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	},
}

var kept []*os.File

// fill makes a file that takes so many bytes on the disk.
func fill(name string, bytes int64) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Fallocate(int(f.Fd()), 0, 0, bytes)
}

func fillAndWait(how string) {
	if err := fillers[how](); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Print("filled")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// TestDisk has processes take more of the disk than they may, and hide it.
func TestDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for how, want := range map[string]Stop{
		"little": "", "links": "", "closed and little": "",
		"much": StopDisk, "unlinked": StopDisk, "deep": StopDisk, "very deep": StopDisk, "closed": StopDisk, "many": StopDisk,
	} {
		t.Run(how, func(t *testing.T) {
			dir := t.TempDir()
			stopped := fillIn(t, self, dir, how)
			if stopped != want {
				t.Errorf("stopped for %q, want %q", stopped, want)
			}
			if err := procdir.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		})
	}
}

// fillIn runs a filler in dir, and returns why it was stopped. One that should
// not be stopped is looked at once more after it has filled.
func fillIn(t *testing.T, self, dir, how string) Stop {
	p, err := Start(Command{Path: self, Dir: dir, Env: []string{fillVariable + "=" + how}, Spec: &sandbox.Spec{Execute: []string{self}, Write: []string{dir}, Attributes: true}})
	if err != nil {
		t.Fatal(err)
	}
	p.visible = visible(p.Pid())
	var watcher, readers sync.WaitGroup
	watcher.Go(func() { p.Watch(t.Context(), dir) })
	said := make([]byte, len("filled"))
	_, err = io.ReadFull(p.Stdout, said)
	readers.Go(func() { p.Copy(os.Stderr, p.Stderr) })
	readers.Go(func() { p.Copy(os.Stderr, p.Stdout) })
	if err == nil {
		u, err := countDisk(p, dir)
		if over := err != nil || u.full && u.bytes > fewBytes; !over {
			p.Stdin.Close()
		}
	} else if p.Stopped() == "" {
		t.Errorf("it said %q", said)
	}
	p.Wait(&readers)
	watcher.Wait()
	return p.Stopped()
}

// TestFullDisk has a process fill a small disk.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("none", dir, "tmpfs", 0, "size=200m,mode=700"); err != nil {
		t.Skipf("mount a small disk: %v", err)
	}
	defer func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	if stopped := fillIn(t, self, work, "little"); stopped != "" {
		t.Errorf("half of the disk is free, and it is stopped for %q", stopped)
	}
	if err := procdir.RemoveAll(filepath.Join(work, "a")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "others"), make([]byte, 95<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if stopped := fillIn(t, self, work, "little"); stopped != StopSpace {
		t.Errorf("stopped for %q, want %q", stopped, StopSpace)
	}
}

// TestExiting has a process that has ended and that nobody has waited for, as one is
// between its last instruction and its end.
func TestExiting(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	if !awaitExit(cmd.Process) {
		t.Fatal("its end cannot be waited for")
	}
	if !exiting(cmd.Process.Pid) {
		t.Error("a process that has ended is not exiting")
	}
	if exiting(os.Getpid()) {
		t.Error("this process is exiting")
	}
}

// TestDiskAsNobody is TestDisk for a user who is not root: modes hold.
func TestDiskAsNobody(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("TestDisk has done it")
	}
	const nobody = 65534
	dir := t.TempDir()
	for above := dir; above != "/"; above = filepath.Dir(above) {
		if info, err := os.Stat(above); err == nil && info.Mode()&0o001 == 0 {
			if err := os.Chmod(above, info.Mode()|0o011); err != nil {
				t.Fatal(err)
			}
		}
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "test")
	if err := os.WriteFile(name, self, 0o755); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(temp, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, "-test.run=^TestDisk$")
	cmd.Dir, cmd.Env = temp, []string{"TMPDIR=" + temp}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
