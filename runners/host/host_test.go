package host

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sandbox"
	"coderunner/internal/session"
	"coderunner/runners"
)

// perl returns a runner of Perl, which nearly every Linux has.
func perl(t *testing.T) *Runner {
	t.Helper()
	if level := sandbox.Probe(); level.Name != sandbox.Full {
		if _, err := New("perl"); err == nil || !strings.Contains(err.Error(), "cannot be confined on this system") {
			t.Errorf("error %v", err)
		}
		t.Skipf("this system cannot confine programs: %v", level)
	}
	if _, err := exec.LookPath("perl"); err != nil {
		t.Skip("this machine has no perl")
	}
	r, err := New("perl")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func run(t *testing.T, r *Runner, req runners.Request) *runners.Outcome {
	t.Helper()
	o, err := r.Run(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(r.dirs.Path()); err != nil || len(left) > 1 { // the lock
		t.Errorf("left behind: %v, %v", left, err)
	}
	return o
}

func TestRun(t *testing.T) {
	r := perl(t)
	o := run(t, r, runners.Request{
		Code:  `print "hello @ARGV\n"; print STDERR <STDIN>; open(F, ">out/b.txt"); print F "x"; close F; unlink "a.txt"; exit 3`,
		Args:  []string{"a b", "c"},
		Stdin: strings.NewReader("in\n"),
		Files: []runners.File{{Path: "a.txt", Data: []byte("a")}, {Path: "out/c.txt", Data: []byte("c")}},
	})
	if o.Status != runners.Failed || o.ExitCode != 3 || o.Stdout != "hello a b c\n" || o.Stderr != "in\n" || o.Error != nil ||
		len(o.Files) != 1 || o.Files[0].Path != "out/b.txt" || string(o.Files[0].Data) != "x" {
		t.Errorf("%+v", o)
	}
	var both bytes.Buffer
	o = run(t, r, runners.Request{Code: `$| = 1; print "1"; print STDERR "2"; print "3"`, Stdout: &both, Stderr: &both})
	if o.Status != runners.Succeeded || both.String() != "123" {
		t.Errorf("%q, %+v", both.String(), o)
	}
	if o := run(t, r, runners.Request{Code: "1", Packages: []string{"Moose"}}); o.Status != runners.NotInstalled || !strings.Contains(o.Error.Packages[0].Reason, "host") {
		t.Errorf("%+v", o)
	}
}

func TestLimits(t *testing.T) {
	r := perl(t)
	for _, test := range []struct {
		name, code string
		status     runners.Status
	}{
		{"time", `1 while 1`, runners.TimedOut},
		{"time, without the processor", `sleep 1000`, runners.TimedOut},
		{"time, whatever the signals", `$SIG{TERM} = $SIG{INT} = "IGNORE"; sleep 1 while 1`, runners.TimedOut},
		{"memory", `my @a; push @a, "x" x (1 << 20) while 1`, runners.OutOfMemory},
		{"output", `print "x" x 65536 while 1`, runners.OutputLimit},
		{"disk", `for my $i (0 .. 30000) { open(F, ">f$i"); close F }  sleep 1000`, runners.OutputLimit},
		{"a signal", `kill "SEGV", $$; sleep 5`, runners.Failed},
	} {
		limits := runners.Limits{Timeout: time.Second, Memory: 64 << 20, Output: 10_000}
		if test.status != runners.TimedOut {
			limits.Timeout = time.Minute
		}
		if o := run(t, r, runners.Request{Code: test.code, Limits: limits}); o.Status != test.status || o.Error == nil {
			t.Errorf("%s: %s %+v %.300s", test.name, o.Status, o.Error, o.Stderr)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(200*time.Millisecond, cancel)
	if o, err := r.Run(ctx, runners.Request{Code: "sleep 1000"}); err != nil || o.Status != runners.Cancelled {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestRoadsOut tries what a program may not.
func TestRoadsOut(t *testing.T) {
	r := perl(t)
	t.Setenv("CODERUNNER_TEST_SECRET", "secret")
	outside := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().String()[strings.LastIndexByte(l.Addr().String(), ':')+1:]
	for what, code := range map[string]string{
		"the environment":      `print join ",", grep { /secret/i } %ENV`,
		"a file":               `open(F, "<", "` + outside + `") and print <F>`,
		"a file to write":      `open(F, ">>", "` + outside + `") and print "opened"`,
		"the password file":    `open(F, "<", "/etc/passwd") and print <F>`,
		"a home":               `opendir(D, "` + os.Getenv("HOME") + `") and print readdir D`,
		"other processes":      `print kill 0, getppid`,
		"their files":          `open(F, "<", "/proc/" . getppid . "/environ") and print <F>`,
		"another process":      `defined(my $p = fork) and do { print "forked"; exit }`,
		"a command":            "print `echo started`",
		"another program":      `exec "/bin/echo", "started"`,
		"a shell":              `exec {"/bin/sh"} "sh", "-c", "echo started"`,
		"the network":          `use Socket; socket(S, PF_INET, SOCK_STREAM, 0) and connect(S, sockaddr_in(` + port + `, inet_aton("127.0.0.1"))) and print "connected"`,
		"a local socket":       `use Socket; socket(S, PF_UNIX, SOCK_STREAM, 0) and print "made"`,
		"a mode":               `chmod(0777, "` + outside + `") and print "changed"`,
		"a mode, by a file":    `open(F, "<", $^X) and chmod((stat F)[2] & 07777, *F) and print "changed"`,
		"a time":               `utime(1, 1, "` + outside + `") and print "changed"`,
		"a session":            `use POSIX; POSIX::setsid() > 0 and print "left"`,
		"a link to a file":     `symlink("` + outside + `", "l"); open(F, "<", "l") and print <F>`,
		"a program of its own": `open(F, ">", "p"); print F "#!/bin/echo\n"; close F; chmod 0755, "p"; exec "./p", "started"`,
	} {
		if o := run(t, r, runners.Request{Code: code + "; exit 0"}); o.Stdout != "" && o.Stdout != "0" || o.Error != nil {
			t.Errorf("%s: printed %q, %+v", what, o.Stdout, o.Error)
		}
	}
	if b, err := os.ReadFile(outside); err != nil || string(b) != "secret" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
}

// TestSession keeps the files of a session, which have no variables here.
func TestSession(t *testing.T) {
	r := perl(t)
	store, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	call := func(code string) *runners.Outcome {
		o, err := store.Run(t.Context(), session.Call{Session: "s", Request: runners.Request{Language: runners.Perl, Code: code}}, r.Run)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	call(`mkdir "d"; open(F, ">d/a"); print F "one"; symlink "d/a", "l"`)
	if o := call(`open(F, "<l"); print <F>; print -d "d" ? " d" : ""`); o.Stdout != "one d" || o.Continued.State != 2 {
		t.Errorf("%+v %+v", o, o.Continued)
	}
}

func TestNew(t *testing.T) {
	script := filepath.Join(t.TempDir(), "perl")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if sandbox.Probe().Name != sandbox.Full {
		t.Skip("this system cannot confine programs")
	}
	for name, want := range map[string]string{
		"go": "it starts other programs", "R": "it", "cobol": "these can: awk, lua, perl", "python": "these can", "": "these can",
		"perl=" + script: "is not a program but a script", "perl=/nowhere/perl": "the host has no perl (looked for /nowhere/perl)",
	} {
		if r, err := New(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
			if err == nil {
				r.Close()
			}
		}
	}
}
