package main

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"coderunner/internal/testcache"
)

// balancer is a configuration of HAProxy: a session stays with its replica while that is
// alive, and what has none goes round.
const balancer = `
defaults
  mode http
  timeout connect 2s
  timeout client 120s
  timeout server 120s
  option redispatch
  retries 3
  retry-on conn-failure
frontend in
  bind 127.0.0.1:%s
  default_backend replicas
backend replicas
  balance hdr(Mcp-Session-Id)
  hash-type consistent
  option httpchk GET /readyz
  default-server check inter 200ms fall 2 rise 1
%s`

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// s3Server returns the command of an S3 server that anybody with Go can build.
func s3Server(t *testing.T, module string) string {
	name, _, _ := strings.Cut(path.Base(module), "@")
	bin := filepath.Join(testcache.Dir(), "s3-servers")
	if !exists(filepath.Join(bin, name)) {
		build := exec.CommandContext(t.Context(), "go", "install", module)
		build.Env = append(os.Environ(), "GOBIN="+bin)
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("build %s: %v\n%s", module, err, out)
		}
	}
	return filepath.Join(bin, name)
}

// s3Environment is that of the clients of a server on a port, which all keep sessions there.
func s3Environment(port string) []string {
	return []string{"AWS_ENDPOINT_URL=http://127.0.0.1:" + port, "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test-secret", "AWS_REGION=us-east-1",
		"CODE_RUNNER_SESSION_STORE=s3://sessions/test"}
}

// startS3 starts versitygw, and returns the environment of its clients.
func startS3(t *testing.T) []string {
	command := s3Server(t, "github.com/versity/versitygw/cmd/versitygw@v1.8.0")
	dir, port := t.TempDir(), freePort(t)
	for _, sub := range []string{"meta", "data/sessions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	start(t, port, command, "--port", "127.0.0.1:"+port, "--access", "test", "--secret", "test-secret", "--quiet",
		"posix", "--sidecar", filepath.Join(dir, "meta"), filepath.Join(dir, "data"))
	return s3Environment(port)
}

// start starts a process, and waits until it listens on a port.
func start(t *testing.T, port, command string, args ...string) {
	var log lockedBuffer
	cmd := exec.Command(command, args...)
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not listen: %s", command, &log)
		}
	}
}

// TestReplicas has three servers behind HAProxy keep their sessions in an S3 server, and
// kills one with a call in progress: no state that a client was told of is lost, and every
// session goes on elsewhere.
func TestReplicas(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if os.Getenv("CODERUNNER_LONG") == "" || err != nil {
		t.Skip("long, and needs HAProxy")
	}
	const token = "replicas-0123456789"
	env := append(startS3(t), "CODE_RUNNER_HTTP_TOKEN="+token)
	replicas := make([]*httpServer, 3)
	var lines strings.Builder
	for i := range replicas {
		replicas[i] = startHTTP(t, append(env, "CODE_RUNNER_SESSION_DIR="+t.TempDir()))
		u, err := url.Parse(replicas[i].url)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&lines, "  server r%d %s\n", i, u.Host)
	}
	port, config := freePort(t), filepath.Join(t.TempDir(), "haproxy.cfg")
	if err := os.WriteFile(config, fmt.Appendf(nil, balancer, port, lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, port, haproxy, "-db", "-f", config)

	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	front := "http://127.0.0.1:" + port + "/mcp"
	ready(ctx, t, front)
	const next = "n = globals().get('n', 0) + 1\nopen('log', 'a').write('x')\nf'n is {n} of {len(open(\"log\").read())}'"
	// All sessions are used through the load balancer, all the time, while a replica dies.
	const sessions = 6
	var wg sync.WaitGroup
	told := make([]int, sessions) // the last number that the client was told
	half := make(chan bool, sessions)
	for i := range sessions {
		wg.Go(func() {
			c := &httpClient{url: front, token: token}
			name := fmt.Sprint("s", i)
			for done := 0; done < 12; {
				if c.session == "" {
					if err := c.hello(ctx); err != nil {
						continue // the replica is gone, and the load balancer does not know yet
					}
				}
				text, err := c.python(ctx, name, next)
				if ctx.Err() != nil {
					t.Errorf("%s: after %d calls: %v", name, done, err)
					return
				}
				if err != nil { // the call died with its replica: it may have counted, or not
					continue
				}
				var n, size int
				if _, err := fmt.Sscanf(text[strings.Index(text, "n is"):], "n is %d of %d", &n, &size); err != nil || n != size || n <= told[i] || n > told[i]+3 {
					t.Errorf("%s: %q after %d", name, text, told[i])
				}
				told[i] = n
				if done++; done == 4 {
					half <- true
				}
			}
		})
	}
	for range sessions {
		<-half
	}
	if err := replicas[1].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	// Each replica that is left knows every session, with what came last.
	for _, r := range []*httpServer{replicas[0], replicas[2]} {
		c := &httpClient{url: r.url, token: token}
		if err := c.hello(ctx); err != nil {
			t.Fatal(err)
		}
		for i := range sessions {
			text, err := c.python(ctx, fmt.Sprint("s", i), "f'n is {n}'")
			if err != nil || !strings.Contains(text, fmt.Sprintf("n is %d'", told[i])) {
				t.Errorf("s%d: %q, %v, want %d", i, text, err, told[i])
			}
		}
	}
	// A replica that is killed while it runs a session's program loses the session to another.
	victim, heir := &httpClient{url: replicas[0].url, token: token}, &httpClient{url: replicas[2].url, token: token}
	for _, c := range []*httpClient{victim, heir} {
		if err := c.hello(ctx); err != nil {
			t.Fatal(err)
		}
	}
	gone := make(chan error, 1)
	go func() {
		_, err := victim.python(ctx, "s0", "n = -1\nwhile True: pass")
		gone <- err
	}()
	for !strings.Contains(running(t, replicas[0].url, token), "\ncoderunner_running 1\n") {
		if ctx.Err() != nil {
			t.Fatal("the program does not begin")
		}
	}
	if err := replicas[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-gone; err == nil {
		t.Error("a call of a server that was killed is answered")
	}
	begun := time.Now()
	text, err := heir.python(ctx, "s0", "f'n is {n}'")
	if err != nil || !strings.Contains(text, fmt.Sprintf("n is %d'", told[0])) {
		t.Errorf("after its replica was killed: %q, %v, want %d", text, err, told[0])
	}
	t.Logf("the session was taken over after %v", time.Since(begun).Round(time.Second/10))
}

// ready waits until a server runs programs.
func ready(ctx context.Context, t *testing.T, front string) {
	c := &httpClient{url: front, token: "replicas-0123456789"}
	for {
		if err := c.hello(ctx); err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the load balancer reaches no server")
		}
		time.Sleep(50 * time.Millisecond)
	}
}
