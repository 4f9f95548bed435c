package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// fakeMode is the variable that makes the test binary one of the processes
// that are measured.
const fakeMode = "BENCH_FAKE"

func TestMain(m *testing.M) {
	switch os.Getenv(fakeMode) {
	case "":
		os.Exit(m.Run())
	case "hello":
		fmt.Println("hello")
	case "fail":
		fmt.Fprintln(os.Stderr, "first\nlast words")
		os.Exit(3)
	case "flood":
		fmt.Print(strings.Repeat("x", 3*maxOutput))
	case "hang":
		select {}
	case "server":
		fakeServer()
	case "quits":
		fmt.Fprintln(os.Stderr, "no cache here")
	}
	os.Exit(0)
}

// fakeServer answers as ours does, with the program's text as what it printed.
func fakeServer() {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var q struct {
			ID     int
			Method string
			Params struct {
				Arguments struct{ Language, Code string }
			}
		}
		if json.Unmarshal(in.Bytes(), &q) != nil || q.ID == 0 {
			continue
		}
		fmt.Println(`{"jsonrpc":"2.0","method":"notifications/progress","params":{}}`)
		code, _ := json.Marshal(q.Params.Arguments.Code)
		switch {
		case q.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{}}`+"\n", q.ID)
		case q.Params.Arguments.Language == "cobol":
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-1,"message":"no cobol"}}`+"\n", q.ID)
		case q.Params.Arguments.Code == "raise":
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"isError":true,"structuredContent":{"status":"failed","error":{"type":"E","message":"m"}}}}`+"\n", q.ID)
		case q.Params.Arguments.Code == "garbage":
			fmt.Println("debug: here")
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"structuredContent":{"status":"succeeded","stdout":%s,"result":{"text":"2"}}}}`+"\n", q.ID, code)
		}
	}
}

func fake(t *testing.T, mode string) command {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return command{path: self, env: []string{fakeMode + "=" + mode}, dir: t.TempDir()}
}

func TestRunProcess(t *testing.T) {
	out, s, err := fake(t, "hello").run(t.Context())
	if err != nil || out != "hello\n" || s.Wall <= 0 || s.CPU <= 0 {
		t.Errorf("run = %q, %+v, %v", out, s, err)
	}
	if _, _, err := fake(t, "fail").run(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "exit status 3: last words") {
		t.Errorf("a process that fails: %v", err)
	}
	if out, _, err := fake(t, "flood").run(t.Context()); err != nil || len(out) != maxOutput {
		t.Errorf("a process that floods: %d bytes, %v", len(out), err)
	}
	if _, _, err := (command{path: "/no/such"}).run(t.Context()); err == nil {
		t.Error("a command that is not there runs")
	}
}

func TestServerClient(t *testing.T) {
	s, err := serve(t.Context(), fake(t, "server"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.talk.close()
	got, err := s.runCode(t.Context(), "python", "print(\"é\")\n")
	if want := (said{"print(\"é\")\n", "2"}); err != nil || got != want {
		t.Errorf("runCode = %+v, %v, want %+v", got, err, want)
	}
	for _, c := range []struct{ language, code, want string }{
		{"cobol", "", "no cobol"},
		{"python", "raise", "failed: E: m"},
		{"python", "garbage", "no JSON-RPC"},
	} {
		if _, err := s.runCode(t.Context(), c.language, c.code); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: %v, want %q", c.language, c.code, err, c.want)
		}
	}
}

func TestServerThatEnds(t *testing.T) {
	_, err := serve(t.Context(), fake(t, "quits"))
	if err == nil || !strings.Contains(err.Error(), "no cache here") {
		t.Errorf("a server that ends: %v", err)
	}
}

func TestTalkEndsWithItsContext(t *testing.T) {
	c, err := fake(t, "hang").talk()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = c.ask(ctx, "anything", func([]byte) (bool, error) { return true, nil })
	if err == nil || c.cmd.ProcessState == nil {
		t.Errorf("the process goes on: %v, %v", err, c.cmd.ProcessState)
	}
}

func TestSaidCheck(t *testing.T) {
	got := said{Stdout: "a\n", Result: "2"}
	for want, ok := range map[said]bool{
		{}: true, {Stdout: "a\n"}: true, {Result: "2"}: true, {"a\n", "2"}: true,
		{Stdout: "b\n"}: false, {Result: "3"}: false, {"a\n", "3"}: false,
	} {
		if err := got.check(want); (err == nil) != ok {
			t.Errorf("check(%+v) = %v", want, err)
		}
	}
}
