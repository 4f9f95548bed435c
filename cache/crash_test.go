package cache

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func init() {
	children["half"] = childHalf
	children["churn"] = childChurn
	children["hold"] = childHold
}

// child is this test binary in one of its roles. Its lines arrive as it
// prints them.
type child struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin io.WriteCloser
}

func startChild(t *testing.T, role, root, arg string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CACHE_TEST_CHILD="+role, "CACHE_TEST_ROOT="+root, "CACHE_TEST_ARG="+arg)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	check(t, err)
	in, err := cmd.StdinPipe()
	check(t, err)
	check(t, cmd.Start())
	c := &child{cmd, bufio.NewScanner(out), in}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return c
}

// expect waits for the child's next line.
func (c *child) expect(t *testing.T, want string) {
	t.Helper()
	if !c.lines.Scan() || c.lines.Text() != want {
		t.Fatalf("the child says %q, want %q", c.lines.Text(), want)
	}
}

func (c *child) kill(t *testing.T) {
	t.Helper()
	check(t, c.cmd.Process.Kill())
	_ = c.cmd.Wait()
}

// childHalf stops in the middle of what arg names, with its lock held.
func childHalf(root, arg string) error {
	c, err := Open(root)
	if err != nil {
		return err
	}
	ctx := context.Background()
	stop := func() { fmt.Println("half"); io.Copy(io.Discard, os.Stdin) }
	switch arg {
	case "file":
		_, err = c.File(ctx, "kind", "key", func(_ context.Context, w io.Writer) error {
			w.Write(payload[:len(payload)/2])
			stop()
			return nil
		})
	case "dir":
		_, err = c.Dir(ctx, "kind", "key", func(_ context.Context, dir string) error {
			check := os.WriteFile(filepath.Join(dir, "a"), payload, 0o600)
			stop()
			return check
		})
	case "blob":
		_, _, err = c.Blob(ctx, sha256Of(payload), func(_ context.Context, f *os.File) error {
			f.Write(payload)
			stop()
			return nil
		})
	case "installed": // everything renamed, nothing said yet
		e, eerr := newEntry(c.root, Trees, "kind", "key")
		if eerr != nil {
			return eerr
		}
		_, err = c.get(ctx, e.section, e.kind, e.key, func(data string) error {
			if err := errors.Join(os.Mkdir(data, 0o700), os.WriteFile(filepath.Join(data, "a"), payload, 0o600)); err != nil {
				return err
			}
			fresh := filepath.Dir(data)
			if _, err := finish(fresh, "kind", "key"); err != nil {
				return err
			}
			if err := e.install(fresh, filepath.Join(filepath.Dir(fresh), "old"), func() error { return c.verifier.entry(e, nil) }); err != nil {
				return err
			}
			stop()
			return nil
		})
	}
	return fmt.Errorf("not stopped: %w", err)
}

// A process is killed at a known point. The next one gets its lock, finds
// nothing to trust, does the work, and has cleared the leftovers away.
func TestKilledHalfway(t *testing.T) {
	for _, what := range []string{"file", "dir", "blob"} {
		t.Run(what, func(t *testing.T) {
			root := t.TempDir()
			p := startChild(t, "half", root, what)
			p.expect(t, "half")
			bystander := open(t, root)                                                                                             // while it lives, its things stay
			if left, _ := filepath.Glob(filepath.Join(root, processes, fmt.Sprint(p.cmd.Process.Pid)+"-*", "*")); len(left) != 3 { // and its lock and list
				t.Errorf("Open removed what a living process has in tmp: %v is left", left)
			}
			check(t, bystander.Close())
			p.kill(t)
			c := open(t, root)
			wantNothing(t, c)

			ctx := context.Background()
			var path string
			var err error
			switch what {
			case "file":
				path, err = c.File(ctx, "kind", "key", writeText(string(payload)))
			case "dir":
				path, err = c.Dir(ctx, "kind", "key", func(_ context.Context, dir string) error {
					return os.WriteFile(filepath.Join(dir, "a"), payload, 0o600)
				})
				path = filepath.Join(path, "a")
			case "blob":
				path, _, err = keep(c, payload)
			}
			check(t, err)
			if got, err := os.ReadFile(path); !bytes.Equal(got, payload) || err != nil {
				t.Errorf("%s: %d bytes, %v", path, len(got), err)
			}
			wantNoTemps(t, c)
		})
	}
}

// Killed right after the rename, the work is not lost.
func TestKilledAfterInstall(t *testing.T) {
	root := t.TempDir()
	p := startChild(t, "half", root, "installed")
	p.expect(t, "half")
	p.kill(t)
	c := open(t, root)
	path, err := c.Dir(context.Background(), "kind", "key", unused[string](t))
	check(t, err)
	if got, err := os.ReadFile(filepath.Join(path, "a")); !bytes.Equal(got, payload) || err != nil {
		t.Errorf("%s: %d bytes, %v", path, len(got), err)
	}
	wantNoTemps(t, c)
}

// childHold takes a lock until it is killed or its stdin ends.
func childHold(root, arg string) error {
	c, err := Open(root)
	if err != nil {
		return err
	}
	_, err = c.File(context.Background(), "kind", "key", func(_ context.Context, w io.Writer) error {
		fmt.Println("building")
		io.Copy(io.Discard, os.Stdin)
		_, err := io.WriteString(w, "by the child")
		return err
	})
	return errors.Join(err, c.Close())
}

// One process waits for what another builds, and takes over if it dies.
func TestProcessesWaitForEachOther(t *testing.T) {
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint("killed=", killed), func(t *testing.T) {
			root := t.TempDir()
			p := startChild(t, "hold", root, "")
			p.expect(t, "building")
			c := open(t, root)
			impatient, cancel := context.WithTimeout(context.Background(), 3*lockRetry)
			defer cancel()
			if _, err := c.File(impatient, "kind", "key", unused[io.Writer](t)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while the child builds: %v, want the deadline", err)
			}
			want := "by the child"
			if killed {
				p.kill(t)
				want = "by the parent"
			} else {
				p.stdin.Close()
			}
			path, err := c.File(context.Background(), "kind", "key", writeText("by the parent"))
			check(t, err)
			if got, _ := os.ReadFile(path); string(got) != want {
				t.Errorf("the file is %q, want %q", got, want)
			}
		})
	}
}

const churnKeys = 6

// childChurn opens caches and makes, verifies, prunes and makes entries again,
// without end, and says when it is in the middle of one.
func childChurn(root, _ string) error {
	ctx := context.Background()
	for round := 0; ; round++ {
		c, err := Open(root)
		if err != nil {
			return err
		}
		if c.Warning() != "" {
			return errors.New(c.Warning())
		}
		for k := range churnKeys {
			dir, err := c.Dir(ctx, "churn", fmt.Sprint(k), func(_ context.Context, dir string) error {
				fmt.Println("writing")
				return writeHammer(dir, k)
			})
			if err != nil {
				return err
			}
			// Another may have removed it since: only wrong contents count.
			if err := readHammer(dir, k); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			if _, err := c.File(ctx, "churn", fmt.Sprint(k), func(_ context.Context, w io.Writer) error {
				fmt.Println("writing")
				_, err := w.Write(hammerText(k, 100))
				return err
			}); err != nil {
				return err
			}
			fmt.Println("keeping")
			if _, _, err := keep(c, payload); err != nil {
				return err
			}
		}
		c.verifier.settleTime = 0
		if _, err := c.File(ctx, "churn", "large", func(_ context.Context, w io.Writer) error {
			fmt.Println("writing")
			_, err := w.Write(large)
			return err
		}); err != nil {
			return err
		}
		switch round % 4 {
		case 1:
			fmt.Println("clearing")
			_, err = c.Clear(ctx)
		case 3:
			fmt.Println("pruning")
			_, err = c.Prune(ctx, 0)
		}
		if err != nil {
			return err
		}
		if err := c.Close(); err != nil {
			return err
		}
	}
}

// Processes that write and clear one cache are killed at whatever point they
// have got to, again and again. Afterwards everything that is there is whole.
func TestKilledAnywhere(t *testing.T) {
	rounds := 12
	if testing.Short() {
		rounds = 3
	}
	root := t.TempDir()
	ctx := context.Background()
	for round := range rounds {
		var kids []*child
		for range 3 {
			kids = append(kids, startChild(t, "churn", root, ""))
		}
		for i, kid := range kids {
			for range 5 + 7*i + 3*round { // they run on while we count: the point is theirs
				if !kid.lines.Scan() {
					t.Fatal("a child has ended")
				}
				if strings.HasPrefix(kid.lines.Text(), "error") {
					t.Fatal(kid.lines.Text())
				}
			}
			kid.kill(t)
		}
		c := open(t, root)
		wantNoTemps(t, c)
		if problems, err := c.Verify(ctx); err != nil || len(problems) > 0 {
			t.Fatalf("round %d: Verify = %v, %v", round, problems, err)
		}
		for k := range churnKeys {
			dir, err := c.Dir(ctx, "churn", fmt.Sprint(k), func(_ context.Context, dir string) error { return writeHammer(dir, k) })
			check(t, err)
			check(t, readHammer(dir, k))
			path, err := c.File(ctx, "churn", fmt.Sprint(k), func(_ context.Context, w io.Writer) error {
				_, err := w.Write(hammerText(k, 100))
				return err
			})
			check(t, err)
			if got, err := os.ReadFile(path); !bytes.Equal(got, hammerText(k, 100)) || err != nil {
				t.Fatalf("round %d: %s: %d bytes, %v", round, path, len(got), err)
			}
		}
		check(t, c.Close())
	}
}
