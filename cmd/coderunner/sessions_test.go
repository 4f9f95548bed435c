package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coderunner/internal/sample"
)

// TestSessionsOutliveKills kills the server at random points of calls. What was
// answered is there afterwards, in variables and files alike; what was not is
// there whole or not at all.
func TestSessionsOutliveKills(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Pyodide")
	}
	rounds := 8
	if sample.All {
		rounds = 200
	}
	dir := t.TempDir()
	const add = `
try: n += 1
except NameError: n, data = 1, []
data.append(bytes([n % 256]) * 100_000)
with open("log", "a") as f: _ = f.write(f"{n}\n")
n, len(data), all(d == bytes([(i + 1) % 256]) * 100_000 for i, d in enumerate(data)), open("log").read().split() == [str(i + 1) for i in range(n)]`
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	answered := 0
	check := func(text string) {
		t.Helper()
		for n := answered + 1; n <= answered+2; n++ {
			if strings.HasPrefix(text, fmt.Sprintf("result: (%d, %d, True, True)", n, n)) {
				answered = n
				return
			}
		}
		t.Fatalf("after %d answers: %s", answered, text)
	}
	for range rounds {
		s := serveWire(t, "CODE_RUNNER_SESSION_DIR="+dir)
		if _, err := io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"); err != nil {
			t.Fatal(err)
		}
		for range 1 + random.IntN(3) {
			a := s.call("python", add, map[string]any{"session": "s"})
			check(a.Result.Content[0].Text)
		}
		arguments, err := json.Marshal(map[string]string{"language": "python", "session": "s", "code": add})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"run_code","arguments":%s}}`+"\n", arguments)
		time.Sleep(time.Duration(random.IntN(30_000)) * time.Microsecond) // the point at which it is killed
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait() // it was killed
	}
}
