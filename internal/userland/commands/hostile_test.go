package commands

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"coderunner/internal/machine/abi"
	"coderunner/internal/machine/kernel"
	"coderunner/internal/machine/memfs"
	"coderunner/internal/machine/netstack"
	"coderunner/internal/sample"
	"coderunner/internal/userland/commands/command"
	"coderunner/internal/userland/commands/web"
)

// Archives do not write outside of the directory, nor through links that lead out.
func TestTarEscapes(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "../out", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644},
		{Name: "/w/abs", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644},
		{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/root", Mode: 0o777},
		{Name: "link/through", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644},
		{Name: "good", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			w.Write([]byte("x"))
		}
	}
	w.Close()
	m := newMachine(t)
	if err := m.fs.WriteFile("/w/x.tar", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := m.runLine(t, "mkdir d ; tar xf x.tar -C d")
	if out.Status != 2 {
		t.Errorf("status %d, stderr %q", out.Status, out.Stderr)
	}
	got := m.runLine(t, "find / -type f -size -2c -not -path '/bin/*' -not -path '/usr/*' -not -path '/proc/*'").Stdout
	if want := "/w/d/good\n/w/d/w/abs\n"; got != want {
		t.Errorf("files:\n%swant:\n%s", got, want)
	}
}

// A small archive of much data ends with the file system's budget.
func TestBomb(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.CopyN(z, command.Zeros{}, 400<<20)
	z.Close()
	m := newMachine(t) // 256 MiB
	if err := m.fs.WriteFile("/w/x.gz", b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	out := m.runLine(t, "gunzip x.gz")
	if out.Status == 0 || !strings.Contains(out.Stderr, "No space left on device") {
		t.Errorf("%d %q", out.Status, out.Stderr)
	}
	if ls := m.runLine(t, "ls").Stdout; ls != "x.gz\n" {
		t.Errorf("left behind: %q", ls)
	}
}

// What is held in memory is bounded by the same budget, and given back.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, line := range sample.Of(t, 4, []string{
		"yes | sort", "yes | tac", "yes | tail -n 1000000000", "yes | tr -d '\\n' | grep x",
		"yes | sed ':a;N;ba'", "awk 'BEGIN { while (1) a[i++] = i }'", "awk 'BEGIN { while (1) a[i++][1] }'", "awk 'BEGIN { s = \"x\"; while (1) s = s s }'",
		"yes | jq -s .", "yes | jq -Rs .", "yes | shuf", "shuf -i 0-9223372036854775807", "seq 1000000000 | column -t", "printf %999999999d 1 | awk '{x = x $0}'",
	}) {
		t.Run(line, func(t *testing.T) {
			fs := memfs.New(memfs.Options{MaxBytes: 16 << 20})
			for _, dir := range []string{"/w", "/dev", "/tmp"} {
				fs.MkdirAll(dir, 0o755)
			}
			fs.MakeDevices()
			bin, err := kernel.Bin(Names()...)
			if err != nil {
				t.Fatal(err)
			}
			k, err := kernel.New(kernel.Options{FS: fs, Lookup: Lookup, Bin: bin, Panicked: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			defer k.End()
			main, err := k.Main(kernel.Exec{Path: "main", Dir: "/w", Env: []string{"PATH=/bin"}})
			if err != nil {
				t.Fatal(err)
			}
			before, _ := fs.Usage()
			out := (&machine{fs, k, main}).runLine(t, line)
			if err := k.Failure(); err != nil {
				t.Fatal(err)
			}
			if out.Status == 0 && !strings.Contains(line, "printf") {
				t.Errorf("ends with 0: %.200q", out.Stdout)
			}
			if after, _ := fs.Usage(); after > before+1<<20 {
				t.Errorf("%d bytes stay charged", after-before)
			}
		})
	}
}

// Loops that neither read nor write end when the process is killed.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, args := range sample.Of(t, 3, [][]string{
		{"sed", ":a;ba", "a"}, {"awk", "BEGIN { while (1); }"}, {"bc", "-e", "while (1) 1+1"}, {"sleep", "1000"}, {"yes"},
		{"jq", "-n", "def f: f; f"}, {"find", "/", "-exec", "sleep", "100", ";"}, {"grep", "-E", `(a|aa)+\1$`, "in"}, {"factor", "18446744073709551557"},
	}) {
		try(t, strings.Repeat("a", 100)+"b\n", args...)
	}
}

// outside is a network with one server.
type outside struct{ server netip.AddrPort }

func (o outside) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	if host != "example.test" {
		return nil, flagged{"--allow-net=" + host}
	}
	return []netip.Addr{o.server.Addr()}, nil
}

func (o outside) Dial(ctx context.Context, network, _ string, addr netip.AddrPort) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, network, o.server.String())
}

type flagged struct{ flag string }

func (f flagged) Error() string { return "the policy refuses it: " + f.flag + " would allow it" }
func (f flagged) Flag() string  { return f.flag }

func TestCurl(t *testing.T) {
	seconds := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/second": // every other request
			if seconds++; seconds%2 == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			io.WriteString(w, "second\n")
		case "/agent":
			user, password, _ := r.BasicAuth()
			io.WriteString(w, r.UserAgent()+" "+user+" "+password)
		case "/moved":
			http.Redirect(w, r, "/hello", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		case "/slow":
			<-r.Context().Done()
		default:
			body, _ := io.ReadAll(r.Body)
			io.WriteString(w, r.Method+" "+r.URL.String()+" "+string(body)+" "+r.Header.Get("X-A")+"\n")
		}
	}))
	defer server.Close()
	m := newMachine(t)
	n := web.Network{Outside: outside{netip.MustParseAddrPort(server.Listener.Addr().String())}}
	for _, c := range []struct {
		args   string
		status int
		out    string
	}{
		{"curl -s http://example.test/hello", 0, "GET /hello  \n"},
		{"curl -sL example.test/moved", 0, "GET /hello  \n"},
		{"curl -s -d a=1 -d b=2 http://example.test/p", 0, "POST /p a=1&b=2 \n"},
		{"curl -s -G -d q=x http://example.test/p", 0, "GET /p?q=x  \n"},
		{"curl -s -X PUT --json {} -H X-A:1 http://example.test/p", 0, "PUT /p {} 1\n"},
		{"curl -s -o /dev/null -w %{http_code} http://example.test/missing", 0, "404"},
		{"curl -sSf http://example.test/missing", 22, "curl: (22) The requested URL returned error: 404\n"},
		{"curl -sS http://other.test/", 6, "curl: (6) Could not resolve host: other.test: the policy refuses it: --allow-net=other.test would allow it\n"},
		{"curl -sS ftp://example.test/", 1, "curl: (1) Protocol \"ftp\" not supported or disabled in this sandbox\n"},
		{"curl -sS -m 0.05 http://example.test/slow", 28, "curl: (28) Operation timed out after"},
		{"curl -sSL -4 --http1.1 --proto =http --tlsv1.2 example.test/moved", 0, "GET /hello  \n"},
		{"curl -sSL --proto =https http://example.test/moved", 1, "curl: (1) Protocol \"http\" not supported"},
		{"curl -sS -6 http://example.test/hello", 6, "curl: (6) Could not resolve host: example.test"},
		{"curl -s -f --retry 1 --retry-delay 0 http://example.test/second", 0, "second\n"},
		{"curl -s -b jar http://example.test/", 2, "curl: option '-b' takes NAME=VALUE"},
		{"curl -s -c jar http://example.test/", 2, "curl: option '-c' is not available in this sandbox\n"},
		{"wget -q -O - http://example.test/hello", 0, "GET /hello  \n"},
		{"wget -q -O - --user=u --password=p http://example.test/agent", 0, "Wget/1.21 u p"},
		{"wget -q -t 2 -O - http://example.test/second", 8, "wget: The requested"}, // it repeats no answers
		{"wget -c http://example.test/hello", 2, "wget: option '-c' is not available in this sandbox\n"},
		{"wget -q http://example.test/missing", 8, "wget: The requested"},
	} {
		if status, out := m.transfer(t, n, c.args); status != c.status || !strings.HasPrefix(out, c.out) {
			t.Errorf("%s: %d %q, want %d %q", c.args, status, out, c.status, c.out)
		}
	}
	if got := m.runLine(t, "curl -sS http://example.test/"); got.Status != 7 || !strings.Contains(got.Stderr, "--allow-net") {
		t.Errorf("without a network: %+v", got)
	}
}

// transfer runs curl or wget with a network.
func (m *machine) transfer(t *testing.T, n web.Network, line string) (status int, out string) {
	t.Helper()
	args := strings.Fields(line)
	program, _ := Lookup(args[0])
	var b bytes.Buffer
	w := m.fs.NewFile(memfs.NewOutput("output", &b), abi.O_WRONLY, abi.S_IFIFO|0o600)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	p, err := m.main.Start(kernel.Exec{Path: args[0], Program: web.WithNetwork(program, n), Args: args, Dir: "/w", Files: map[int]*memfs.File{1: w, 2: w}})
	if err != nil {
		t.Fatal(err)
	}
	s, e := m.main.Wait(ctx, p.PID(), 0)
	if e != abi.OK {
		t.Fatalf("%s: %v", line, e)
	}
	return s.Status.Code(), b.String()
}

// What listens inside comes first, by whatever name and address; where nothing does,
// the outside decides.
func TestCurlLoopback(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "outside") }))
	defer server.Close()
	m, inside := newMachine(t), netstack.New(netstack.Options{})
	defer inside.Close()
	l, _ := inside.Socket(abi.AF_INET, abi.SOCK_STREAM, 0)
	l.Bind(netstack.Addr{Sockaddr: abi.Sockaddr{Family: abi.AF_INET, IP: netip.MustParseAddrPort("127.0.0.1:80")}})
	l.Listen(10)
	alone := web.Network{Loopback: inside}
	n := web.Network{Loopback: inside, Outside: outside{netip.MustParseAddrPort(server.Listener.Addr().String())}}
	hang := func() { // up on the next caller
		l.Wait(t.Context(), abi.POLLIN, 0)
		if k, _, e := l.Accept(); e == abi.OK {
			k.Close()
		}
	}
	for _, line := range []string{"curl -s localhost", "curl -s -4 http://127.1/", "curl -s a.localhost", "curl -s http://[::ffff:7f00:1]/", "curl -s example.test"} {
		go hang()
		if status, out := m.transfer(t, n, line); status != 52 && status != 56 || out != "" {
			t.Errorf("%s with a server inside: %d %q", line, status, out)
		}
	}
	for line, want := range map[string]string{"curl -s -6 localhost": "outside", "curl -s localhost:81": "outside", "curl -s example.test:81": "outside"} {
		if status, out := m.transfer(t, n, line); status != 0 || out != want {
			t.Errorf("%s: %d %q", line, status, out)
		}
	}
	for _, line := range []string{"curl -sS -6 localhost", "curl -sS localhost:81", "curl -sS --retry 2 --retry-delay 0 --retry-connrefused http://0:81", "curl -sS example.test"} {
		if status, out := m.transfer(t, alone, line); status != 7 || !strings.HasSuffix(out, ": programs have no network here: start coderunner with --allow-net=HOST to allow it\n") {
			t.Errorf("%s without the outside: %d %q", line, status, out)
		}
	}
}

// What a command lacks is refused, never accepted without effect.
func TestMissingOptions(t *testing.T) {
	m := newMachine(t)
	for _, line := range []string{
		"awk -S 1", "ln -i a b", "realpath --relative-base=/ a", "id -z", "fmt -p x", "column -L", "sort --files0-from=a", "du -t 1", "df -T",
		"tree -J", "file -k a", "dos2unix -k a", "split -t x a", "xargs -o", "truncate -o a", "zip -m a.zip a", "unzip -C a", "sed --debug p", "patch -B x",
		"gzip -N a", "bc -f a", "nl -l 2 a", "diff -t a b", "ls --hyperlink a", "grep --exclude-from=a b", "cp --attributes-only a b", "tail -f a", "tail --follow=name a", "tail -n 3 -F a", "tar --remove-files -cf a b",
		"awk '@include \"lib\"; { print }'",
	} {
		if got := m.runLine(t, line); got.Status == 0 || !strings.Contains(got.Stderr, "is not available in this sandbox") {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

// Numbers that are out of range are mistakes.
func TestNumbersOutOfRange(t *testing.T) {
	m := newMachine(t)
	for line, want := range map[string]string{
		"kill -l 200":   "kill: 200: invalid signal specification\n",
		"uniq -s -1 a":  "uniq: -1: invalid number of bytes to skip\n",
		"uniq -w -1 a":  "uniq: -1: invalid number of bytes to compare\n",
		"fold -w 0":     "fold: invalid number of columns: '0'\n",
		"shuf -e -n -1": "shuf: invalid line count: '-1'\n",
		"base64 -w -1":  "base64: invalid wrap size: '-1'\n",
		"split -a 21 a": "split: invalid suffix length: '21'\n",
	} {
		if got := m.runLine(t, line); got.Status != 1 || got.Stderr != want {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	if got := m.runLine(t, "kill -l 143"); got.Stdout != "TERM\n" {
		t.Errorf("kill -l 143: %+v", got)
	}
}

// Builtins of the shell are programs, too, under any name and without arguments.
func TestBuiltins(t *testing.T) {
	m := newMachine(t)
	for _, c := range []struct {
		line string
		want outcome
	}{
		{`env printf '%q %d\n' 'a b' 12abc`, outcome{"a\\ b 12\n", "printf: 12abc: invalid number\n", 1}},
		{`env test x -lt 2`, outcome{"", "test: x: integer expression expected\n", 2}},
		{`env [ a = a`, outcome{"", "[: missing `]'\n", 2}},
		{`ln -s /bin/echo say; ./say -n a`, outcome{"a", "", 0}},
		{`exec -a "" /bin/pwd`, outcome{"/w\n", "", 0}},
		{`sleep 20 & env kill $!; wait $!`, outcome{"", "", 143}},
	} {
		if got := m.runLine(t, c.line); got != c.want {
			t.Errorf("%s: %+v", c.line, got)
		}
	}
}

// Every command says what it is, and refuses unknown options by name.
func TestHelp(t *testing.T) {
	m := newMachine(t)
	for name := range table {
		if name == "yes" || name == "expr" {
			continue
		}
		out := m.runLine(t, name+" --help")
		if out.Status != 0 || !strings.HasPrefix(out.Stdout, "Usage: "+name) && !strings.HasPrefix(out.Stdout, "Usage: gzip") {
			t.Errorf("%s --help: %+v", name, out)
		}
	}
}

// BenchmarkPipeline is cat | grep | sort | uniq -c | head over 10 MB.
func BenchmarkPipeline(b *testing.B) {
	m := newMachine(b)
	var text strings.Builder
	for i := 0; text.Len() < 10<<20; i++ {
		text.WriteString("line " + strings.Repeat("x", i%50) + " of some words and more\n")
	}
	if err := m.fs.WriteFile("/w/big", []byte(text.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if out := m.runLine(b, "cat big | grep words | sort | uniq -c | head"); out.Status != 0 || len(out.Stdout) < 100 {
			b.Fatal(out)
		}
	}
}
