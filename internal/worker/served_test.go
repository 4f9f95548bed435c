package worker

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"coderunner/cache"
	"coderunner/internal/netpolicy"
	"coderunner/internal/process"
	"coderunner/internal/worker/wire"
	"coderunner/runners"
	"coderunner/runners/python"
	"coderunner/runners/python/install"
	"coderunner/runners/python/resolver"

	"go.uber.org/zap/zaptest"
)

// empty returns an empty cache and the runner of Python that has it.
func empty(t *testing.T) (*cache.Cache, *python.Runner) {
	t.Helper()
	c, err := cache.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := python.New(python.Config{Cache: c, Offline: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(p.Close(), c.Close()); err != nil {
			t.Error(err)
		}
	})
	return c, p
}

// TestClaims has a worker ask for what it may not have.
func TestClaims(t *testing.T) {
	c, p := empty(t)
	dir := t.TempDir()
	w := &worker{p: &Pool{o: Options{Cache: c, Local: p.Local(), Compile: func(context.Context, string, int64) error { t.Error("it compiles"); return nil }}}, dir: dir}
	for _, name := range []string{w.shown(), w.written()} {
		if err := os.Mkdir(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(w.written(), "out")); err != nil {
		t.Fatal(err)
	}
	save := t.TempDir()
	s := &served{
		w: w, ctx: t.Context(), network: (&netpolicy.Policy{}).NewRun(netpolicy.Options{}), ports: map[int]any{},
		packages: map[string]resolver.Package{}, clock: runners.StartClock(runners.MaxTimeout, func() {}),
		req: runners.Request{Locked: true, Session: &runners.Session{Save: save, Files: []runners.SessionFile{{Path: "d", Mode: os.ModeDir}}}},
	}
	defer s.clock.Stop()
	stranger := snapshot{[]string{"six"}, install.State{Installed: map[string]resolver.Package{"six": {Tree: "/etc"}}}}
	for _, claim := range []struct {
		method   uint8
		argument any
	}{
		{callRun, ""}, {callHold, ""}, {callStat, "."}, {200, ""},
		{callFind, find{Kind: "../../sessions", Key: "x"}},
		{callFind, find{Kind: "snapshot", Key: "../../x"}},
		{callFind, 5},
		{callPrepare, resolver.Request{}}, // not what the program's lock allows
		{callSnapshot, stranger}, {callModules, stranger},
		{callCompile, compile{Dir: "/etc"}},
		{callCompile, compile{Dir: filepath.Join(w.written(), "..", "in")}},
		{callCompile, compile{Dir: filepath.Join(w.written(), "out")}},
		{callIntercept, map[string]string{"KEY": "x"}},
		{callDial, dial{Network: "tcp"}},
		{callListen, dial{Network: "tcp"}},
		{callListenPacket, dial{Network: "udp"}},
		{callLookup, "example.com"},
		{callAccept, 1}, {callSend, datagram{ID: 1}}, {callReceive, 1}, {callCheck, datagram{ID: 1}}, {callHangUp, 1},
		{callFile, 0}, {callFile, -1}, {callFile, 1},
		{callLink, link{"/etc/passwd", "memory"}},
		{callLink, link{c.Path("files", "snapshot", "..", "..", "sessions", "x", "data"), "memory"}},
		{callLink, link{c.Path("files", "snapshot", "x", "manifest"), "memory"}},
		{callLink, link{c.Path("files", "snapshot", "x", "data"), "../memory"}},
		{callKeep, []string{"base", "../memory"}}, {callKeep, "base"},
	} {
		b, err := json.Marshal(claim.argument)
		if err != nil {
			t.Fatal(err)
		}
		if result, f, err := s.serve(t.Context(), claim.method, b); err == nil {
			t.Errorf("call %d, %s: %v, %v", claim.method, b, result, f)
		}
	}
	if list, err := os.ReadDir(save); err != nil || len(list) > 0 {
		t.Errorf("the session has saved %v, %v", list, err)
	}
}

// TestSmallClaims has a worker save without a file what it may not.
func TestSmallClaims(t *testing.T) {
	large := strings.Repeat("x", runners.MaxSmall+101)
	for _, test := range []struct {
		note  string
		takes *runners.Session
		ok    bool
	}{
		{"memory\nx", &runners.Session{}, true},
		{"../memory\nx", &runners.Session{}, false},
		{"memory", nil, false},
		{"memory\n" + large, &runners.Session{}, false},
		{large, &runners.Session{}, false},
	} {
		var saved []string
		if test.takes != nil {
			test.takes.SaveSmall = func(name string, data []byte) error {
				saved = append(saved, name+" "+string(data))
				return nil
			}
		}
		s := &served{req: runners.Request{Session: test.takes}}
		s.note(noteSaved, []byte("memory\nolder"))
		s.note(noteSaved, []byte(test.note))
		if err := s.takeSmall(); (err == nil) != test.ok || test.ok && !reflect.DeepEqual(saved, []string{"memory x"}) {
			t.Errorf("%.20q: %.80q, %v", test.note, saved, err)
		}
	}
}

// TestOutcomes has a worker report what is no outcome.
func TestOutcomes(t *testing.T) {
	good := outcome{Outcome: runners.Outcome{Status: runners.Succeeded}}
	if _, err := good.decode(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*outcome){
		"status":   func(o *outcome) { o.Status = "splendid" },
		"contents": func(o *outcome) { o.Contents = [][]byte{nil} },
		"path":     func(o *outcome) { o.Files = []runners.LeftFile{{Path: "../x"}} },
		"size": func(o *outcome) {
			o.Files, o.Contents = []runners.LeftFile{{Path: "x", Size: 7}}, [][]byte{[]byte("abc")}
		},
		"image": func(o *outcome) { o.Shows = []display{{MIME: "image/png", Data: "bm8="}} },
		"type":  func(o *outcome) { o.Shows = []display{{MIME: "text/x-evil", Data: "x"}} },
	} {
		bad := good
		change(&bad)
		if o, err := bad.decode(); err == nil {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// waiting is a socket that listens, and tells when somebody waits for a connection.
type waiting struct {
	net.Listener
	begun chan struct{}
}

func (w waiting) Accept() (net.Conn, error) {
	close(w.begun)
	return w.Listener.Accept()
}

// TestEnd ends a run whose worker waits for a connection and does not hang up.
func TestEnd(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	far, err := wire.Socket(theirs)
	if err != nil {
		t.Fatal(err)
	}
	options := wire.Options{TakesFiles: true, EncodeError: encodeError, DecodeError: decodeError}
	guest := wire.New(far, options)
	guest.Start()
	defer guest.Close()

	port := waiting{l, make(chan struct{})}
	s := &served{w: &worker{p: &Pool{}, ctx: t.Context(), lines: make(chan *line, 1)}, ports: map[int]any{1: port}}
	s.begin()
	line := &line{}
	line.run.Store(s)
	options.Serve = line.serve
	line.conn = wire.New(ours, options)
	line.conn.Start()
	defer line.conn.Close()
	answered := make(chan error)
	go func() {
		_, err := guest.Call(t.Context(), callAccept, 1, nil)
		answered <- err
	}()
	<-port.begun
	s.end(line)
	if err := <-answered; err == nil {
		t.Error("somebody was connected")
	}
	if len(s.w.lines) != 1 {
		t.Error("the line was not kept")
	}
}

// TestEmptyCache starts a worker before the cache has anything, and wants what comes later to
// be among what it may read: what is not there when a process is confined is left out.
func TestEmptyCache(t *testing.T) {
	c, p := empty(t)
	pool := NewPool(Options{Cache: c, Local: p.Local(), Max: 1, Log: zaptest.NewLogger(t)})
	defer pool.Close()
	o, ok, err := pool.Run(t.Context(), runners.Request{Language: runners.Bash, Code: "echo hi"})
	if err != nil || !ok || o.Stdout != "hi\n" {
		t.Fatalf("%+v, %v, %v", o, ok, err)
	}
	for _, section := range []string{cache.Trees, cache.Files} {
		if _, err := os.Stat(c.Path(section)); err != nil {
			t.Error(err)
		}
	}
}

// TestSavedIsGone has a worker end after it has answered, and its directory with it: the run
// has ended with it, and the session is as before.
func TestSavedIsGone(t *testing.T) {
	died := make(chan struct{})
	close(died)
	s := &served{
		w: &worker{p: &Pool{}, died: died}, dir: filepath.Join(t.TempDir(), "gone"), said: runners.NewCapture(100),
		network: (&netpolicy.Policy{}).NewRun(netpolicy.Options{}), req: runners.Request{Session: &runners.Session{Before: "x"}},
	}
	o, err := s.outcome(&outcome{Outcome: runners.Outcome{Status: runners.Succeeded, Continued: &runners.Continued{Kept: true}}})
	if err != nil || o.Status != runners.Crashed || o.Continued == nil || !o.Continued.Gone || o.Continued.Kept {
		t.Errorf("%+v, %v", o, err)
	}
}

// TestSavedLinks has a worker put links in the place of what a session saves: no file of the host
// is moved or read.
func TestSavedLinks(t *testing.T) {
	secret := t.TempDir()
	if err := os.WriteFile(filepath.Join(secret, "memory"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(dir string) error{
		"directory": func(dir string) error { return errors.Join(os.Remove(dir), os.Symlink(secret, dir)) },
		"file": func(dir string) error {
			return os.Symlink(filepath.Join(secret, "memory"), filepath.Join(dir, "memory"))
		},
		"name": func(dir string) error { return os.WriteFile(filepath.Join(dir, "evil"), nil, 0o600) },
		"pipe": func(dir string) error { return exec.Command("mkfifo", filepath.Join(dir, "layer")).Run() },
	} {
		w := &worker{dir: t.TempDir()}
		s := &served{w: w, dir: filepath.Join(w.written(), "session-1"), req: runners.Request{Session: &runners.Session{Save: t.TempDir()}}}
		if err := errors.Join(os.MkdirAll(s.dir, 0o700), plant(s.dir)); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"memory", "layer"} { // as onto another disk
			err := inRoots(w.written(), t.TempDir(), func(in, out *os.Root) error { return copyFile(in, "session-1/"+file, out, file, 1<<20) })
			if err == nil {
				t.Errorf("%s: %s is copied", name, file)
			}
		}
		err := s.takeSaved()
		list, _ := os.ReadDir(s.req.Session.Save)
		if err == nil && (len(list) != 1 || list[0].Type().IsRegular()) { // the session refuses such a file
			t.Errorf("%s: %v", name, list)
		}
	}
	if b, err := os.ReadFile(filepath.Join(secret, "memory")); string(b) != "secret" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

// TestSavedByTheDead kills a worker whose run has saved a session and is not over: what it has
// saved is there until then.
func TestSavedByTheDead(t *testing.T) {
	w := &worker{p: &Pool{o: Options{Log: zaptest.NewLogger(t)}}, dir: t.TempDir(), died: make(chan struct{}), runs: map[*served]bool{}}
	s := &served{w: w}
	w.runs[s] = true
	saved := filepath.Join(w.written(), "memory")
	if err := errors.Join(os.Mkdir(w.written(), 0o700), os.WriteFile(saved, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, w.cancel = context.WithCancel(t.Context())
	ours, theirs, err := wire.Pair()
	if err != nil {
		t.Fatal(err)
	}
	defer theirs.Close()
	w.conn = wire.New(ours, wire.Options{})
	w.conn.Start()
	if w.proc, err = process.Start(process.Command{Path: os.Args[0], Args: []string{"-test.run=^$", "-test.count=0"}}); err != nil {
		t.Fatal(err)
	}
	go w.reap()
	w.end("")
	<-w.died
	if _, err := os.Stat(saved); err != nil {
		t.Errorf("what a run has saved: %v", err)
	}
	w.p.leave(w, s)
	if _, err := os.Stat(w.dir); err == nil {
		t.Error("its directory is left")
	}
}
