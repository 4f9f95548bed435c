//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"coderunner/internal/testcache"
)

// terminal is a command that runs on a terminal.
type terminal struct {
	*testing.T
	cmd  *exec.Cmd
	tty  *os.File // our end
	seen string   // what it has printed
}

// onTerminal runs a program by coderunner on a terminal.
func onTerminal(t *testing.T, name, code string, flags ...string) *terminal {
	t.Helper()
	if testing.Short() {
		t.Skip("fetches the runtimes")
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	return startTerminal(t, nil, append(append([]string{"run"}, flags...), file)...)
}

// startTerminal runs a command of coderunner on a terminal of 80 columns.
func startTerminal(t *testing.T, env []string, args ...string) *terminal {
	t.Helper()
	cmd := exec.Command(selfAs(t, "coderunner"), args...)
	cmd.Env = append(append(os.Environ(), "CODE_RUNNER_CACHE_DIR="+testcache.Dir()), env...)
	// Whoever runs the tests in the background has them, and all that they start,
	// ignore SIGINT, unless it is handled here.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, os.Interrupt)
	defer signal.Stop(handled)
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { hung.Stop(); tty.Close() })
	return &terminal{T: t, cmd: cmd, tty: tty}
}

// shows waits until the terminal shows a text.
func (t *terminal) shows(text string) {
	t.Helper()
	buf := make([]byte, 4096)
	for !strings.Contains(t.seen, text) {
		n, err := t.tty.Read(buf)
		if t.seen += string(buf[:n]); err != nil {
			t.Fatalf("terminal shows %q, want %q", t.seen, text)
		}
	}
}

// then forgets what the terminal has shown up to a text, which it waits for.
func (t *terminal) then(text string) {
	t.Helper()
	t.shows(text)
	_, t.seen, _ = strings.Cut(t.seen, text)
}

// types types a text.
func (t *terminal) types(text string) {
	t.Helper()
	if _, err := io.WriteString(t.tty, text); err != nil {
		t.Fatal(err)
	}
}

// exits waits for the end and compares the exit code.
func (t *terminal) exits(want int) {
	t.Helper()
	rest, _ := io.ReadAll(t.tty) // it fails when the command has gone
	t.seen += string(rest)
	_ = t.cmd.Wait()
	if got := t.cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit code %d, want %d; terminal shows %q", got, want, t.seen)
	}
}

// A program talks with the person at the terminal, and its output is there
// before the program waits.
func TestTerminalDialogue(t *testing.T) {
	for name, code := range map[string]string{
		"ask.py": "print('begin')\nname = input('Name? ')\nprint('Hello,', name)\nprint(input())",
		"ask.ts": `console.log("begin");
			const read = () => { const b = new Uint8Array(99); return new TextDecoder().decode(b.subarray(0, Deno.stdin.readSync(b)!)).trim(); };
			Deno.stdout.writeSync(new TextEncoder().encode("Name? "));
			console.log("Hello, " + read());
			console.log(read());`,
		"ask.sh": "echo begin\n[ -t 0 ] && read -p 'Name? ' name && echo Hello, $name\nread more && echo $more",
	} {
		t.Run(name, func(t *testing.T) {
			term := onTerminal(t, name, code)
			term.shows("begin\r\nName? ")
			term.types("Ada\n")
			term.shows("Hello, Ada\r\n")
			term.types("more\n")
			term.shows("more\r\nmore\r\n")
			term.exits(0)
		})
	}
}

// A script's read takes single keys, and passwords without showing them.
func TestTerminalKeys(t *testing.T) {
	term := onTerminal(t, "keys.sh", `read -r -n 1 -p 'Sure? '; echo; echo "got $REPLY"
read -s -p 'Password: ' word; echo; echo "${#word} letters"
read -p 'Name? ' name; echo "Hello, $name"`)
	term.then("Sure? ")
	term.types("y")
	term.then("y\r\ngot y\r\nPassword: ")
	term.types("secret\n")
	term.then("\r\n6 letters\r\nName? ")
	if strings.Contains(term.seen, "secret") {
		t.Errorf("terminal shows %q", term.seen)
	}
	term.types("Ada\n")
	term.then("Ada\r\nHello, Ada\r\n")
	term.exits(0)
}

// What a program prints to both streams keeps its order on a terminal.
func TestTerminalOrder(t *testing.T) {
	for name, code := range map[string]string{
		"order.py": "import sys\nfor i in range(50):\n  print('o%d' % i)\n  print('e%d' % i, file=sys.stderr)\nraise ValueError('end')",
		"order.ts": "for (let i = 0; i < 50; i++) { console.log('o' + i); console.error('e' + i); }\nPromise.reject(new RangeError('end'));",
	} {
		t.Run(name, func(t *testing.T) {
			term := onTerminal(t, name, code)
			term.shows("o0\r\ne0\r\no1\r\ne1\r\n")
			term.exits(1)
			last := 0
			for i := range 50 {
				for _, stream := range []string{"o", "e"} {
					at := strings.Index(term.seen, fmt.Sprintf("%s%d\r\n", stream, i))
					if at < last {
						t.Fatalf("%s%d is not in its place: %q", stream, i, term.seen)
					}
					last = at
				}
			}
			if n := strings.Count(term.seen, "Error: end"); n != 1 {
				t.Errorf("the error is shown %d times: %q", n, term.seen[last:])
			}
		})
	}
}

// Ctrl-C reaches a program, and ends one that does nothing about it, also one that
// waits. The next Ctrl-C ends any. So does SIGTERM.
func TestTerminalSignals(t *testing.T) {
	const bySIGINT = -1 // a shell's loop ends with it
	for name, c := range map[string]struct {
		code string
		with string // keys, the second when "got" is shown, or "" for SIGTERM
		want string // in what the terminal shows, after "begin"
		exit int
	}{
		"loop.py":     {"while True: print('begin')", "\x03", "KeyboardInterrupt\r\n", bySIGINT},
		"sleep.py":    {"import time\nprint('begin')\ntime.sleep(60)", "\x03", "Traceback", bySIGINT},
		"except.py":   {"try:\n  print('begin')\n  input()\nexcept KeyboardInterrupt:\n  print('bye')\nfinally:\n  print('closed')", "\x03", "bye\r\nclosed\r\n", 0},
		"handler.py":  {"import signal, sys, time\nsignal.signal(signal.SIGINT, lambda n, f: sys.exit(n + 1))\nprint('begin')\ntime.sleep(60)", "\x03", "", 3},
		"children.py": {"import subprocess\ntry:\n  print('begin')\n  print(subprocess.run(['sleep', '60']))\nexcept KeyboardInterrupt: print('bye')", "\x03", "bye\r\n", 0},
		"call.py":     {"import collections, itertools\nprint('begin')\ncollections.deque(itertools.repeat(0), maxlen=0)", "\x03", "", bySIGINT},
		"again.py":    {"import time\nwhile True:\n  try: print('begin'); time.sleep(60)\n  except BaseException: print('got')", "\x03\x03", "", bySIGINT},
		"term.py":     {"import time\nprint('begin')\ntime.sleep(60)", "", "", 143},
		"finish.py":   {"import os, signal, sys, time\nsignal.signal(signal.SIGTERM, lambda n, f: sys.exit(0 * os.write(1, b'bye\\n')))\nprint('begin')\ntime.sleep(60)", "", "bye\r\n", 0},
		"loop.ts":     {"console.log('begin'); for (;;);", "\x03", "", bySIGINT},
		"read.ts":     {"console.log('begin'); Deno.stdin.readSync(new Uint8Array(9));", "\x03", "", bySIGINT},
		"on.js":       {"process.on('SIGINT', () => { console.log('bye'); process.exit(4); }); setInterval(() => {}, 1000); console.log('begin');", "\x03", "bye\r\n", 4},
		"deno.ts":     {"Deno.addSignalListener('SIGTERM', () => { console.log('bye'); Deno.exit(0); }); console.log('begin'); setInterval(() => {}, 1000);", "", "bye\r\n", 0},
		"again.ts":    {"process.on('SIGINT', () => console.log('got')); setInterval(() => {}, 1000); console.log('begin');", "\x03\x03", "", bySIGINT},
		"loop.sh":     {"echo begin; while :; do :; done", "\x03", "", bySIGINT},
		"sleep.sh":    {"echo begin; sleep 60; echo no", "\x03", "", bySIGINT},
		"trap.sh":     {"trap 'echo bye; exit 7' INT; echo begin; sleep 60", "\x03", "bye\r\n", 7},
		"exit.sh":     {"trap 'echo bye' EXIT; echo begin; (sleep 60; echo no)", "\x03", "bye\r\n", bySIGINT},
		"child.sh":    {"bash -c 'trap \"echo bye; exit 0\" INT; echo begin; sleep 60'; echo after", "\x03", "bye\r\nafter\r\n", 0},
		"term.sh":     {"trap 'echo bye; exit 0' TERM; echo begin; sleep 60 & wait; echo no", "", "bye\r\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term := onTerminal(t, name, c.code)
			term.then("begin")
			if c.with == "" {
				if err := term.cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			for i, key := range c.with {
				if i > 0 {
					term.then("got")
				}
				term.types(string(key))
			}
			term.exits(c.exit)
			if status := term.cmd.ProcessState.Sys().(syscall.WaitStatus); c.exit == bySIGINT && status.Signal() != syscall.SIGINT {
				t.Errorf("ended by %v, want SIGINT", status.Signal())
			}
			if !strings.Contains(term.seen, c.want) || strings.Contains(term.seen, "coderunner:") || strings.Contains(term.seen, "no\r\n") {
				t.Errorf("terminal shows %q, want %q", term.seen, c.want)
			}
			if c.exit == bySIGINT && !strings.HasSuffix(term.seen, "\r\n") {
				t.Errorf("terminal shows %q: the prompt is on the same line", term.seen)
			}
		})
	}
}

// A command that waits for the rest of its program ends at once by a signal.
func TestSignalWhileReading(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo.py")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for file, sig := range map[string]syscall.Signal{"-": syscall.SIGINT, fifo: syscall.SIGTERM} {
		cmd := exec.Command(selfAs(t, "coderunner"), "run", file)
		cmd.Env = append(os.Environ(), "CODE_RUNNER_OFFLINE=1")
		var errs bytes.Buffer
		cmd.Stderr = &errs
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if file == "-" { // more than a pipe holds: it is being read
			_, err = io.WriteString(in, strings.Repeat("#", 200_000))
		} else { // which waits for the reader
			var w *os.File
			if w, err = os.OpenFile(fifo, os.O_WRONLY, 0); err == nil {
				defer w.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 128+int(sig) || strings.Contains(errs.String(), "ended by a signal before") {
			t.Errorf("run %s: exit code %d, %s", file, code, &errs)
		}
	}
}
