package tools

import (
	"bytes"
	"context"
	"encoding/json"
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

// realVersion is that of the servers that the protocol's own project keeps.
const realVersion = "2026.8.31"

// npmServer returns a server of npm, on the Deno that programs run on.
func npmServer(t *testing.T, name string, args ...string) config.Server {
	s := config.Server{Name: name, Command: conformance.Deno(t), Dir: t.TempDir(), Env: map[string]string{}}
	s.Args = append([]string{"run", "--quiet", "--allow-all", "--no-config", "--no-lock", "--no-prompt", "npm:@modelcontextprotocol/server-" + name + "@" + realVersion}, args...)
	for _, variable := range append(conformance.Environment(), "NPM_CONFIG_REGISTRY="+os.Getenv("NPM_CONFIG_REGISTRY")) {
		if name, value, _ := strings.Cut(variable, "="); value != "" {
			s.Env[name] = value
		}
	}
	return s
}

// TestRealServers calls tools of the reference servers.
func TestRealServers(t *testing.T) {
	if testing.Short() {
		t.Skip("fetches Deno and packages of npm")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	memory := npmServer(t, "memory")
	memory.Env["MEMORY_FILE_PATH"] = filepath.Join(dir, "memory.jsonl")
	set := Open(&config.Config{
		Servers: []config.Server{npmServer(t, "everything", "stdio"), npmServer(t, "filesystem", dir), memory},
		Policy:  config.Policy{Allow: []string{"memory.*", "everything.*"}},
	}, Options{Version: "test", Tokens: t.TempDir(), Log: zaptest.NewLogger(t)})
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
	_, err := tools.Call(t.Context(), runners.ToolCall{Tool: "everything.trigger_long_running_operation", Arguments: json.RawMessage(`{"duration": 0.2, "steps": 2}`),
		Progress: func(done, total float64, _ string) { heard = append(heard, fmt.Sprint(done, "/", total)) }})
	if err != nil || len(heard) == 0 {
		t.Errorf("progress %q, %v", heard, err)
	}

	var asked []string
	asking := set.For(Run{Client: "test", Elicit: func(_ context.Context, server string, params json.RawMessage) (json.RawMessage, error) {
		var p struct{ Mode, Message, URL string }
		_ = json.Unmarshal(params, &p)
		asked = append(asked, server+" "+p.Mode)
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
	for _, name := range tools.Servers() {
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
