package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// soaker is one client of the soak. It knows what its sessions must say.
type soaker struct {
	httpClient
	name     int
	random   *rand.Rand
	counters map[string]int // by session
	typed    int            // the counter of the session of TypeScript
}

// step makes one of many kinds of calls. It returns what went wrong.
func (k *soaker) step(ctx context.Context) error {
	want := func(text string, err error, word string) error {
		if err != nil || !strings.Contains(text, word) {
			return fmt.Errorf("%q instead of %q: %w", text, word, err)
		}
		return nil
	}
	switch n := k.random.IntN(100); {
	case n < 30:
		text, err := k.python(ctx, "", fmt.Sprintf("print(%d * 2)", k.name))
		return want(text, err, fmt.Sprint(k.name*2))
	case n < 40:
		text, err := k.call(ctx, "run_code", map[string]any{"language": "typescript", "code": fmt.Sprintf("const n: number = %d; n * 2", k.name)})
		return want(text, err, fmt.Sprint(k.name*2))
	case n < 58:
		return k.count(ctx, k.random.IntN(soakSessions))
	case n < 60:
		text, err := k.call(ctx, "run_code", map[string]any{"language": "bash", "code": fmt.Sprintf("seq 1000 | sort -rn | head -n 1; echo $((%d * 2))", k.name)})
		return want(text, err, fmt.Sprint(k.name*2))
	case n < 62:
		text, err := k.python(ctx, "", concurrent)
		return want(text, err, "served child thread")
	case n < 64:
		return k.typescript(ctx)
	case n < 65:
		return k.fork(ctx)
	case n < 68:
		session := fmt.Sprintf("c%d-%d", k.name, k.random.IntN(soakSessions))
		_, err := k.call(ctx, "sessions", map[string]any{"action": "close", "session": session})
		delete(k.counters, session)
		return err
	case n < 80: // vanishes in the middle of a call: its connection ends
		short, cancel := context.WithTimeout(ctx, time.Duration(k.random.IntN(300))*time.Millisecond)
		defer cancel()
		_, _ = k.python(short, []string{"", fmt.Sprintf("c%d-gone", k.name)}[n%2], "while True: pass")
		return nil
	case n < 85: // cancels
		done := make(chan error, 1)
		id := k.id + 1
		go func() {
			_, err := k.python(ctx, "", "import time\ntime.sleep(5)")
			done <- err
		}()
		time.Sleep(time.Duration(k.random.IntN(100)) * time.Millisecond)
		other := k.httpClient
		if _, err := other.post(ctx, map[string]any{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": map[string]any{"requestId": id}}); err != nil {
			return err
		}
		return <-done
	case n < 90:
		text, err := k.output(ctx)
		return want(text, err, "out.bin")
	case n < 95:
		text, err := k.python(ctx, "", "x = 'z' * (1 << 24)\n1 // 0")
		return want(text, err, "ZeroDivisionError")
	case n < 98:
		text, err := k.call(ctx, "sessions", map[string]any{"action": "list"})
		return want(text, err, "")
	}
	return k.hello(ctx) // the old session is forgotten
}

// fill makes the server keep as much as it keeps: what the last 30 runs of a client left, and
// the histories of sessions.
func (k *soaker) fill(ctx context.Context) error {
	err := k.hello(ctx)
	for range 8 {
		if err == nil {
			_, err = k.output(ctx)
		}
	}
	if err == nil {
		err = k.typescript(ctx)
	}
	for session := range soakSessions {
		for range 6 {
			if err == nil {
				err = k.count(ctx, session)
			}
		}
	}
	return err
}

// output leaves a file and long output.
func (k *soaker) output(ctx context.Context) (string, error) {
	return k.python(ctx, "", "open('out.bin', 'wb').write(bytes(range(256)) * 400)\nprint('y' * 100_000)")
}

// soakSessions is how many sessions each client has: most are asleep.
const soakSessions = 6

// count counts in a session.
func (k *soaker) count(ctx context.Context, n int) error {
	session := fmt.Sprintf("c%d-%d", k.name, n)
	text, err := k.python(ctx, session, "n = globals().get('n', 0) + 1\nopen('log', 'a').write('x')\nf'n is {n}'")
	if err != nil {
		return err
	}
	k.counters[session]++
	if want := fmt.Sprintf("n is %d'", k.counters[session]); !strings.Contains(text, want) {
		return fmt.Errorf("%s: %q instead of %q", session, text, want)
	}
	return nil
}

// typescript counts in a session of TypeScript, and begins it anew after 10 calls: V8
// keeps the script of every call of a session, so a process grows by 2 MiB in the first 50.
func (k *soaker) typescript(ctx context.Context) error {
	session := fmt.Sprintf("c%d-ts", k.name)
	if k.typed == 10 {
		if text, err := k.call(ctx, "sessions", map[string]any{"action": "reset", "session": session}); err != nil {
			return fmt.Errorf("reset: %q, %w", text, err)
		}
		k.typed = 0
	}
	text, err := k.call(ctx, "run_code", map[string]any{"language": "typescript", "session": session,
		"code": "var n: number = (globalThis.n ?? 0) + 1; `n is ${n}`"})
	k.typed++
	if err != nil || !strings.Contains(text, fmt.Sprintf("n is %d", k.typed)) {
		return fmt.Errorf("%q instead of %d: %w", text, k.typed, err)
	}
	return nil
}

// fork forks a session, goes back in the copy, and closes it.
func (k *soaker) fork(ctx context.Context) error {
	if err := k.count(ctx, 0); err != nil {
		return err
	}
	from, to := fmt.Sprintf("c%d-0", k.name), fmt.Sprintf("c%d-fork", k.name)
	for _, arguments := range []map[string]any{
		{"action": "fork", "session": from, "to": to},
		{"action": "rewind", "session": to, "state": 1},
		{"action": "close", "session": to},
	} {
		text, err := k.call(ctx, "sessions", arguments)
		if err != nil || !strings.Contains(text, to) {
			return fmt.Errorf("%v: %q, %w", arguments, text, err)
		}
	}
	return nil
}

// concurrent is a program with a server, a process and a thread.
const concurrent = `
import http.server, subprocess, sys, threading, urllib.request
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"served")
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
thread = threading.Thread(target=server.serve_forever, daemon=True)
thread.start()
served = urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}").read().decode()
child = subprocess.run([sys.executable, "-c", "print('child')"], capture_output=True, text=True).stdout.strip()
print(served, child, "thread" if thread.is_alive() else "")
`
