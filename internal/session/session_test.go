package session_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
)

func open(t *testing.T, o session.Options) *session.Store {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	s, err := session.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fake is a runner whose variables are the text of a file that it saves.
// Its programs are functions of these and of the files.
type fake func(variables string, files map[string]string) (after string, status runners.Status)

func (f fake) run(_ context.Context, req runners.Request) (*runners.Outcome, error) {
	tree := fstest.MapFS{}
	files := map[string]string{}
	for _, sf := range req.Session.Files {
		if sf.Mode.IsRegular() {
			b, err := sf.Read()
			if err != nil {
				return nil, err
			}
			files[sf.Path] = string(b)
		}
	}
	saved, err := req.Session.Saved()
	if err != nil {
		return nil, err
	}
	before := ""
	if path := saved["variables"]; path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		before = string(b)
	}
	after, status := f(before, files)
	for name, data := range files {
		tree[name] = &fstest.MapFile{Data: []byte(data), Mode: 0o644}
		if target, ok := strings.CutPrefix(data, "-> "); ok {
			tree[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
		}
	}
	left, err := req.Session.Leave(tree, runners.File{Path: req.Filename, Data: []byte(req.Code)})
	if err != nil {
		return nil, err
	}
	err = os.WriteFile(filepath.Join(req.Session.Save, "variables"), []byte(after), 0o600)
	return &runners.Outcome{Status: status, Files: left.Changed, FilesOmitted: left.Omitted, Continued: &runners.Continued{Kept: true}}, err
}

// call runs a program in a session, which must work.
func call(t *testing.T, s *session.Store, name string, f fake) *runners.Outcome {
	t.Helper()
	out, err := s.Run(t.Context(), session.Call{Session: name, Request: runners.Request{Language: runners.Python, Code: "x = 1"}}, f.run)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// show returns the variables and the files of a session.
func show(t *testing.T, s *session.Store, name string) string {
	t.Helper()
	var shown string
	look := fake(func(variables string, files map[string]string) (string, runners.Status) {
		shown = variables
		for _, path := range slices.Sorted(maps.Keys(files)) {
			shown += " " + path + "=" + files[path]
		}
		return "", runners.Failed
	})
	_, err := s.Run(t.Context(), session.Call{Session: name, Rollback: true, Request: runners.Request{Language: runners.Python}}, look.run)
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// add is a program that adds to the variables and to a file.
func add(word string) fake {
	return func(variables string, files map[string]string) (string, runners.Status) {
		files["log"] += word
		return variables + word, runners.Succeeded
	}
}

func refused(t *testing.T, err error, want string) {
	t.Helper()
	var e *session.Error
	if !errors.As(err, &e) || !strings.Contains(e.Message, want) {
		t.Errorf("error %v, want an Error with %q", err, want)
	}
}

// TestContinue goes on in another store of the directory, as another process does.
func TestContinue(t *testing.T) {
	dir := t.TempDir()
	for i, word := range []string{"a", "b", "c"} {
		out := call(t, open(t, session.Options{Dir: dir}), "s", add(word))
		if k := out.Continued; k.State != i+1 || k.Session != "s" || len(out.Files) != 1 {
			t.Errorf("call %d: %+v, files %v", i, k, out.Files)
		}
	}
	if got := show(t, open(t, session.Options{Dir: dir}), "s"); got != "abc log=abc" {
		t.Errorf("got %q", got)
	}
	if got := show(t, open(t, session.Options{Dir: dir, Namespace: "other"}), "s"); got != "" {
		t.Errorf("another namespace sees %q", got)
	}
	list, err := open(t, session.Options{Dir: dir}).List(t.Context())
	if err != nil || len(list) != 1 || list[0].Calls != 3 || list[0].Files != 1 || list[0].Action != "python: x = 1" {
		t.Errorf("%+v %v", list, err)
	}
}

// TestKeep keeps what a call before has saved, without writing it again, unless it is damaged.
func TestKeep(t *testing.T) {
	s := open(t, session.Options{})
	large := strings.Repeat("x", 1<<20)
	save := func(name, text string) func(*runners.Session) error {
		return func(x *runners.Session) error { return os.WriteFile(filepath.Join(x.Save, name), []byte(text), 0o400) }
	}
	keep := func(want bool, names ...string) func(*runners.Session) error {
		return func(x *runners.Session) error {
			if got := x.Keep(names); got != want {
				t.Errorf("Keep(%q) = %v, want %v", names, got, want)
			}
			return nil
		}
	}
	run := func(do ...func(*runners.Session) error) {
		t.Helper()
		_, err := s.Run(t.Context(), session.Call{Session: "a", Request: runners.Request{Language: runners.Python}}, func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			for _, f := range do {
				if err := f(req.Session); err != nil {
					return nil, err
				}
			}
			return &runners.Outcome{Status: runners.Succeeded, Continued: &runners.Continued{Kept: true}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	has := func(x *runners.Session) error {
		saved, err := x.Saved()
		if b, err := os.ReadFile(saved["layer"]); err != nil || string(b) != large || len(saved) != 2 {
			t.Errorf("the layer has %d bytes of %d, %v", len(b), len(large), err)
		}
		if slices.Sort(x.Whole); !slices.Equal(x.Whole, []string{"layer", "memory"}) {
			t.Errorf("%q are known to be whole", x.Whole)
		}
		return err
	}
	run(keep(false, "layer"), save("layer", large), save("memory", "1"))
	run(keep(true, "layer"), save("memory", "2"))
	run(has, keep(false, "layer", "absent"), keep(true, "layer"), save("memory", "3"))
	run(has, keep(true, "layer", "memory"))
	for _, blob := range blobsOf(t, dirOf(t, s)) {
		if info, err := os.Stat(blob); err != nil || info.Size() == int64(len(large)) {
			if err := errors.Join(err, os.Remove(blob), os.WriteFile(blob, []byte(strings.ToUpper(large)), 0o400)); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(keep(false, "layer"), save("memory", "4"))
}

// TestInline has a small interpreter in the files of the states: of those that follow, of a fork and
// of an earlier one that is gone back to.
func TestInline(t *testing.T) {
	s := open(t, session.Options{})
	variables := func(name string) string {
		got, _, _ := strings.Cut(show(t, s, name), " ")
		return got
	}
	call(t, s, "a", func(string, map[string]string) (string, runners.Status) { return "one", runners.Succeeded })
	if blobs, err := filepath.Glob(filepath.Join(dirOf(t, s), "blobs", "*")); err != nil || len(blobs) > 0 {
		t.Errorf("there are blobs: %q, %v", blobs, err)
	}
	if err := s.WriteFile(t.Context(), "a", "f", nil); err != nil {
		t.Fatal(err)
	}
	if got := variables("a"); got != "one" {
		t.Errorf("the state behind that of the interpreter has %q", got)
	}
	if err := s.Fork(t.Context(), "a", "b", 1); err != nil {
		t.Fatal(err)
	}
	call(t, s, "a", func(v string, _ map[string]string) (string, runners.Status) { return v + "two", runners.Succeeded })
	if got, fork := variables("a"), variables("b"); got != "onetwo" || fork != "one" {
		t.Errorf("after another call it has %q, and the fork %q", got, fork)
	}
	if _, err := s.Rewind(t.Context(), "a", 1); err != nil {
		t.Fatal(err)
	}
	if got := variables("a"); got != "one" {
		t.Errorf("gone back to the first state, it has %q", got)
	}
	first := filepath.Join(dirOf(t, s), "..", "b", "states", "00000002")
	text, err := os.ReadFile(first)
	if err = errors.Join(err, os.RemoveAll(filepath.Join(first, "..", "..", "blobs")), os.Mkdir(filepath.Join(first, "..", "..", "blobs"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(first), os.WriteFile(first, append(text[:len(text)-1], 'z'), 0o400)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), session.Call{Session: "b", Request: runners.Request{Language: runners.Python}}, add("").run); err == nil {
		t.Error("what is damaged is used")
	}
}

func blobsOf(t *testing.T, dir string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "blobs", "*"))
	if err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	return list
}

// TestUnsavedIsSaidOnce has a variable that cannot be saved for two calls.
func TestUnsavedIsSaidOnce(t *testing.T) {
	s := open(t, session.Options{})
	for i, why := range []string{"", "a pipe", "a pipe", "a socket", "", "a socket"} {
		out, err := s.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Python, Code: "x = 1"}}, func(ctx context.Context, req runners.Request) (*runners.Outcome, error) {
			out, err := add("a").run(ctx, req)
			out.Continued.Unsaved = why
			return out, err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := out.Continued.Unsaved, []string{"", "a pipe", "", "a socket", "", "a socket"}[i]; got != want {
			t.Errorf("call %d: %q, want %q", i, got, want)
		}
	}
}

// TestLongLine has programs whose first line is longer than what a state keeps of it.
func TestLongLine(t *testing.T) {
	s := open(t, session.Options{})
	for _, n := range []int{150, 190, 200, 230, 260, 5000, 1 << 20} {
		req := runners.Request{Language: runners.Python, Code: "x = '" + strings.Repeat("é", n/2) + "'"}
		if _, err := s.Run(t.Context(), session.Call{Session: "s", Request: req}, add("a").run); err != nil {
			t.Errorf("a line of %d bytes: %v", n, err)
		}
	}
}

func TestForkAndRewind(t *testing.T) {
	s := open(t, session.Options{})
	ctx := t.Context()
	for _, word := range []string{"a", "b", "c"} {
		call(t, s, "s", add(word))
	}
	if err := s.Fork(ctx, "s", "copy", 0); err != nil {
		t.Fatal(err)
	}
	if err := s.Fork(ctx, "s", "early", 2); err != nil {
		t.Fatal(err)
	}
	refused(t, s.Fork(ctx, "s", "copy", 0), "already")
	refused(t, s.Fork(ctx, "s", "s", 0), "itself")
	refused(t, s.Fork(ctx, "none", "more", 0), "no session")
	refused(t, s.Fork(ctx, "s", "more", 9), "has 1 to 3")
	call(t, s, "copy", add("x"))
	if n, err := s.Rewind(ctx, "s", 1); err != nil || n != 4 {
		t.Fatal(n, err)
	}
	_, err := s.Rewind(ctx, "s", 77)
	refused(t, err, "no state 77")
	for name, want := range map[string]string{"s": "a log=a", "copy": "abcx log=abcx", "early": "ab log=ab"} {
		if got := show(t, s, name); got != want {
			t.Errorf("%s has %q, want %q", name, got, want)
		}
	}
	if _, err := s.Rewind(ctx, "s", 3); err != nil || show(t, s, "s") != "abc log=abc" {
		t.Errorf("rewinding to what came later: %q %v", show(t, s, "s"), err)
	}
	if err := errors.Join(s.Reset(ctx, "s"), s.Close(ctx, "copy")); err != nil || show(t, s, "s") != "" {
		t.Errorf("after reset: %q %v", show(t, s, "s"), err)
	}
	if list, err := s.List(ctx); err != nil || len(list) != 2 {
		t.Errorf("%+v %v", list, err)
	}
	refused(t, s.Close(ctx, "copy"), "no session")
}

func TestRollback(t *testing.T) {
	s := open(t, session.Options{})
	call(t, s, "s", add("a"))
	fail := fake(func(v string, files map[string]string) (string, runners.Status) {
		files["log"] = "spoilt"
		return "spoilt", runners.Failed
	})
	out, err := s.Run(t.Context(), session.Call{Session: "s", Rollback: true, Request: runners.Request{Language: runners.Python}}, fail.run)
	if err != nil || !out.Continued.RolledBack || out.Continued.State != 1 || show(t, s, "s") != "a log=a" {
		t.Errorf("%+v %v, now %q", out.Continued, err, show(t, s, "s"))
	}
	call(t, s, "s", fail) // which keeps what it did
	if got := show(t, s, "s"); got != "spoilt log=spoilt" {
		t.Error(got)
	}
	broken := errors.New("broken")
	if _, err := s.Run(t.Context(), session.Call{Session: "new"}, func(context.Context, runners.Request) (*runners.Outcome, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Error(err)
	}
	if list, _ := s.List(t.Context()); len(list) != 1 {
		t.Errorf("a session that never worked is listed: %+v", list)
	}
}

// TestQueue has calls of one session one after the other, in their order, and
// lets one that waits give up.
func TestQueue(t *testing.T) {
	s := open(t, session.Options{})
	began, end := make(chan bool), make(chan bool)
	done := make(chan *runners.Outcome)
	go func() {
		done <- call(t, s, "s", func(string, map[string]string) (string, runners.Status) {
			began <- true
			<-end
			return "first ", runners.Succeeded
		})
	}()
	<-began
	ctx, cancel := context.WithCancelCause(t.Context())
	given := make(chan error)
	go func() {
		_, err := s.Run(ctx, session.Call{Session: "s"}, add("never").run)
		given <- err
	}()
	call(t, s, "other", add("x")) // another session does not wait
	cancel(errors.New("impatient"))
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("the list waits for a call: %+v %v", list, err)
	}
	go func() { done <- call(t, s, "s", add("second")) }()
	close(end)
	<-done
	<-done
	if got := show(t, s, "s"); !strings.HasPrefix(got, "first second") {
		t.Errorf("got %q", got)
	}
}

func TestLimits(t *testing.T) {
	s := open(t, session.Options{Limits: session.Limits{Sessions: 2, Size: 1000, Bytes: 1500, History: 4}})
	write := func(name string, n int) fake {
		return func(v string, files map[string]string) (string, runners.Status) {
			files[name] = strings.Repeat("x", n)
			return v, runners.Succeeded
		}
	}
	call(t, s, "a", write("f", 900))
	out := call(t, s, "a", write("g", 900))
	if k := out.Continued; !k.RolledBack || k.Kept || !strings.Contains(k.Refused, "CODE_RUNNER_SESSION_SIZE") || k.State != 1 {
		t.Errorf("%+v", k)
	}
	if out := call(t, s, "a", write("f", 901)); out.Continued.Refused != "" || out.Continued.State != 2 {
		t.Errorf("what is replaced does not make room: %+v", out.Continued)
	}
	if out := call(t, s, "b", write("f", 800)); !strings.Contains(out.Continued.Refused, "CODE_RUNNER_SESSION_DISK") {
		t.Errorf("%+v", out.Continued)
	}
	call(t, s, "b", write("f", 10))
	_, err := s.Run(t.Context(), session.Call{Session: "c"}, add("x").run)
	refused(t, err, "CODE_RUNNER_SESSIONS")
	for range 20 {
		call(t, s, "b", add("x"))
	}
	info, err := s.Describe("b")
	if err != nil || info.State != 21 || info.Oldest < 16 || len(info.History) != 4 {
		t.Errorf("%+v %v", info, err)
	}
	if _, err := s.Rewind(t.Context(), "b", info.History[3].State); err != nil {
		t.Errorf("the oldest state lacks something: %v", err)
	}
	if entries, err := os.ReadDir(filepath.Join(filepath.Dir(dirOf(t, s)), "b", "blobs")); err != nil || len(entries) > 14 {
		t.Errorf("%d blobs are left, %v", len(entries), err)
	}
}

// TestDiskOfOthers has two stores of one directory, as two servers do: what the
// sessions of one take counts for the other, also when that makes no session.
func TestDiskOfOthers(t *testing.T) {
	o := session.Options{Dir: t.TempDir(), Limits: session.Limits{Bytes: 1500}}
	fill := fake(func(v string, files map[string]string) (string, runners.Status) {
		files["f"] = strings.Repeat("x", 900)
		return v, runners.Succeeded
	})
	call(t, open(t, o), "mine", add("x"))
	call(t, open(t, o), "other", fill)
	if k := call(t, open(t, o), "mine", fill).Continued; !strings.Contains(k.Refused, "CODE_RUNNER_SESSION_DISK") {
		t.Errorf("%+v", k)
	}
}

// dirOf returns the directory of the session a.
func dirOf(t *testing.T, s *session.Store) (dir string) {
	t.Helper()
	_, err := s.Run(t.Context(), session.Call{Session: "a", Rollback: true}, func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
		dir = req.Session.Key
		return &runners.Outcome{Status: runners.Failed}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDamage changes what is on disk. What is damaged is not believed, and the
// newest whole state is in force.
func TestDamage(t *testing.T) {
	second := func(dir string) string { return filepath.Join(dir, "states", "00000002") }
	states := func(dir string) []string {
		list, _ := filepath.Glob(filepath.Join(dir, "states", "*"))
		return list
	}
	blobs := func(dir string) []string {
		list, _ := filepath.Glob(filepath.Join(dir, "blobs", "*"))
		return list
	}
	replace := func(path, with string) error {
		return errors.Join(os.Remove(path), os.WriteFile(path, []byte(with), 0o400))
	}
	for name, c := range map[string]struct {
		damage func(dir string) error
		want   string // "" for an error
	}{
		"nothing": {func(string) error { return nil }, "ab log=ab"},
		"half a manifest": {func(d string) error {
			text, err := os.ReadFile(second(d))
			return errors.Join(err, replace(second(d), string(text[:min(100, len(text))])))
		}, "a log=a"},
		"contents cut off": {func(d string) error {
			text, err := os.ReadFile(second(d))
			return errors.Join(err, replace(second(d), string(text[:len(text)-1])))
		}, "a log=a"},
		"empty manifest":     {func(d string) error { return replace(second(d), "") }, "a log=a"},
		"forged manifest":    {func(d string) error { return replace(second(d), "00\n{}") }, "a log=a"},
		"manifest is a fifo": {func(d string) error { return errors.Join(os.Remove(second(d)), syscall.Mkfifo(second(d), 0o600)) }, "a log=a"},
		"manifest is a link": {func(d string) error {
			return errors.Join(os.Remove(second(d)), os.Symlink("/etc/passwd", second(d)))
		}, "a log=a"},
		"of another number": {func(d string) error { return os.Rename(states(d)[0], filepath.Join(d, "states", "00000009")) }, "ab log=ab"},
		"no states":         {func(d string) error { return os.RemoveAll(filepath.Join(d, "states")) }, " "},
		"no blobs":          {func(d string) error { return os.RemoveAll(filepath.Join(d, "blobs")) }, ""},
		"changed blobs": {func(d string) error {
			for _, b := range blobs(d) {
				info, err := os.Stat(b)
				if err = errors.Join(err, replace(b, strings.Repeat("z", int(info.Size())))); err != nil {
					return err
				}
			}
			return nil
		}, ""},
		"blobs are fifos": {func(d string) error {
			for _, b := range blobs(d) {
				if err := errors.Join(os.Remove(b), syscall.Mkfifo(b, 0o600)); err != nil {
					return err
				}
			}
			return nil
		}, ""},
		"a call was killed": {func(d string) error { return os.MkdirAll(filepath.Join(d, "tmp-X", "y"), 0o700) }, "ab log=ab"},
		"a call was killed while it saved": {func(d string) error {
			return errors.Join(os.WriteFile(filepath.Join(d, "save", "memory"), nil, 0o400), os.Mkdir(filepath.Join(d, "save", "y"), 0o700))
		}, "ab log=ab"},
		"replaced by a link": {func(d string) error {
			return errors.Join(os.Rename(d, d+"-moved"), os.Symlink(d+"-moved", d))
		}, ""},
		"open to others": {func(d string) error { return os.Chmod(d, 0o777) }, ""},
		"lock is a fifo": {func(d string) error {
			lock := filepath.Join(filepath.Dir(d), ".locks", "a")
			return errors.Join(os.Remove(lock), syscall.Mkfifo(lock, 0o600))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, session.Options{})
			call(t, s, "a", add("a"))
			call(t, s, "a", add("b"))
			dir := dirOf(t, s)
			if err := c.damage(dir); err != nil {
				t.Fatal(err)
			}
			var got string
			look := fake(func(v string, files map[string]string) (string, runners.Status) {
				got = v + " log=" + files["log"]
				return v, runners.Failed
			})
			_, err := s.Run(t.Context(), session.Call{Session: "a", Rollback: true, Request: runners.Request{Language: runners.Python}}, look.run)
			want := c.want
			if want == " " {
				want = " log="
			}
			if got != want || (err == nil) != (want != "") {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "tmp-*")); len(left) > 0 && want != "" {
				t.Errorf("left over: %q", left)
			}
			if _, err := s.List(t.Context()); err != nil {
				t.Error(err)
			}
			if want != "" {
				call(t, s, "a", add("c")) // in the place of what is damaged
			}
		})
	}
}

func TestListText(t *testing.T) {
	var list []session.Info
	for n := range 25 {
		list = append(list, session.Info{Name: fmt.Sprint("s", n), State: 1, Action: "python: 1", Used: time.Now().Add(time.Duration(n-25) * time.Minute), Calls: 1})
	}
	lines := strings.Split(session.ListText(list), "\n")
	first, last := "s24: state 1 (python: 1) of 1 minute ago, 1 call, 0 files (0 B), 0 B on disk", "5 older: s4, s3, s2, s1, s0"
	if len(lines) != 21 || lines[0] != first || lines[20] != last {
		t.Errorf("%d lines, %q … %q, want %q … %q", len(lines), lines[0], lines[len(lines)-1], first, last)
	}
	if list[0].Name != "s0" {
		t.Errorf("the caller's list begins with %s", list[0].Name)
	}
}
