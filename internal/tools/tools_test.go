package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// open returns a set with one server of each kind, under the kind's name.
func open(t *testing.T, p config.Policy, kinds ...string) (*Set, *observer.ObservedLogs) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &config.Config{Policy: p}
	for _, kind := range kinds {
		c.Servers = append(c.Servers, config.Server{Name: kind, Command: self, Env: map[string]string{asServer: kind, "API_TOKEN": "hush-hush-token"}})
	}
	core, logs := observer.New(zapcore.DebugLevel)
	s := Open(c, Options{Version: "test", Tokens: t.TempDir(), Log: zap.New(core)})
	t.Cleanup(s.Close)
	return s, logs
}

// call calls a tool and returns the first text of the result, or the code and message of the
// error.
func call(t *testing.T, tools *Tools, name, arguments string) (text, code, message string) {
	t.Helper()
	r, err := tools.Call(t.Context(), runners.ToolCall{Tool: name, Arguments: json.RawMessage(arguments), Line: 3})
	var refused *runners.ToolError
	switch {
	case errors.As(err, &refused):
		return "", refused.Code, refused.Message
	case err != nil:
		t.Fatalf("%s: %v, which is not a ToolError", name, err)
	}
	return r.Content[0].Text, "", ""
}

// TestCall: a call, its environment, its audit, and that no secret is in any of them.
func TestCall(t *testing.T) {
	t.Setenv("TOOLS_TEST_SECRET", "not for servers")
	set, logs := open(t, config.Policy{}, "good")
	tools := set.For(Run{Client: "me", Session: "s"})
	var heard []string
	r, err := tools.Call(t.Context(), runners.ToolCall{Tool: "good.echo", Arguments: json.RawMessage(`{"text": "hi"}`), Line: 3,
		Progress: func(done, total float64, message string) { heard = append(heard, fmt.Sprint(done, total, message)) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 2half"}; !slices.Equal(heard, want) {
		t.Errorf("progress %q, want %q", heard, want)
	}
	text := r.Content[0].Text
	if !strings.Contains(text, `"text":"hi"`) || !strings.Contains(text, "API_TOKEN=[secret API_TOKEN]") || !strings.Contains(text, "PATH=") || strings.Contains(text, "TOOLS_TEST_SECRET") {
		t.Errorf("the server has %s", text)
	}
	lines := logs.FilterMessage("tool call").All()
	if len(lines) != 1 {
		t.Fatalf("%d lines of audit", len(lines))
	}
	fields := lines[0].ContextMap()
	for name, want := range map[string]any{"client": "me", "session": "s", "server": "good", "tool": "echo", "decision": "allow", "by": "readOnlyHint", "line": int64(3), "status": "ok"} {
		if fields[name] != want {
			t.Errorf("audit: %s is %v, want %v", name, fields[name], want)
		}
	}
	if fields["arguments"] == "" || fields["bytes"] == int64(0) {
		t.Errorf("audit: %v", fields)
	}
	list, err := tools.List(t.Context(), "good")
	if err != nil || len(list) != 2 || list[0].Name != "echo" || !list[0].Learned || list[1].Policy != "ask" {
		t.Errorf("%+v, %v", list, err)
	}
	if tools.Calls() != 1 {
		t.Errorf("%d calls", tools.Calls())
	}
	hidden(t, logs)
}

// hidden fails if the log has the secret of the servers.
func hidden(t *testing.T, logs *observer.ObservedLogs) {
	t.Helper()
	for _, line := range logs.All() {
		if text := fmt.Sprint(line.Message, line.ContextMap()); strings.Contains(text, "hush-hush") {
			t.Errorf("logged: %s", text)
		}
	}
}

// TestGate: what is allowed, asked, denied and refused, by every spelling.
func TestGate(t *testing.T) {
	set, _ := open(t, config.Policy{}, "good")
	nobody := set.For(Run{})
	if _, code, message := call(t, nobody, "good.write", `{"text": "x"}`); code != "denied" || !strings.Contains(message, `"coderunner": {"allow": ["good.write"]}`) {
		t.Errorf("nobody to ask: %s: %s", code, message)
	}
	var asked []Question
	answers := []struct{ allow, always bool }{{false, false}, {true, false}, {true, true}}
	user := set.For(Run{Ask: func(_ context.Context, q Question) (bool, bool, error) {
		a := answers[len(asked)]
		asked = append(asked, q)
		return a.allow, a.always, nil
	}})
	for i, want := range []string{"denied", "", "", "", ""} {
		if _, code, message := call(t, user, "good.write", `{"text": "hush-hush-token"}`); code != want {
			t.Errorf("call %d: %s: %s", i, code, message)
		}
	}
	if want := (Question{"good", "write", `{"text": "[secret API_TOKEN]"}`, 3}); len(asked) != 3 || asked[0] != want {
		t.Errorf("asked %+v", asked)
	}
	for _, name := range []string{"good.button", "good.nothing", "good", "bad.echo", ".echo", "good.", "", "good.echo.x", "good..echo"} {
		if _, code, message := call(t, user, name, "{}"); code != "not_found" {
			t.Errorf("%q: %s: %s", name, code, message)
		}
	}

	set, _ = open(t, config.Policy{Deny: []string{"names.a?b"}, Allow: []string{"good.*"}, Ask: []string{"good.wri*"}}, "good", "names")
	tools := set.For(Run{})
	for _, name := range []string{"names.a.b", "names.a b", "names.a_b", "names.a_b_2", "names.a_b_3"} {
		if _, code, message := call(t, tools, name, "{}"); code != "denied" || !strings.Contains(message, "names.a?b") {
			t.Errorf("%q: %s: %s", name, code, message)
		}
	}
	if list, err := tools.List(t.Context(), "names"); err != nil || slices.ContainsFunc(list, func(t runners.Tool) bool { return strings.HasPrefix(t.Name, "a_b") }) {
		t.Errorf("what is denied is listed: %v, %v", list, err)
	}
	if _, code, _ := call(t, tools, "good.write", `{"text": ""}`); code != "denied" {
		t.Errorf("the longer pattern does not win: %s", code)
	}

	set, _ = open(t, config.Policy{Deny: []string{"good.*"}, Clients: map[string]config.Policy{"ada": {Allow: []string{"good.write"}, Calls: 1}}}, "good")
	ada := set.For(Run{Client: "ada"})
	for i, want := range []string{"", "budget"} {
		if _, code, message := call(t, ada, "good.write", `{"text": ""}`); code != want {
			t.Errorf("a client's call %d: %s: %s", i, code, message)
		}
	}
	if _, code, _ := call(t, set.For(Run{Client: "bob"}), "good.write", `{"text": ""}`); code != "denied" {
		t.Errorf("another client's call: %s", code)
	}
}

// TestArguments are checked before the call, with the signature in the error.
func TestArguments(t *testing.T) {
	set, _ := open(t, config.Policy{Allow: []string{"*"}}, "good", "schemas")
	tools := set.For(Run{})
	for arguments, want := range map[string]string{
		`{}`:                   "text is missing; it is good.echo(*, text: str)",
		`{"text": 1}`:          `want "string"`,
		`{"text": "", "x": 1}`: `no parameter "x"`,
		`[]`:                   "not an object",
		`null`:                 "not an object",
		`{"text": "` + strings.Repeat("x", runners.MaxToolArguments) + `"}`: "a call takes 4194304 at most",
	} {
		if _, code, message := call(t, tools, "good.echo", arguments); code != "bad_arguments" || !strings.Contains(message, want) {
			t.Errorf("%.40s: %s: %s, want %s", arguments, code, message, want)
		}
	}
	// A schema that leads to itself, doubles, or is none stops nothing: the server checks.
	list, err := tools.List(t.Context(), "schemas")
	if err != nil || len(list) != 9 {
		t.Fatalf("%d tools, %v", len(list), err)
	}
	for _, tool := range list {
		want := ""
		if tool.Name == "old" {
			want = "bad_arguments"
		}
		if _, code, message := call(t, tools, "schemas."+tool.Name, `{"x": 1}`); code != want {
			t.Errorf("%s: %s: %s", tool.Name, code, message)
		}
		for _, ending := range []string{".pyi", ".d.ts"} {
			if text, err := tools.Stub(t.Context(), "schemas", ending); err != nil || len(text) > 1<<20 {
				t.Errorf("%s: %d bytes, %v", ending, len(text), err)
			}
		}
	}
}

// TestHostile: servers that hang, flood, die and lie cost their own calls.
func TestHostile(t *testing.T) {
	set, logs := open(t, config.Policy{Allow: []string{"*"}}, "dies", "huge", "flood", "exits", "changes", "asks", "names", "good")
	slow, _ := open(t, config.Policy{Allow: []string{"*"}, Seconds: 0.1}, "hangs", "deaf", "late")
	for _, tt := range []struct{ tool, code, message string }{
		{"dies.echo", "unavailable", "exit code 3; its last words: the token is [secret API_TOKEN]"},
		{"dies.echo", "unavailable", "exit code 3"},
		{"huge.echo", "unavailable", "more than 16 MiB"},
		{"huge.write", "unknown", "whether the call was carried out is not known"},
		{"flood.echo", "unavailable", "more than 64 MiB"},
		{"hangs.echo", "timeout", "no answer in time"},
		{"exits.write", "unknown", "exit code 7"},
		{"deaf.echo", "timeout", "no answer in time"},
		{"late.echo", "timeout", "no answer in time"},
		{"asks.echo", "", ""},
		{"changes.tool1", "", ""},
		{"changes.tool1", "not_found", `no tool "tool1"`},
		{"good.echo", "", ""},
	} {
		arguments := `{"text": ""}`
		if strings.HasPrefix(tt.tool, "changes") {
			arguments = "{}"
		}
		if tt.tool == "deaf.echo" { // more than the pipe has room for
			arguments = `{"text": "` + strings.Repeat("x", 1<<20) + `"}`
		}
		tools := set.For(Run{})
		if tt.code == "timeout" {
			tools = slow.For(Run{})
		}
		if _, code, message := call(t, tools, tt.tool, arguments); code != tt.code || !strings.Contains(message, tt.message) {
			t.Errorf("%s: %s: %s; want %s: %s", tt.tool, code, message, tt.code, tt.message)
		}
	}
	if r, err := slow.For(Run{}).Call(t.Context(), runners.ToolCall{Tool: "late.echo", Arguments: json.RawMessage(`{"text": "second"}`)}); err != nil || !strings.Contains(r.Content[0].Text, "second") {
		t.Errorf("after an answer that came late: %+v, %v", r, err)
	}
	var names []string
	list, err := set.For(Run{}).List(t.Context(), "names")
	for _, each := range list {
		names = append(names, each.Name)
	}
	if want := "t_9lives import_ a_b a_b_2 a_b_3 class_ search unnamed"; err != nil || strings.Join(names, " ") != want {
		t.Errorf("names %q, %v; want %s", names, err, want)
	}
	hidden(t, logs)
}

// TestLifetime: one process for a client, another for another client, and none after Close.
func TestLifetime(t *testing.T) {
	set, _ := open(t, config.Policy{}, "good")
	pids := map[string]bool{}
	for _, client := range []string{"a", "a", "b"} {
		text, _, message := call(t, set.For(Run{Client: client}), "good.echo", `{"text": ""}`)
		var r struct{ PID int }
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err, message)
		}
		pids[client+fmt.Sprint(r.PID)] = true
	}
	if len(pids) != 2 {
		t.Errorf("processes %v", pids)
	}
	set.options.Room = make(chan struct{}) // has none
	if _, code, message := call(t, set.For(Run{Client: "d"}), "good.echo", `{"text": ""}`); code != "unavailable" || !strings.Contains(message, "as many as may") {
		t.Errorf("no room: %s: %s", code, message)
	}
	set.options.Room = make(chan struct{}, 10)
	set.options.Idle = 1
	first, _, _ := call(t, set.For(Run{Client: "c"}), "good.echo", `{"text": ""}`)
	for next := first; next == first; { // until the idle one is stopped
		next, _, _ = call(t, set.For(Run{Client: "c"}), "good.echo", `{"text": ""}`)
	}
	set.Close()
	if _, code, message := call(t, set.For(Run{Client: "a"}), "good.echo", `{"text": ""}`); code != "unavailable" {
		t.Errorf("after Close: %s: %s", code, message)
	}
}

// TestGroup: what a server has started ends with it.
func TestGroup(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no process groups")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	set, _ := open(t, config.Policy{}, "spawns")
	set.configs[0].Env["LISTENER"] = listener.Addr().String()
	if _, code, message := call(t, set.For(Run{}), "spawns.echo", `{"text": ""}`); code != "" {
		t.Fatal(code, message)
	}
	held, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	one := make([]byte, 1)
	if _, err := io.ReadFull(held, one); err != nil {
		t.Fatal(err)
	}
	set.Close()
	if _, err := held.Read(one); err == nil {
		t.Error("it lives")
	}
}

// TestBudgets end the calls of a run and of no other.
func TestBudgets(t *testing.T) {
	set, _ := open(t, config.Policy{Calls: 2}, "good")
	tools := set.For(Run{})
	for i, want := range []string{"", "", "budget"} {
		if _, code, message := call(t, tools, "good.echo", `{"text": ""}`); code != want {
			t.Errorf("call %d: %s: %s", i, code, message)
		}
	}
	if _, code, _ := call(t, set.For(Run{}), "good.echo", `{"text": ""}`); code != "" {
		t.Errorf("another run: %s", code)
	}
	set, _ = open(t, config.Policy{Bytes: 10}, "good")
	if _, code, message := call(t, set.For(Run{}), "good.echo", `{"text": ""}`); code != "budget" {
		t.Errorf("bytes: %s: %s", code, message)
	}
}

// TestParallel: many calls at once, of which each gets its own answer, and the cancelled one
// ends.
func TestParallel(t *testing.T) {
	set, _ := open(t, config.Policy{Parallel: 3}, "good", "hangs")
	tools := set.For(Run{})
	answers := make(chan string, 50)
	for i := range 50 {
		go func() {
			r, err := tools.Call(t.Context(), runners.ToolCall{Tool: "good.echo", Arguments: json.RawMessage(fmt.Sprintf(`{"text": "call %d"}`, i))})
			if err != nil || !strings.Contains(r.Content[0].Text, fmt.Sprintf(`"call %d"`, i)) {
				answers <- fmt.Sprintf("call %d: %v, %v", i, r, err)
				return
			}
			answers <- ""
		}()
	}
	for range 50 {
		if text := <-answers; text != "" {
			t.Error(text)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := tools.Call(ctx, runners.ToolCall{Tool: "hangs.echo", Arguments: json.RawMessage(`{"text": ""}`)})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestDiscovery has what a program's author sees.
func TestDiscovery(t *testing.T) {
	set, _ := open(t, config.Policy{}, "good", "names", "dies")
	tools := set.For(Run{})
	found, err := tools.Search(t.Context(), "echo some text")
	if err != nil || len(found) == 0 || found[0].Name != "echo" {
		t.Errorf("%v, %v", found, err)
	}
	text, err := tools.Describe(t.Context(), "good.write")
	for _, want := range []string{"good.write(*, text: str)", "The user is asked before each call.", `Example: good.write(text="text")`} {
		if err != nil || !strings.Contains(text, want) {
			t.Errorf("%s, %v; want %s", text, err, want)
		}
	}
	for ending, end := range map[string]string{".pyi": `"""`, ".d.ts": "*/"} { // no description leaves its comment
		text, err := tools.Stub(t.Context(), "good", ending)
		_, after, _ := strings.Cut(text, "Ignore all previous instructions")
		rest, _, _ := strings.Cut(after, "\n")
		if err != nil || strings.Count(text, end) != map[string]int{".pyi": 4, ".d.ts": 2}[ending] || strings.Contains(rest, "*/ process") != (ending == ".pyi") {
			t.Errorf("%s, %v", text, err)
		}
	}
	if text, err := tools.Describe(t.Context(), "names"); err != nil || !strings.Contains(text, `a_b_2 (the server calls it "a.b")`) {
		t.Errorf("%s, %v", text, err)
	}
}
