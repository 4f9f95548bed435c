package procdir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const prefix = "coderunner-test-"

// TestMain lets the test binary be a process that makes a directory, says so,
// and waits to be killed.
func TestMain(m *testing.M) {
	if parent := os.Getenv("PROCDIR_TEST_PARENT"); parent != "" {
		d, err := Make(parent, prefix)
		if err == nil {
			err = os.WriteFile(filepath.Join(d.Path(), "data"), nil, 0o600)
		}
		fmt.Println(d.Path(), err)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// child is a process with a directory in parent.
func child(t *testing.T, parent string) (cmd *exec.Cmd, path string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROCDIR_TEST_PARENT="+parent)
	out, err := cmd.StdoutPipe()
	check(t, err)
	_, err = cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	check(t, err)
	path, failure, _ := strings.Cut(strings.TrimSpace(line), " ")
	if failure != "<nil>" {
		t.Fatal(failure)
	}
	return cmd, path
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestDeadProcessesAreSwept(t *testing.T) {
	parent := t.TempDir()
	other, living := child(t, parent)
	dying, dead := child(t, parent)
	first, err := Make(parent, prefix)
	check(t, err)
	if !exists(living) || !exists(dead) {
		t.Fatal("a living process's directory was removed")
	}
	var users []int
	for _, path := range first.Others(prefix) {
		users = append(users, PID(path, prefix))
	}
	slices.Sort(users)
	want := []int{other.Process.Pid, dying.Process.Pid}
	slices.Sort(want)
	if !slices.Equal(users, want) {
		t.Errorf("users %d, want %d", users, want)
	}
	check(t, dying.Process.Kill())
	_ = dying.Wait()
	second, err := Make(parent, prefix)
	check(t, err)
	if exists(dead) {
		t.Error("a dead process's directory is left")
	}
	if !exists(living) || !exists(first.Path()) {
		t.Error("a living process's directory was removed")
	}
	info, err := os.Lstat(second.Path())
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	check(t, second.Remove())
	check(t, first.Remove())
	check(t, second.Remove()) // twice is fine
	if exists(first.Path()) || exists(second.Path()) {
		t.Error("a removed directory is left")
	}
}

// TestHalfMade has what a process leaves that is killed while it makes or
// removes its directory.
func TestHalfMade(t *testing.T) {
	parent := t.TempDir()
	for name, make := range map[string]func(dir string) error{
		"without a lock": func(string) error { return nil },
		"with a lock":    func(dir string) error { return os.WriteFile(filepath.Join(dir, lockName), nil, 0o600) },
	} {
		dir := filepath.Join(parent, prefix+name)
		check(t, os.Mkdir(dir, 0o700))
		check(t, make(dir))
		d, err := Make(parent, prefix)
		check(t, err)
		if exists(dir) {
			t.Errorf("%s: it is left", name)
		}
		check(t, d.Remove())
	}
}

// TestTogether makes directories in many goroutines, each of which sweeps. None
// may lose its own.
func TestTogether(t *testing.T) {
	parent := t.TempDir()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				d, err := Make(parent, prefix)
				if err != nil {
					t.Error(err)
					return
				}
				name := filepath.Join(d.Path(), "data")
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Error(err)
				}
				if err := d.Remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestMakeNowhere(t *testing.T) {
	_, err := Make(filepath.Join(t.TempDir(), "none"), prefix)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
