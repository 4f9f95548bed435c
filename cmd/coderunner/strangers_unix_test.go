//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// plant puts into a directory what another user of the machine may put there
// under the names that we use. It returns what is then there.
func plant(t *testing.T, dir, outside string) map[string]fs.FileInfo {
	t.Helper()
	var errs []error
	for _, prefix := range []string{"coderunner-deno-", "coderunner-cache-", "coderunner-code-"} {
		at := func(name string) string { return filepath.Join(dir, prefix+name) }
		lock := func(name string) string {
			errs = append(errs, os.Mkdir(at(name), 0o700))
			return filepath.Join(at(name), "lock")
		}
		l, err := net.Listen("unix", at("3"))
		if err == nil {
			t.Cleanup(func() { l.Close() })
		}
		errs = append(errs, err,
			syscall.Mkfifo(at("1"), 0o666),
			os.Symlink(outside, at("2")),
			syscall.Mkfifo(lock("4"), 0o666),
			os.Symlink(filepath.Join(outside, "made"), lock("5")),
			os.Mkdir(lock("6"), 0o700),
			os.WriteFile(at("7"), nil, 0o600),
			os.WriteFile(lock("8"), nil, 0o600), os.Chmod(at("8"), 0o777),
		)
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return standing(t, dir)
}

func standing(t *testing.T, dir string) map[string]fs.FileInfo {
	t.Helper()
	there := map[string]fs.FileInfo{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			there[path], err = d.Info()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// endure runs a command that must end, and leave all that was planted as it is.
func endure(t *testing.T, cmd *exec.Cmd, planted map[string]fs.FileInfo, dir, outside string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.Stdin = strings.NewReader("1 + 1")
	cmd.WaitDelay = time.Minute // for who holds on to its output
	err = cmd.Run()
	if cmd.ProcessState == nil || !cmd.ProcessState.Exited() {
		t.Fatalf("it did not end: %v %s", err, &errs)
	}
	now := standing(t, dir)
	for path, was := range planted {
		if is := now[path]; is == nil || !os.SameFile(was, is) || was.Mode() != is.Mode() {
			t.Errorf("%s (%v) was changed", path, was.Mode())
		}
		delete(now, path)
	}
	for path := range now {
		t.Errorf("%s is left", path)
	}
	if made, _ := os.ReadDir(outside); len(made) > 0 {
		t.Errorf("made through a link: %v", made)
	}
	return out.String(), errs.String(), err
}

// TestStrangers has everything in the shared temporary directories that another
// user may put there: no start waits for it, and nothing is made through it.
func TestStrangers(t *testing.T) {
	dir, err := os.MkdirTemp("", "s") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	temp, outside := filepath.Join(dir, "t"), filepath.Join(dir, "o")
	bin := filepath.Join(dir, "coderunner")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Mkdir(outside, 0o777), os.Chmod(outside, 0o777),
		os.Chmod(dir, 0o755), os.Chmod(temp, 0o777|fs.ModeSticky), copyFile(selfAs(t, "coderunner"), bin)); err != nil {
		t.Fatal(err)
	}
	planted := plant(t, temp, outside)
	// A file is no cache, so that there is a temporary one, too.
	env := []string{"TMPDIR=" + temp, "CODE_RUNNER_CACHE_DIR=" + bin, "CODE_RUNNER_OFFLINE=1"}
	users := map[string]*syscall.SysProcAttr{"the same user": nil}
	if os.Geteuid() == 0 {
		users["another user"] = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	for name, user := range users {
		for _, language := range []string{"typescript", "python"} {
			t.Run(name+" "+language, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				cmd := exec.CommandContext(ctx, bin, "run", "--language", language, "-")
				cmd.Env, cmd.Dir, cmd.SysProcAttr = env, temp, user
				_, stderr, _ := endure(t, cmd, planted, temp, outside)
				if code := cmd.ProcessState.ExitCode(); code != codeOurFault || !strings.Contains(stderr, "fetching is switched off") {
					t.Errorf("exit code %d: %s; want that it goes on until it needs the runtime", code, stderr)
				}
			})
		}
	}
}

// TestStrangersRun is the same with runtimes, and with shared memory.
func TestStrangersRun(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	cacheDir := testcache.Dir()
	dir, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	temp, outside := filepath.Join(dir, "t"), filepath.Join(dir, "o")
	if err := errors.Join(os.Mkdir(temp, 0o700), os.Mkdir(outside, 0o700)); err != nil {
		t.Fatal(err)
	}
	planted := plant(t, temp, outside)
	const sharedMemory = "/dev/shm"
	for name := range map[string]bool{"coderunner-code-stranger": true, "coderunner-code-9-stranger": true} {
		path := filepath.Join(sharedMemory, name)
		if err := os.Mkdir(path, 0o700); err == nil {
			defer os.RemoveAll(path)
			if err := syscall.Mkfifo(filepath.Join(path, "lock"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, language := range []string{"typescript", "python"} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, selfAs(t, "coderunner"), "run", "--language", language, "-")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp, "CODE_RUNNER_CACHE_DIR="+cacheDir)
		if out, stderr, err := endure(t, cmd, planted, temp, outside); err != nil || out != "2\n" {
			t.Errorf("%s: %q, %v, %s", language, out, err, stderr)
		}
	}
}

// TestSignalEndsStart sends a signal while a start waits for something that
// never comes.
func TestSignalEndsStart(t *testing.T) {
	// What is written arrives only when it is read: more than a pipe holds.
	much := bytes.Repeat([]byte("#"), 1<<17)
	start := func(t *testing.T, file string) (cmd *exec.Cmd, stdin io.WriteCloser, ended chan error) {
		cmd = exec.Command(selfAs(t, "coderunner"), "run", "--language", "python", file)
		cmd.Env = append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+t.TempDir())
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		ended = make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		return cmd, stdin, ended
	}
	end := func(t *testing.T, cmd *exec.Cmd, ended chan error) {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("it goes on")
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	t.Run("reading a named pipe", func(t *testing.T) {
		t.Parallel()
		fifo := filepath.Join(t.TempDir(), "program.py")
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, _, ended := start(t, fifo)
		f, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits for the other end
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		end(t, cmd, ended)
	})
	t.Run("reading stdin", func(t *testing.T) {
		t.Parallel()
		cmd, stdin, ended := start(t, "-")
		defer stdin.Close()
		if _, err := stdin.Write(much); err != nil {
			t.Fatal(err)
		}
		end(t, cmd, ended)
	})
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
