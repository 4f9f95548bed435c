package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/zap/zaptest"

	"coderunner/internal/conformance"
	"coderunner/internal/tools/config"
	"coderunner/runners"
)

// TestRealServers calls tools of the reference servers.
func TestRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Deno and packages of npm")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	program, err := filepath.Abs("testdata/asks.ts")
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{
		"mcpServers": conformance.Servers(t, dir, map[string]string{"asks": program}),
		"coderunner": map[string]any{"allow": []string{"memory.*", "everything.*"}},
	})
	file := filepath.Join(t.TempDir(), "servers.json")
	if err := errors.Join(err, os.WriteFile(file, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	servers, err := config.Load(file, config.Own{})
	if err != nil {
		t.Fatal(err)
	}
	set := Open(servers, Options{Version: "test", Tokens: t.TempDir(), Log: zaptest.NewLogger(t)})
	t.Cleanup(set.Close)
	tools := set.For(Run{Client: "test"})

	do := func(name, arguments string) *runners.ToolResult {
		t.Helper()
		r, err := tools.Call(t.Context(), runners.ToolCall{Tool: name, Arguments: json.RawMessage(arguments)})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	if r := do("everything.get_structured_content", `{"location": "Chicago"}`); !json.Valid(r.Structured) || !strings.Contains(string(r.Structured), `"temperature"`) {
		t.Errorf("structured content: %s", r.Structured)
	}
	image := do("everything.get_tiny_image", `{}`)
	found := false
	for _, c := range image.Content {
		found = found || c.Type == "image" && c.MIME == "image/png" && bytes.HasPrefix(c.Data, []byte("\x89PNG"))
	}
	if !found {
		t.Errorf("no image in %+v", image.Content)
	}
	link := do("everything.get_resource_links", `{"count": 1}`)
	uri := ""
	for _, c := range link.Content {
		if c.Type == "resource_link" {
			uri = c.URI
		}
	}
	if r, err := tools.Read(t.Context(), "everything", uri); err != nil || len(r.Content) == 0 || r.Content[0].Text == "" && len(r.Content[0].Data) == 0 {
		t.Errorf("%q: %+v, %v", uri, r, err)
	}
	var heard []string
	_, err = tools.Call(t.Context(), runners.ToolCall{Tool: "everything.trigger_long_running_operation", Arguments: json.RawMessage(`{"duration": 0.2, "steps": 2}`),
		Progress: func(done, total float64, _ string) { heard = append(heard, fmt.Sprint(done, "/", total)) }})
	if err != nil || len(heard) == 0 {
		t.Errorf("progress %q, %v", heard, err)
	}

	var asked []string
	asking := set.For(Run{Client: "test", Elicit: func(_ context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
		var p struct{ Mode, Message, URL string }
		_ = json.Unmarshal(params, &p)
		if server == "everything" {
			asked = append(asked, server+" "+p.Mode)
		}
		return json.RawMessage(`{"action": "accept", "content": {"name": "Ada"}}`), nil
	}})
	for name, want := range map[string]string{"trigger_elicitation_request": "- Name: Ada", "trigger_url_elicitation": "accept"} {
		arguments := json.RawMessage(`{}`)
		if strings.Contains(name, "url") {
			arguments = json.RawMessage(`{"url": "https://example.com/form"}`)
		}
		for i, tools := range []*Tools{asking, tools} {
			r, err := tools.Call(t.Context(), runners.ToolCall{Tool: "everything." + name, Arguments: arguments})
			if text := fmt.Sprintf("%+v", r); err != nil || strings.Contains(text, want) != (i == 0) || i == 1 && !strings.Contains(text, "cancel") {
				t.Errorf("%s: %s, %v", name, text, err)
			}
		}
	}
	if slices.Sort(asked); fmt.Sprint(asked) != "[everything  everything url]" && fmt.Sprint(asked) != "[everything form everything url]" {
		t.Errorf("asked %q", asked)
	}

	for tools, want := range map[*Tools]string{asking: "Hello, Ada!", tools: "Hello, whoever you are!"} {
		if r, err := tools.Call(t.Context(), runners.ToolCall{Tool: "asks.greet"}); err != nil || r.Content[0].Text != want {
			t.Errorf("%+v, %v; want %s", r, err, want)
		}
	}

	if r := do("filesystem.read_text_file", fmt.Sprintf(`{"path": %q}`, filepath.Join(dir, "a.txt"))); r.Content[0].Text != "hello" {
		t.Errorf("%+v", r)
	}
	if _, code, message := call(t, tools, "filesystem.write_file", fmt.Sprintf(`{"path": %q, "content": ""}`, filepath.Join(dir, "a.txt"))); code != "denied" {
		t.Errorf("%s: %s", code, message)
	}
	if _, code, message := call(t, tools, "filesystem.read_text_file", `{"path": "/etc/passwd"}`); code != "failed" {
		t.Errorf("%s: %s", code, message)
	}

	do("memory.create_entities", `{"entities": [{"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}]}`)
	if r := do("memory.read_graph", `{}`); !strings.Contains(string(r.Structured)+r.Content[0].Text, "wrote programs") {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"everything", "filesystem", "memory"} {
		for _, ending := range []string{".pyi", ".d.ts"} {
			text, err := tools.Stub(t.Context(), name, ending)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+ending, text)
		}
	}
	if found, err := tools.Search(t.Context(), "edit a file"); err != nil || found[0].Name != "edit_file" {
		t.Errorf("%+v, %v", found, err)
	}
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_STUBS") != "" {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (UPDATE_STUBS=1 writes it)", err)
	}
	if string(want) != text {
		t.Errorf("%s has changed (UPDATE_STUBS=1 writes it):\n%s", file, text)
	}
}
