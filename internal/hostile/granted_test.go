//go:build linux

package hostile

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// readers try the paths that stdin names, one a line, and print what they get.
var readers = map[string]string{
	python: `
import sys
for p in sys.stdin.read().splitlines():
    try: print(p.rsplit("/", 1)[-1], open(p).read())
    except OSError as e: print(p.rsplit("/", 1)[-1], "refused")`,
	javascript: `
for (const p of (await new Response(Deno.stdin.readable).text()).trim().split("\n")) {
  const name = p.split("/").at(-1);
  try { console.log(name, Deno.readTextFileSync(p)) } catch (e) { console.log(name, "refused") }
}`,
}

// writers do the same by writing.
var writers = map[string]string{
	python: `
import sys
for p in sys.stdin.read().splitlines():
    try: open(p, "w").write("evil"); print(p.rsplit("/", 1)[-1], "written")
    except OSError as e: print(p.rsplit("/", 1)[-1], "refused")`,
	javascript: `
for (const p of (await new Response(Deno.stdin.readable).text()).trim().split("\n")) {
  const name = p.split("/").at(-1);
  try { Deno.writeTextFileSync(p, "evil"); console.log(name, "written") } catch (e) { console.log(name, "refused") }
}`,
}

// repeaters read one path again and again.
var repeaters = map[string]string{
	python: `
n = 0
path = input()
for _ in range(3000):
    try:
        if len(open(path).read()) != 4: n += 1
    except OSError: pass
n`,
	javascript: `
let n = 0;
const path = (await new Response(Deno.stdin.readable).text()).trim();
for (let i = 0; i < 3000; i++) {
  try { if (Deno.readTextFileSync(path).length !== 4) n++ } catch {}
}
n`,
}

// grant makes a directory with links out of it.
func grant(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, target := range map[string]string{"link": places.secret + ".txt", "up": "../../../../../../../.." + places.secret + ".txt", "folder": filepath.Dir(places.secret), "self": "/proc/self"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "fine"), []byte("fine"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestGrantedDirectories opens one directory to programs. No link, and no change of
// one while it is looked at, leads out of it.
//
// Row 28.
func TestGrantedDirectories(t *testing.T) {
	needsServer(t)
	t.Parallel()
	dir := grant(t)
	paths := strings.Join([]string{dir + "/fine", dir + "/link", dir + "/up", dir + "/folder/secret.txt", dir + "/self/environ",
		dir + "/../../../../../../../.." + places.secret + ".txt", places.secret, "/etc/hostname"}, "\n")
	t.Run("read", func(t *testing.T) {
		s := start(t, settings{env: []string{"DENO_PERMISSION_ARGS='--allow-read=" + dir + "'"}})
		paths := strings.Replace(paths, "/etc/hostname", "/etc/shadow", 1) // Python has a hostname of its own
		for lang, code := range readers {
			o, text, err := s.run(arguments{Language: lang, Code: code, Stdin: paths, Timeout: 30})
			refused := strings.Count(o.Stdout, "refused")
			if lang == python && strings.Contains(o.Stdout, "\nenviron \n") {
				refused++ // /proc is the program's own, and its environment is empty
			}
			if err != nil || !strings.Contains(o.Stdout, "fine fine") || refused != 7 {
				t.Errorf("%s: %v %s", lang, err, text)
			}
		}
		for lang, code := range repeaters {
			stop := flip(t, filepath.Join(dir, "flips"))
			o, text, err := s.run(arguments{Language: lang, Code: code, Stdin: dir + "/flips", Timeout: 120})
			stop()
			if err != nil || o.text() != "0" {
				t.Errorf("%s: %v %s", lang, err, text)
			}
		}
		s.noLeaks(t)
	})
	t.Run("write", func(t *testing.T) {
		s := start(t, settings{env: []string{"DENO_PERMISSION_ARGS='--allow-write=" + dir + "'"}})
		for lang, code := range writers {
			o, text, err := s.run(arguments{Language: lang, Code: code, Stdin: paths, Timeout: 30})
			if err != nil || strings.Count(o.Stdout, "refused") < 7 {
				t.Errorf("%s: %v %s", lang, err, text)
			}
			if b, err := os.ReadFile(places.secret + ".txt"); err != nil || string(b) != canary {
				t.Fatalf("%s: the secret is %q, %v", lang, b, err)
			}
		}
	})
}

// noLeaks fails the test if the server said the secret.
func (s *server) noLeaks(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.leaked {
		t.Errorf("the secret got out: %s", l)
	}
}

// flip has a name be a harmless file and a link to the secret by turns.
func flip(t *testing.T, path string) (stop func()) {
	t.Helper()
	end := make(chan struct{})
	var done sync.WaitGroup
	done.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-end:
				return
			default:
			}
			next := path + ".next"
			_ = os.Remove(next)
			if n%2 == 0 {
				_ = os.WriteFile(next, []byte("fine"), 0o600)
			} else {
				_ = os.Symlink(places.secret+".txt", next)
			}
			_ = os.Rename(next, path)
		}
	})
	return func() { close(end); done.Wait() }
}

// hosts listens on a second address of this machine, which sends on to the
// first, and counts what comes to that.
func hosts(t *testing.T) (allowed, forbidden string, hits func() int) {
	t.Helper()
	forbidden, hits = listen(t)
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skip("there is no 127.0.0.2:", err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/fine" {
			fmt.Fprint(w, "fine")
			return
		}
		http.Redirect(w, req, "http://"+forbidden+"/", http.StatusFound)
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close() })
	return l.Addr().String(), forbidden, hits
}

// TestGrantedNetwork opens the network to programs but for one address.
// It is reached by no other name (CVE-2026-49859, CVE-2026-49860) and by no
// redirect. The loopback must be named.
//
// Row 34.
func TestGrantedNetwork(t *testing.T) {
	needsServer(t)
	t.Parallel()
	allowed, forbidden, hits := hosts(t)
	_, port, _ := strings.Cut(forbidden, ":")
	code := `
import dgram from "node:dgram";
import net from "node:net";
let refuse; // node:net rejects nobody's promise where Deno denies what a name leads to
addEventListener("unhandledrejection", (e) => { e.preventDefault(); refuse(e.reason); });
addEventListener("error", (e) => { e.preventDefault(); refuse(e.error); }); // nor node:dgram
const names = ["127.0.0.1", "localhost", "0.0.0.0", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "[::]", "localhost."];
const port = ` + port + `;
// What the program has at the port by another protocol or address is no way there.
for (const own of [(f) => dgram.createSocket("udp4").on("error", f).bind(port, "127.0.0.1", f), (f) => net.createServer().on("error", f).listen(port, "127.0.0.2", f)]) {
  await new Promise((f) => { refuse = f; try { own(f) } catch { f() } });
}
const tries = {};
for (const h of names) {
  tries["fetch " + h] = () => fetch("http://" + h + ":" + port + "/");
  tries["websocket " + h] = () => new Promise((f, r) => { const w = new WebSocket("ws://" + h + ":" + port + "/"); w.onopen = f; w.onerror = r; });
  tries["connect " + h] = () => Deno.connect({ hostname: h.replace(/[\[\]]/g, ""), port });
  tries["node " + h] = () => new Promise((f, r) => { refuse = r; net.connect(port, h.replace(/[\[\]]/g, "")).on("connect", f).on("error", r); });
}
tries["redirect"] = () => fetch("http://` + allowed + `/away");
for (const [name, f] of Object.entries(tries)) { try { await f(); console.log("reached", name) } catch {} }
try { console.log(await (await fetch("http://` + allowed + `/fine")).text()) } catch (e) { console.log(e) }
Deno.exit(0)`
	for _, c := range []struct {
		name, args string
		fine       bool
	}{
		{"all but one", "--allow-net=127.0.0.0/8,0.0.0.0,[::1],[::],localhost --deny-net=127.0.0.1,0.0.0.0,[::1],[::]", true},
		{"one", "--allow-net=" + allowed, true},
		{"all", "--allow-net", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, settings{env: []string{"DENO_PERMISSION_ARGS=" + c.args}})
			before := hits()
			o, text, err := s.run(arguments{Language: javascript, Code: code, Timeout: 120})
			if err != nil || o.Status != "succeeded" || strings.Contains(o.Stdout, "fine\n") != c.fine {
				t.Errorf("%v %s", err, text)
			}
			if n := hits() - before; n != 0 || err == nil && strings.Contains(o.Stdout, "reached") {
				t.Errorf("%d connections: %s", n, text)
			}
		})
	}
}
