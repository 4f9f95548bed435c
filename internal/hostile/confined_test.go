//go:build linux

package hostile

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grabbers look for open descriptors of the server and of whoever started it,
// in each language, and write to those that they find.
var grabbers = map[string]string{
	python: `
import os
seen = []
for fd in range(3, 300):
    try: seen.append((fd, os.fstat(fd).st_ino, os.read(fd, 100)))
    except OSError: pass
    try: os.write(fd, b"evil")
    except OSError: pass
    try: os.listdir(fd); seen.append(fd)
    except (OSError, TypeError, NotImplementedError): pass
    for name in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}"):
        try: seen.append(open(name, "rb").read(100))
        except OSError: pass
print("seen", seen)`,
	javascript: `
import fs from "node:fs"; import net from "node:net"; import tty from "node:tty"; import { Buffer } from "node:buffer";
const seen = [];
const own = Deno.cwd();
const each = (attempts) => {
  for (let fd = 3; fd < 300; fd++) for (const f of attempts(fd)) { try { seen.push([fd, f()]) } catch {} }
};
each((fd) => [
  () => { const b = Buffer.alloc(100); const n = fs.readSync(fd, b, 0, 100, 0); return b.toString("utf8", 0, n) },
  () => fs.readFileSync(fd, "utf8").slice(0, 100),
  () => fs.readFileSync("/proc/self/fd/" + fd, "utf8").slice(0, 100),
  () => Deno.readTextFileSync("/dev/fd/" + fd).slice(0, 100),
]);
console.log("seen", JSON.stringify(seen));
// Deno's own descriptors are among these, so that it may not survive this.
each((fd) => [
  () => fs.writeSync(fd, "evil"),
  () => { new net.Socket({ fd }).write("evil") },
  () => { new tty.WriteStream(fd).write("evil") },
  () => Deno.openSync("/proc/self/fd/" + fd, { write: true }).writeSync(new Uint8Array(4)),
]);
Deno.exit(0);`,
}

// heirloom is what a careless client leaves open for the server: each can be
// told from the outside.
type heirloom struct {
	files  []*os.File
	inodes map[string]bool // as links of /proc/PID/fd name them
	piped  *os.File        // the other end of a pipe
}

func heirlooms(t *testing.T) *heirloom {
	t.Helper()
	h := &heirloom{inodes: map[string]bool{}}
	keep := func(f *os.File, err error) {
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		h.files = append(h.files, f)
	}
	keep(os.OpenFile(places.secret, os.O_RDWR, 0)) // the secret itself
	keep(os.Open("/"))
	r, w, err := os.Pipe()
	keep(w, err)
	h.piped = r
	t.Cleanup(func() { r.Close() })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	keep(l.(*net.TCPListener).File())
	for _, f := range h.files {
		link, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		h.inodes[link] = true
	}
	return h
}

// TestInherited starts a server with open descriptors and looks for them in
// programs of both languages, and, from outside, in the processes that the
// server starts.
func TestInherited(t *testing.T) {
	needsServer(t)
	h := heirlooms(t)
	s := start(t, settings{extra: h.files})
	for lang, code := range grabbers {
		o, text, err := s.run(arguments{Language: lang, Code: code, Timeout: 60})
		// JavaScript has the runner's report and Deno's pipes among its
		// descriptors: a program that writes there has failed.
		ended := err == nil && (o.Status == "succeeded" || lang == javascript && o.Status == "failed")
		if !ended || !strings.Contains(o.Stdout, "seen") {
			t.Errorf("%s: %v %s", lang, err, text)
		}
	}
	if err := h.piped.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, _ := h.piped.Read(make([]byte, 100)); n > 0 {
		t.Errorf("a program wrote %d bytes into a pipe of the client", n)
	}
	if b, err := os.ReadFile(places.secret); err != nil || string(b) != canary {
		t.Errorf("the secret is %q, %v", b, err)
	}
	s.mu.Lock()
	for _, l := range s.leaked {
		t.Errorf("the secret got out: %s", l)
	}
	s.mu.Unlock()
	id, answer, err := s.send("tools/call", callOf(arguments{Language: javascript, Code: "Deno.writeTextFileSync('begun', ''); for (;;);", Timeout: 60}))
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); !slices.ContainsFunc(tree(s.temp, nil), func(name string) bool { return filepath.Base(name) == "begun" }); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the program does not begin")
		}
	}
	for _, child := range s.awaitChildren(t, 1) {
		pid, _, _ := strings.Cut(child, " ")
		has := func() []string {
			return slices.DeleteFunc(openFiles(pid), func(link string) bool { return !h.inodes[link] })
		}
		// Between its fork and its exec a process has what its parent has.
		for end := time.Now().Add(2 * time.Minute); len(has()) > 0 && time.Now().Before(end); {
			time.Sleep(5 * time.Millisecond)
		}
		for _, link := range has() {
			t.Errorf("process %s has %s", child, link)
		}
	}
	s.signalled(t, answer)
	if err := s.write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `}}`); err != nil {
		t.Fatal(err)
	}
	if err := s.probe(javascript); err != nil {
		t.Error(err)
	}
}

// openFiles are the links of a process's descriptors.
func openFiles(pid string) []string {
	paths, _ := filepath.Glob("/proc/" + pid + "/fd/*")
	var links []string
	for _, p := range paths {
		if link, err := os.Readlink(p); err == nil {
			links = append(links, link)
		}
	}
	return links
}

// sockets are those that processes have. Deno has some for itself.
func sockets(processes []string) map[string]bool {
	found := map[string]bool{}
	for _, p := range processes {
		pid, _, _ := strings.Cut(p, " ")
		for _, link := range openFiles(pid) {
			if strings.HasPrefix(link, "socket:") {
				found[p+" has "+link] = true
			}
		}
	}
	return found
}

// signalled sends SIGUSR1, by which Node's debugger begins to listen, to all of
// the server's processes that run: they end or go on, and none listens.
func (s *server) signalled(t *testing.T, answer <-chan message) {
	t.Helper()
	children, err := descendants(s.pid())
	if err != nil {
		t.Fatal(err)
	}
	before := sockets(children)
	for _, child := range children {
		name, _, _ := strings.Cut(child, " ")
		if pid, err := strconv.Atoi(name); err == nil && strings.Contains(child, "(deno)") {
			_ = syscall.Kill(pid, syscall.SIGUSR1)
		}
	}
	for end := time.Now().Add(200 * time.Millisecond); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for has := range sockets(children) {
			if !before[has] {
				t.Errorf("after SIGUSR1, %s", has)
			}
		}
	}
	select {
	case m := <-answer:
		o, text, err := decode(m)
		if err != nil || o.Status != "failed" && o.Status != "crashed" {
			t.Errorf("after SIGUSR1: %v %s", err, text)
		}
	default:
	}
}

// TestOtherUsers has a server whose umask hides nothing: other users of the machine reach nothing
// that it makes.
func TestOtherUsers(t *testing.T) {
	needsServer(t)
	fresh := filepath.Join(t.TempDir(), "cache")
	for cache, lang := range map[string]string{fresh: "bash", "": javascript} {
		old := syscall.Umask(0)
		s, err := launch(t, settings{cache: cache})
		syscall.Umask(old)
		if err != nil {
			t.Fatal(err)
		}
		defer s.stop()
		if o, text, err := s.run(arguments{Language: lang, Code: map[string]string{"bash": "echo > file", javascript: "Deno.writeTextFileSync('file', '')"}[lang], Timeout: 60}); err != nil || o.Status != "succeeded" {
			t.Errorf("%s: %v %s", lang, err, text)
		}
		list, err := os.ReadDir(s.temp)
		if err != nil {
			t.Fatal(err)
		}
		made := []string{s.cache}
		for _, e := range list {
			made = append(made, filepath.Join(s.temp, e.Name()))
		}
		for _, name := range made {
			if info, err := os.Lstat(name); err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %s is %v", lang, name, info.Mode())
			}
		}
	}
}
