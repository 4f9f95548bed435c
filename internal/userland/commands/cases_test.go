package commands

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/sample"
)

var update = flag.Bool("update", false, "write what the real commands print to testdata/*.cases")

// testCase is a command line and what it has to print.
type testCase struct {
	file  string
	line  string
	want  outcome
	files []txtar.File
}

type outcome struct {
	Stdout, Stderr string
	Status         int
}

// readCases reads a file of cases: an archive whose comment has the cases, and
// whose files are there in the working directory, which is called /w.
//
//	$ command line
//	> a line of standard output
//	! a line of standard error
//	? the exit status, if not 0
//
// A line with special characters or without a newline is quoted after ~ or !~.
func readCases(t testing.TB, name string) (ar *txtar.Archive, cases []testCase) {
	t.Helper()
	ar, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(ar.Comment), "\n"), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		if mark == "" || mark[0] == '#' {
			continue
		}
		if mark == "$" {
			cases = append(cases, testCase{file: name, line: rest, files: ar.Files})
			continue
		}
		c := &cases[len(cases)-1]
		text := rest + "\n"
		if strings.HasSuffix(mark, "~") {
			if text, err = strconv.Unquote(rest); err != nil {
				t.Fatalf("%s:%d: %v", name, i+1, err)
			}
		}
		switch mark {
		case ">", "~":
			c.want.Stdout += text
		case "!", "!~":
			c.want.Stderr += text
		case "?":
			c.want.Status, _ = strconv.Atoi(rest)
		default:
			t.Fatalf("%s:%d: bad mark %q", name, i+1, mark)
		}
	}
	return ar, cases
}

func (c *testCase) format(b *strings.Builder) {
	fmt.Fprintf(b, "$ %s\n", c.line)
	put := func(mark, quoted, text string) {
		for line := range strings.Lines(text) {
			plain, whole := strings.CutSuffix(line, "\n")
			if q := strconv.Quote(plain); whole && (q == `"`+plain+`"` || !strings.ContainsAny(strings.NewReplacer(`\\`, "", `\"`, "", `\t`, "").Replace(q), `\`)) {
				fmt.Fprintf(b, "%s %s\n", mark, plain)
			} else {
				fmt.Fprintf(b, "%s %s\n", quoted, strconv.Quote(line))
			}
		}
	}
	put(">", "~", c.want.Stdout)
	put("!", "!~", c.want.Stderr)
	if c.want.Status != 0 {
		fmt.Fprintf(b, "? %d\n", c.want.Status)
	}
}

// realRun runs the line with the real commands of this machine.
func (c *testCase) realRun(t testing.TB) outcome {
	t.Helper()
	dir := t.TempDir()
	for _, f := range c.files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(path, fixedTime, fixedTime)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "--norc", "-c", noBuiltins+c.line)
	cmd.Dir = dir
	cmd.Env = append(caseEnv, "PATH="+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Run()
	// The quotes of messages are those of the C locale.
	name := strings.NewReplacer(dir, "/w", "‘", "'", "’", "'")
	return outcome{name.Replace(stdout.String()), name.Replace(stderr.String()), cmd.ProcessState.ExitCode()}
}

var (
	fixedTime = time.Date(2024, 3, 5, 6, 7, 8, 0, time.UTC)
	caseEnv   = []string{"LC_ALL=C.UTF-8", "TZ=UTC", "HOME=/root", "USER=root"}
)

// run runs the line with our commands.
func (c *testCase) run(t testing.TB) outcome {
	t.Helper()
	m := newMachine(t)
	for _, f := range c.files {
		path := "/w/" + f.Name
		if err := m.fs.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := m.fs.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		n, _ := m.fs.Lookup(nil, path, true)
		m.fs.SetTimes(n, abi.NewTimespec(fixedTime), abi.NewTimespec(fixedTime))
	}
	return m.runLine(t, c.line)
}

// machine is a sandbox with our commands.
type machine struct {
	fs   *memfs.FS
	k    *kernel.Kernel
	main *kernel.Process
}

// bin is what /bin shows.
var bin = sync.OnceValues(func() (fs.FS, error) { return kernel.Bin(Names()...) })

func newMachine(t testing.TB) *machine {
	t.Helper()
	fs := memfs.New(memfs.Options{MaxBytes: 256 << 20})
	for _, dir := range []string{"/w", "/tmp", "/root", "/dev"} {
		if err := fs.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.MakeDevices(); err != nil {
		t.Fatal(err)
	}
	bin, err := bin()
	if err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(kernel.Options{FS: fs, Lookup: Lookup, Bin: bin, Panicked: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	main, err := k.Main(kernel.Exec{Path: "main", Dir: "/w", Umask: 0o022, Env: append([]string{"PATH=/usr/bin:/bin"}, caseEnv...)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.End() })
	return &machine{fs, k, main}
}

// noBuiltins has a shell run programs for what it could do itself.
const noBuiltins = "enable -n echo printf test [ true false pwd kill; "

// runLine runs a command line of the shell.
func (m *machine) runLine(t testing.TB, line string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	files := map[int]*memfs.File{
		0: m.fs.NewFile(memfs.NewInput(strings.NewReader("")), abi.O_RDONLY, abi.S_IFIFO|0o600),
		1: m.fs.NewFile(memfs.NewOutput("stdout", &stdout), abi.O_WRONLY, abi.S_IFIFO|0o600),
		2: m.fs.NewFile(memfs.NewOutput("stderr", &stderr), abi.O_WRONLY, abi.S_IFIFO|0o600),
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	p, err := m.main.Start(kernel.Exec{Path: "bash", Args: []string{"bash", "-c", noBuiltins + line}, Env: m.main.Env, Dir: m.main.Dir, Umask: 0o022, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	w, e := m.main.Wait(ctx, p.PID(), 0)
	if e != abi.OK {
		t.Fatalf("%s: wait: %v", line, e)
	}
	return outcome{stdout.String(), stderr.String(), w.Status.Code()}
}

// TestCases runs our commands on the cases and compares with what the real ones
// printed. With CODERUNNER_LONG=1 the real ones run again, where they are.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("testdata/*.cases")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".cases"), func(t *testing.T) {
			t.Parallel()
			ar, cases := readCases(t, name)
			if *update {
				var b strings.Builder
				for i := range cases {
					cases[i].want = cases[i].realRun(t)
					cases[i].format(&b)
				}
				ar.Comment = []byte(b.String())
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, c := range sample.Of(t, 2, cases) {
				if diff := cmp.Diff(c.want, c.run(t)); diff != "" {
					t.Errorf("$ %s\n(-want +got)\n%s", c.line, diff)
				}
				if sample.All && !*update {
					if diff := cmp.Diff(c.want, c.realRun(t)); diff != "" {
						t.Logf("the real command differs from testdata:\n$ %s\n%s", c.line, diff)
					}
				}
			}
		})
	}
}
