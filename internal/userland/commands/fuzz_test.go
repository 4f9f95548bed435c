package commands

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"reflect"
	"runtime/metrics"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"

	"github.com/google/shlex"
)

// try runs a command on hostile input: it must end in time, and never panic.
func try(t *testing.T, stdin string, args ...string) (status int, stdout string) {
	t.Helper()
	m := newMachine(t)
	for name, data := range map[string]string{"/w/a": "one\ntwo\nthree\n", "/w/in": stdin} {
		if err := m.fs.WriteFile(name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	file := func(w io.Writer) *memfs.File {
		return m.fs.NewFile(memfs.NewOutput("output", w), abi.O_WRONLY, abi.S_IFIFO|0o600)
	}
	in := m.fs.NewFile(memfs.NewInput(strings.NewReader(stdin)), abi.O_RDONLY, abi.S_IFIFO|0o600)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	p, err := m.main.Start(kernel.Exec{Path: args[0], Args: args, Env: m.main.Env, Dir: "/w", Umask: 0o022,
		Files: map[int]*memfs.File{0: in, 1: file(&limited{w: &out}), 2: file(io.Discard)}})
	if err != nil {
		t.Fatal(err)
	}
	w, e := m.main.Wait(ctx, p.PID(), 0)
	if e != abi.OK { // it may run as long as it likes, but not longer than it may
		m.main.Kill(p.PID(), kernel.SIGKILL)
		begun := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if w, e = m.main.Wait(ctx, p.PID(), 0); e != abi.OK {
			t.Fatalf("%q does not end after SIGKILL", args)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%q ended %v after SIGKILL", args, took)
		}
	}
	if err := m.k.Failure(); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	if bytes, _ := m.fs.Usage(); bytes > 64<<20 {
		t.Errorf("%q leaves %d bytes charged", args, bytes)
	}
	return w.Status.Code(), out.String()
}

// limited drops what is more than enough.
type limited struct {
	w *strings.Builder
}

func (l *limited) Write(b []byte) (int, error) {
	if l.w.Len() < 1<<20 {
		l.w.Write(b)
	}
	return len(b), nil
}

// seeds are the lines of cases that run a command, for its fuzz test.
func seeds(f *testing.F, file, command string, add func(args []string)) {
	_, cases := readCases(f, "testdata/"+file+".cases")
	for _, c := range cases {
		if args, _ := shlex.Split(c.line); len(args) > 1 && args[0] == command {
			add(args)
		}
	}
}

func FuzzSed(f *testing.F) {
	seeds(f, "sed", "sed", func(args []string) { f.Add(args[1], "hello\nworld\n") })
	f.Fuzz(func(t *testing.T, script, in string) { try(t, in, "sed", script) })
}

func FuzzAwk(f *testing.F) {
	seeds(f, "awk", "awk", func(args []string) { f.Add(args[1], "a b c\n1 2 3\n") })
	f.Fuzz(func(t *testing.T, program, in string) { try(t, in, "awk", program) })
}

func FuzzBC(f *testing.F) {
	_, cases := readCases(f, "testdata/bc.cases")
	for _, c := range cases {
		args, _ := shlex.Split(c.line)
		f.Add(args[1] + "\n")
	}
	f.Fuzz(func(t *testing.T, program string) { try(t, program, "bc", "-l") })
}

func FuzzPatch(f *testing.F) {
	ar, _ := readCases(f, "testdata/system.cases")
	for _, file := range ar.Files {
		if strings.HasSuffix(file.Name, ".diff") {
			f.Add(string(file.Data))
		}
	}
	f.Add("--- a\n+++ a\n@@ -9223372036854775807,1 +1 @@\n-x\n+y\n")
	f.Add("2,3c2\n< two\n< three\n---\n> x\n")
	f.Fuzz(func(t *testing.T, diff string) { try(t, diff, "patch", "a") })
}

// FuzzArgs calls any command with any words.
func FuzzArgs(f *testing.F) {
	for _, name := range Names() {
		f.Add(name, "-x", "a")
		f.Add(name, "--help", "")
	}
	for _, file := range []string{"text", "grep", "files", "system"} {
		_, cases := readCases(f, "testdata/"+file+".cases")
		for _, c := range cases {
			if args, _ := shlex.Split(c.line); len(args) == 3 {
				f.Add(args[0], args[1], args[2])
			}
		}
	}
	f.Fuzz(func(t *testing.T, name, a, b string) {
		if table[name].run != nil && name != "yes" && name != "sleep" && !strings.ContainsRune(a+b, 0) {
			try(t, "one two\nthree\n", name, a, b)
		}
	})
}

// FuzzJSON compares what jq reads with package encoding/json, which takes less.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{`{"b":[1,-2.5e3,"x\u00e9\n",null,true],"a":{}}`, `[1,2,]`, `{"a" 1}`, `"a`, `[nan]`, `1]`, "\"\xff\"", `{"a":1,"a":{}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		status, out := try(t, text, "jq", "-c", "-S", ".")
		var in, got any
		if json.Unmarshal([]byte(text), &in) != nil || len(text) > 1000 {
			return
		}
		if err := json.Unmarshal([]byte(out), &got); status != 0 || err != nil || !reflect.DeepEqual(got, in) {
			t.Errorf("%q: %d, %q", text, status, out)
		}
	})
}

// FuzzArchives reads any bytes as archives of all kinds.
func FuzzArchives(f *testing.F) {
	for _, line := range []string{"tar czf - a", "tar cf - a", "zip -q - a", "gzip -c a", "xz -c a"} {
		m := newMachine(f)
		m.fs.WriteFile("/w/a", []byte("some text\n"), 0o644)
		f.Add([]byte(m.runLine(f, line).Stdout))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, args := range [][]string{{"tar", "xf", "in"}, {"unzip", "-o", "in"}, {"zcat", "in"}, {"xzcat", "in"}, {"bzcat", "in"}} {
			try(t, string(data), args...)
		}
	})
}

// commandLines are how FuzzCommands calls each command: words, of which "@" is the
// fuzzed text as a word and "in" a file of it.
var commandLines = []string{
	"awk @ in", "awk -F @ {print$2,NF} in", "awk -v RS=@ {print} a", "sed @ in", "sed -E s/@/x&/g a", "sed -n -s -z @ in", "grep @ a", "grep -E @ in", "grep -P @ in", "grep -owi -e @ in", "grep -cf in a",
	"jq @ a", "jq . in", "jq -n @", "jq -c --stream . in", "jq -s -r @ a", "jq --arg x @ -R $x in", "bc in", "bc -l in", "expr @ : @", "expr @ + 1", "find / -name @", "find . -regex @", "find . @ a", "find . -printf @",
	"sort in", "sort -k@ in", "sort -t@ -k2n in", "sort -V -u in", "uniq -c in", "cut -f@ in", "cut -d@ -f1 in", "cut -c@ in", "tr @ x", "tr -d @", "tr -s @", "head -n @ in", "tail -n @ in", "tac -s @ in", "fold -w @ in", "fmt -w @ in",
	"nl in", "paste -d @ in a", "join in a", "join -o @ in a", "column -t in", "column -t -s @ in", "expand -t @ in", "unexpand in", "wc in", "od in", "od -t @ in", "xxd in", "xxd -r in", "hexdump -e @ in", "base64 -d in", "base32 -d in",
	"diff a in", "diff -u in a", "diff -I @ a in", "patch a in", "patch -p1 in", "cmp a in", "comm a in", "split -l @ in", "csplit in @", "shuf -n @ in", "seq @ 3", "seq -f @ 1 3", "numfmt --to=@ in", "date -d @", "date +@",
	"tar tf in", "tar xf in", "tar cf - --transform @ a", "unzip -o in", "zcat in", "xzcat in", "bzcat in", "gzip -c in", "zip - in", "file in", "stat -c @ a", "ls -la @", "xargs -n1 echo", "xargs -I@ echo @ in", "tsort in",
	"iconv -f @ -t utf-8 in", "iconv -t @ in", "md5sum -c in", "sha256sum in", "strings in", "rev in", "look @ in", "factor @", "env -S @", "getopt @ a", "cal @", "dd if=in bs=@ of=b", "envsubst in", "touch -d @ b", "chmod @ a", "sqlite3 :memory: @",
	"openssl enc -d -base64 -in in", "pgrep @", "timeout @ true", "sleep @", "basename @", "dirname @", "realpath @", "readlink -f @", "mktemp @", "cp @ b", "mv @ b", "rm -r @", "mkdir -p @", "ln -s @ b", "du @", "tree @",
}

// FuzzCommands calls commands with their options and input together, and watches the
// memory and the time that they take. CODERUNNER_FUZZ names the one command to call.
func FuzzCommands(f *testing.F) {
	if only := os.Getenv("CODERUNNER_FUZZ"); only != "" {
		commandLines = slices.DeleteFunc(commandLines, func(line string) bool { name, _, _ := strings.Cut(line, " "); return name != only })
	}
	files := []string{"awk", "sed", "grep", "jq", "bc", "text", "files", "system"}
	for i, line := range commandLines {
		if name, _, _ := strings.Cut(line, " "); table[name].run == nil {
			f.Fatalf("there is no command %s", name)
		}
		f.Add(uint16(i), "1", "one two\nthree\n")
		f.Add(uint16(i), "(a|b)*{1,3}", `{"a":[1,{"b":null}]}`)
	}
	for _, file := range files {
		_, cases := readCases(f, "testdata/"+file+".cases")
		for _, c := range cases {
			if args, _ := shlex.Split(c.line); len(args) > 1 {
				for i, line := range commandLines {
					if strings.HasPrefix(line, args[0]+" @") {
						f.Add(uint16(i), args[1], "a b c\n1 2 3\n")
					}
				}
			}
		}
	}
	for _, k := range killers {
		if args, _ := shlex.Split(k.line); len(args) > 1 && len(k.line) < 2000 {
			for i, line := range commandLines {
				if strings.HasPrefix(line, args[0]+" @") {
					f.Add(uint16(i), args[len(args)-1], "x\n")
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint16, text, in string) {
		line := commandLines[int(which)%len(commandLines)]
		args := strings.Fields(line)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "@", text)
		}
		if strings.ContainsRune(text, 0) || args[0] == "sleep" {
			return
		}
		watched(t, line, func() { try(t, in, args...) })
	})
}

// maxHeap is how far the heap may grow while a command of 256 MiB runs, with garbage.
const maxHeap = 1 << 30

// watched fails the test if the heap grows too far while run runs.
func watched(t *testing.T, what string, run func()) {
	t.Helper()
	heap := func() uint64 {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, done := heap(), make(chan struct{})
	var most atomic.Uint64
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				most.Store(max(most.Load(), heap()))
			}
		}
	})
	run()
	close(done)
	sampler.Wait()
	if most.Load() > before+maxHeap {
		t.Errorf("%s: the heap grew by %d MiB", what, (most.Load()-before)>>20)
	}
}
