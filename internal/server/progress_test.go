package server

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"coderunner/internal/session"
	"coderunner/runners"
)

func progressCall(id, token string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"run_code","_meta":{"progressToken":` +
		token + `},"arguments":{"language":"python","code":"x"}}}`
}

// A long call is never silent for 5 s, says what it is doing, and says nothing
// after its response.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := runFunc(func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			for i := range int64(400) { // 4 s, every 10 ms
				time.Sleep(10 * time.Millisecond)
				req.Progress.Report(runners.Progress{Phase: "download", Item: "deno", Done: i * 1e5, Total: 40e6})
			}
			req.Progress.Report(runners.Progress{Phase: "start"})
			time.Sleep(30 * time.Second)
			return &runners.Outcome{Status: runners.Succeeded}, nil
		})
		c := connect(t, newServer(t, Config{Runners: allLanguages(slow)}))
		c.hello()
		begin := time.Now()
		c.send(progressCall("1", "9007199254740993"))
		last, value, n, downloads := begin, -1.0, 0, 0
		for {
			r := c.receive()
			now := time.Now()
			if gap := now.Sub(last); gap > 5*time.Second {
				t.Errorf("silent for %v", gap)
			}
			if r.Method == "" {
				break
			}
			if n == 0 && now.Sub(begin) >= time.Second {
				t.Errorf("first progress after %v", now.Sub(begin))
			}
			if string(r.Params.ProgressToken) != "9007199254740993" {
				t.Errorf("token %s", r.Params.ProgressToken)
			}
			if r.Params.Progress <= value {
				t.Errorf("progress %v after %v", r.Params.Progress, value)
			}
			if strings.Contains(r.Params.Message, "download deno: ") {
				downloads++
			}
			last, value, n = now, r.Params.Progress, n+1
		}
		if n > 25 || downloads < 4 {
			t.Errorf("%d notifications, %d of the download", n, downloads)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if r := c.receive(); string(r.ID) != "2" {
			t.Errorf("after the response: %s", r.line)
		}
		c.end()
	})
}

// A call that waits for a busy session says so.
func TestProgressOfWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := runFunc(func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			time.Sleep(3 * time.Second)
			return &runners.Outcome{Status: runners.Succeeded}, nil
		})
		store, err := session.Open(session.Options{Dir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		c := connect(t, newServer(t, Config{Runners: allLanguages(slow), Sessions: store}))
		c.hello()
		call := func(id string) string {
			return strings.Replace(progressCall(id, id), `"code":"x"`, `"code":"x","session":"trial"`, 1)
		}
		c.send(call("1"))
		time.Sleep(time.Second)
		c.send(call("2"))
		waited, answers := false, 0
		for answers < 2 {
			r := c.receive()
			switch {
			case r.Method == "":
				answers++
			case string(r.Params.ProgressToken) == "2" && strings.Contains(r.Params.Message, "waiting for the session trial ("):
				waited = true
			}
		}
		if !waited {
			t.Error("the second call did not say that it waits for the session")
		}
		c.end()
	})
}

// What a program prints comes in order, as a terminal would show it, seldom
// and within bounds; the result has all of it.
func TestLiveOutput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		printer := runFunc(func(_ context.Context, req runners.Request) (*runners.Outcome, error) {
			stdout, stderr := req.Captures()
			for i := range 1000 { // 10 s
				fmt.Fprintf(stdout, "\x1b[32mline\x1b[0m %d €\n", i)
				time.Sleep(5 * time.Millisecond)
				fmt.Fprintf(stderr, "\r%d %%\x1b", i)
				time.Sleep(5 * time.Millisecond)
				fmt.Fprint(stderr, "[K\xe2")
				fmt.Fprint(stderr, "\x82\xac\n")
			}
			stdout.Write(bytes.Repeat([]byte("x"), 900_000))
			for range 200 {
				time.Sleep(time.Second)
				stdout.Write(bytes.Repeat([]byte("y"), 400))
			}
			out := &runners.Outcome{Status: runners.Succeeded}
			out.Printed(stdout, stderr)
			return out, nil
		})
		c := connect(t, newServer(t, Config{Runners: allLanguages(printer)}))
		c.hello()
		c.send(progressCall("1", "1"))
		var lines []string
		total, last := 0, time.Time{}
		for {
			r := c.receive()
			if r.Method == "" {
				if !strings.HasPrefix(r.text(), "stdout:\nline 0 €\nline 1 €\n") {
					t.Errorf("result: %.200s", r.line)
				}
				break
			}
			if gap := time.Since(last); gap < progressGap {
				t.Errorf("%v after the one before: %q", gap, r.Params.Message)
			}
			total, last = total+len(r.Params.Message), time.Now()
			lines = append(lines, strings.Split(r.Params.Message, "\n")...)
		}
		next, whole := 0, 0
		for _, line := range lines {
			var i int
			if k, _ := fmt.Sscanf(line, "line %d €", &i); k == 1 && strings.HasSuffix(line, "€") {
				if i < next {
					t.Fatalf("line %d after %d", i, next)
				}
				next, whole = i+1, whole+1
			}
			if strings.ContainsAny(line, "\x1b\r\ufffd") {
				t.Errorf("not as a terminal shows it: %q", line)
			}
		}
		if all := strings.Join(lines, "\n"); whole < 900 || total > maxLive+maxLive/10 || !strings.Contains(all, "bytes cut …") || !strings.Contains(all, "comes with the result …") {
			t.Errorf("%d lines whole, %d bytes", whole, total)
		}
		c.end()
	})
}

func TestProgressOnlyWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := runFunc(func(context.Context, runners.Request) (*runners.Outcome, error) {
			time.Sleep(20 * time.Second)
			return &runners.Outcome{Status: runners.Succeeded}, nil
		})
		c := connect(t, newServer(t, Config{Runners: allLanguages(slow)}))
		c.hello()
		for id, line := range map[string]string{"1": callLine("1", "x"), "2": progressCall("2", "null"), "3": progressCall("3", "{}")} {
			c.send(line)
			if r := c.receive(); string(r.ID) != id {
				t.Errorf("id %s: %s", id, r.line)
			}
		}
		c.end()
	})
}

// While a call waits, it says so.
func TestProgressInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, ended := make(chan string, 2), make(chan string, 2) // for both calls: the first may end before the second is cancelled
		c := connect(t, newServer(t, Config{Runners: allLanguages(untilCancelled(started, ended)), Concurrency: 1}))
		c.hello()
		c.send(callLine("1", "x"))
		<-started
		c.send(progressCall("2", `"t"`))
		if r := c.receive(); !strings.Contains(r.Params.Message, "waiting for a free place") {
			t.Errorf("got %s", r.line)
		}
		c.end()
	})
}

func TestDescribePhase(t *testing.T) {
	for _, tt := range []struct {
		in   runners.Progress
		want string
	}{
		{runners.Progress{Phase: "download", Item: "deno 2.9.6", Done: 12e6, Total: 41_200_000}, "download deno 2.9.6: 12.0 of 41.2 MB"},
		{runners.Progress{Phase: "download", Item: "x", Done: 5e5}, "download x: 0.5 MB"},
		{runners.Progress{Phase: "install", Item: "six", Done: 1, Total: 3}, "install six: 1 of 3"},
		{runners.Progress{Phase: "compile", Item: "pyodide"}, "compile pyodide"},
		{runners.Progress{Phase: "compile", Item: "six", Done: 900, Total: 3000}, "compile six: 30 %"},
		{runners.Progress{Phase: "start"}, "running"},
	} {
		if got := describePhase(tt.in); got != tt.want {
			t.Errorf("describePhase(%+v) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

// TestSecondsLeft: a phase that has shown its speed has an end, another one has not.
func TestSecondsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := startReporter(t.Context(), nil, nil)
		at := func(phase string, done, total int64) string {
			r.set(runners.Progress{Phase: phase, Item: "x", Done: done, Total: total})
			return r.left()
		}
		wait := func() { time.Sleep(3 * time.Second) }
		got := []string{at("download", 0, 90)}
		wait()
		got = append(got, at("download", 30, 90), at("download", 90, 90), at("compile", 50, 100), at("run", 0, 0))
		at("compile", 50, 100) // half was done before
		wait()
		got = append(got, at("compile", 50, 100), at("compile", 80, 100))
		if want := []string{"", ", about 7 s left", "", "", "", "", ", about 3 s left"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
