package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"coderunner/internal/answer"
	"coderunner/internal/session"
	"coderunner/runners"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The tool as clients see it, kept as golden files so that it does not change
// unnoticed.
func TestGoldenTool(t *testing.T) {
	all := allLanguages(runFunc(echo))
	sessions, err := session.Open(session.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]Config{
		"tool.json": {Runners: all, Isolation: "full"},
		"tool_permissions.json": {Runners: all, Offline: true, Limits: runners.Limits{Timeout: 60e9, Memory: 1 << 30}, Policy: runners.Policy{
			Net:     runners.Grant{List: []string{"api.test", "127.0.0.1:8080"}},
			DenyNet: runners.Grant{List: []string{"10.0.0.1"}},
			Env:     runners.Grant{All: true},
		}},
		"tool_sessions.json": {Runners: all, Sessions: sessions},
		"tool_python.json":   {Runners: map[runners.Language]runners.Runner{runners.Python: runFunc(echo)}},
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t, newServer(t, c))
			defer c.end()
			c.hello()
			c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			line := c.receive().line
			var r struct {
				Result struct{ Tools []json.RawMessage }
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil || len(r.Result.Tools) == 0 {
				t.Fatalf("tools/list: %v: %s", err, line)
			}
			var got bytes.Buffer
			for _, tool := range r.Result.Tools {
				if err := json.Indent(&got, tool, "", "  "); err != nil {
					t.Fatal(err)
				}
				got.WriteByte('\n')
			}
			path := filepath.Join("testdata", name)
			if *update {
				if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v (go test -update writes it)", err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("the tool has changed (go test -update takes it over); -want +got:\n%s", diff)
			}
		})
	}
}

func TestDescriptionIsShort(t *testing.T) {
	var many []string
	for i := range 500 {
		many = append(many, fmt.Sprintf("host-%d.test:8080", i))
	}
	g := runners.Grant{List: many}
	long := runners.Grant{List: []string{strings.Repeat("x", 5000)}}
	all := runners.Policy{Read: g, Write: g, Net: long, Env: g, Run: g, Sys: g, FFI: g, Import: g,
		DenyRead: g, DenyWrite: g, DenyNet: long, DenyEnv: g, DenyRun: g, DenySys: g, DenyFFI: g, DenyImport: g}
	for _, p := range []runners.Policy{{}, all} {
		d := description(Config{Runners: allLanguages(runFunc(echo)), Policy: p, Isolation: "partial", Sessions: &session.Store{}, Tools: echoTools(t)})
		if len(d) > maxDescription {
			t.Errorf("%d bytes:\n%s", len(d), d)
		}
	}
}

func TestAnnotationsFollowThePolicy(t *testing.T) {
	all := runners.Grant{All: true}
	for _, tt := range []struct {
		p              runners.Policy
		open, readOnly bool
	}{
		{runners.Policy{}, false, true},
		{runners.Policy{Read: all, Env: all}, false, true},
		{runners.Policy{Net: runners.Grant{List: []string{"a.test"}}}, true, false},
		{runners.Policy{Write: all}, false, false},
		{runners.Policy{Run: all}, true, false},
	} {
		a := annotations(Config{Policy: tt.p, Offline: true})
		if *a.OpenWorldHint != tt.open || *a.ReadOnlyHint != tt.readOnly || *a.DestructiveHint == tt.readOnly {
			t.Errorf("%+v: open %v, read-only %v", tt.p, *a.OpenWorldHint, *a.ReadOnlyHint)
		}
	}
	if a := annotations(Config{}); !*a.OpenWorldHint || !*a.ReadOnlyHint {
		t.Errorf("imports are fetched: open %v, read-only %v", *a.OpenWorldHint, *a.ReadOnlyHint)
	}
}

func compile(t *testing.T, schema object) *jsonschema.Resolved {
	t.Helper()
	raw, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func validate(t *testing.T, s *jsonschema.Resolved, v any) error {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// Every outcome fits the published schema: clients refuse a result otherwise.
func TestOutcomesFitTheOutputSchema(t *testing.T) {
	schema := compile(t, answer.Schema())
	s := newServer(t, Config{Runners: allLanguages(runFunc(echo))})
	for _, out := range []runners.Outcome{
		{Status: runners.Succeeded},
		{Status: runners.Succeeded, Result: &runners.Value{Text: "None", JSON: json.RawMessage("null")}},
		{Status: runners.Succeeded, Result: &runners.Value{Text: "[1]", JSON: json.RawMessage("[1]")}},
		{Status: runners.NotInstalled, ExitCode: 1, Error: &runners.Error{Packages: []runners.PackageError{{Name: "a", Reason: "b"}}}},
		{Status: runners.TimedOut, Error: &runners.Error{Type: "Timeout", Line: 3, Traceback: "x"}, Usage: runners.Usage{CPUMS: 4, PeakMemoryBytes: 1 << 40}},
		{Status: runners.Crashed, Packages: []runners.Package{{Name: "six", Version: "1", Source: "pypi", SHA256: "a", Integrity: "b", Cached: true}}},
		{Status: runners.Succeeded, Displays: []runners.Display{{MIME: "text/html", Data: []byte("<b>")}, {MIME: "image/png", Data: []byte("no image")}},
			Files: []runners.LeftFile{{Path: "a", MIME: "text/plain", Data: []byte("x"), Size: 1, SHA256: "b"}, {Path: "big", MIME: "application/zip", Size: 1 << 40}, {Path: "p", MIME: "inode/fifo"}}},
	} {
		shown := answer.New(&out, runners.Request{}, s.config.Limits, s.store.begin()).Structured
		if err := validate(t, schema, &shown); err != nil {
			t.Errorf("%+v: %v", out, err)
		}
	}
	if validate(t, schema, object{"status": "fine"}) == nil {
		t.Error("the schema takes anything")
	}
}

// README.md shows an outcome that fits the schema, and names all of its keys.
func TestPageShowsTheSchema(t *testing.T) {
	page, err := os.ReadFile("../../docs/tool.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "as `structuredContent`")
	text, _, _ = strings.Cut(text, "## Sessions")
	_, shown, _ := strings.Cut(text, "```json\n")
	shown, _, ok := strings.Cut(shown, "```")
	if !ok {
		t.Fatal("docs/tool.md shows no outcome")
	}
	var out answer.Structured
	d := json.NewDecoder(strings.NewReader(shown))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	if err := validate(t, compile(t, answer.Schema()), json.RawMessage(shown)); err != nil {
		t.Error(err)
	}
	var check func(schema object)
	check = func(schema object) {
		properties, _ := schema["properties"].(object)
		for name, s := range properties {
			if !strings.Contains(text, `"`+name+`"`) && !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/tool.md does not name %q", name)
			}
			check(s.(object))
		}
		if items, ok := schema["items"].(object); ok {
			check(items)
		}
	}
	check(answer.Schema())
}

// The schema and the handler say the same.
func TestArgumentsFitTheInputSchema(t *testing.T) {
	schema := compile(t, inputSchema(Config{Runners: allLanguages(runFunc(echo))}))
	for args, want := range map[string]bool{
		`{"language":"python","code":""}`:                                                        true,
		`{"language":"typescript","code":"","packages":["a"],"args":[""],"stdin":""}`:            true,
		`{"language":"python","code":"","files":[{"path":"a","text":""}],"timeout_seconds":1}`:   true,
		`{"language":"python","code":"","files":[{"path":"a","uri":"runner://runs/x-1/a.txt"}]}`: true,
		`{"language":"python"}`:                                           false,
		`{"language":"cobol","code":""}`:                                  false,
		`{"language":"python","code":5}`:                                  false,
		`{"language":"python","code":"","more":1}`:                        false,
		`{"language":"python","code":"","timeout_seconds":0}`:             false,
		`{"language":"python","code":"","timeout_seconds":3601}`:          false,
		`{"language":"python","code":"","packages":[7]}`:                  false,
		`{"language":"python","code":"","files":[{"path":"a","mode":1}]}`: false,
	} {
		_, err := parse(args)
		if got := validate(t, schema, json.RawMessage(args)) == nil; got != want || (err == nil) != want {
			t.Errorf("%s: schema takes it: %v, handler: %v; want %v", args, got, err, want)
		}
	}
}

// TestGuestsLine has the tool's description grow by one line at most for all languages that run
// in WebAssembly: it costs every conversation.
func TestGuestsLine(t *testing.T) {
	without := Config{Runners: allLanguages(runFunc(echo))}
	with := Config{Runners: allLanguages(runFunc(echo))}
	for _, l := range runners.GuestLanguages {
		with.Runners[l] = runFunc(echo)
	}
	before, after := description(without), description(with)
	const most = 160 // bytes
	if lines := strings.Count(after, "\n") - strings.Count(before, "\n"); lines > 1 || len(after)-len(before) > most {
		t.Errorf("it grows by %d lines and %d bytes:\n%s", lines, len(after)-len(before), after)
	}
}
